//! SQS: messages to one queue by `SendMessageBatch`, and for received messages deletions by `DeleteMessageBatch` and changes
//! of the visibility timeout by `ChangeMessageVisibilityBatch`.

mod calls;
mod check;
#[cfg(test)]
mod deduplication_tests;
mod deletions;
mod encoding;
#[cfg(feature = "s3-offload")]
mod offload;
mod plain;
mod queue;
mod size;
#[cfg(test)]
mod testing;
mod visibility;

use aws_sdk_sqs::types::BatchResultErrorEntry;

use super::{Verdict, classify_entry};

pub use deletions::SqsDeletions;
pub use encoding::{ENCODING, ENCODING_ATTRIBUTE};
#[cfg(feature = "s3-offload")]
pub use offload::{Offload, PAYLOAD_SIZE_ATTRIBUTE};
pub use queue::{MAX_BATCH_BYTES, MAX_MESSAGE_BYTES, MAX_MESSAGES, SqsQueue};
pub use size::message_size;
pub use visibility::{MAX_VISIBILITY_TIMEOUT, SqsVisibility, VisibilityChange};

/// The id and the verdict of an entry that failed.
fn failed(entry: &BatchResultErrorEntry) -> (&str, Verdict) {
    (
        entry.id(),
        classify_entry(entry.code(), entry.sender_fault(), entry.message()),
    )
}

/// The name of the queue, without the rest of its URL, which contains the account id.
fn short_name(queue_url: &str) -> &str {
    queue_url.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}
