//! SQS: messages to one queue by `SendMessageBatch`.

mod calls;
mod check;
mod correlate;
mod deduplication;
mod encoding;
#[cfg(feature = "s3-offload")]
mod offload;
mod plain;
mod queue;
mod size;
#[cfg(test)]
mod testing;

pub use encoding::{ENCODING, ENCODING_ATTRIBUTE};
#[cfg(feature = "s3-offload")]
pub use offload::{Offload, PAYLOAD_SIZE_ATTRIBUTE};
pub use queue::{MAX_BATCH_BYTES, MAX_MESSAGE_BYTES, MAX_MESSAGES, SqsQueue};
pub use size::message_size;
