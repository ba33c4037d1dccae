//! Messages that are too large for SQS: their bodies are stored in S3, and pointers are sent to the queue.

mod attempt;
mod mark;
#[expect(clippy::module_inception, reason = "the file is named after the public type in it")]
mod offload;
mod pointer;
mod store;
mod uploads;

pub(super) use self::attempt::send;
pub use self::offload::Offload;
pub use self::pointer::PAYLOAD_SIZE_ATTRIBUTE;
