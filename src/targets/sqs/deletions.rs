//! Deletions of received messages.

use std::borrow::Cow;
use std::fmt;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::DeleteMessageBatchRequestEntry;

use super::calls::Calls;
use super::queue::{MAX_BATCH_BYTES, MAX_MESSAGES};
use super::{failed, short_name};
use crate::invalid::InvalidEntry;
use crate::targets::correlate::{by_id, wire_id};
use crate::targets::{Answer, BatchTarget, Fault, Limits, Verdict, classify};

/// Messages to delete from an SQS queue, by the receipt handles that they were received with.
///
/// A handle that SQS does not take is refused alone: that of a message of a FIFO queue whose visibility timeout has passed, say.
/// The others are deleted. To delete a message twice does no harm, so that a call whose answer is lost is made again.
///
/// Retries, credentials and timeouts are as with [`SqsQueue`](super::SqsQueue).
#[derive(Clone)]
pub struct SqsDeletions {
    calls: Calls,
    url: String,
    limits: Limits,
}

impl SqsDeletions {
    /// From the queue with this URL.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_MESSAGES`], 10. From the API reference of `DeleteMessageBatch` |
    /// | bytes of the handles of a call | [`MAX_BATCH_BYTES`], 1,048,576, the limit of a request to SQS; ten handles have some 4,000 |
    pub fn new(client: Client, queue_url: impl Into<String>) -> Self {
        Self {
            calls: Calls::new(client),
            url: queue_url.into(),
            limits: Limits::new(MAX_MESSAGES, MAX_BATCH_BYTES),
        }
    }

    /// Other limits, for endpoints that take less, or more.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl BatchTarget for SqsDeletions {
    type Entry = String;

    fn name(&self) -> Cow<'_, str> {
        format!("sqs/{}", short_name(&self.url)).into()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn check(&self, receipt_handle: &String) -> Result<usize, InvalidEntry> {
        check_handle(receipt_handle, &self.limits)
    }

    async fn send(&self, receipt_handles: &[String]) -> Answer {
        let entries = receipt_handles.iter().enumerate().map(|(place, handle)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(wire_id(place));
            entry.receipt_handle(handle).build()
        });
        let Ok(entries) = entries.collect() else {
            return Answer::Whole(Verdict::Refused(Fault::new("no receipt handle")));
        };
        match self.calls.delete(&self.url, entries).await {
            Ok(output) => by_id(
                "SQS",
                receipt_handles.len(),
                output.successful.into_iter().map(|entry| (entry.id, Verdict::Accepted)),
                output.failed.iter().map(failed),
            ),
            Err(error) => classify(error),
        }
    }
}

impl fmt::Debug for SqsDeletions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqsDeletions")
            .field("queue", &short_name(&self.url))
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Checks a receipt handle, and measures it. Of its form nothing is documented.
pub(super) fn check_handle(handle: &str, limits: &Limits) -> Result<usize, InvalidEntry> {
    let part = "receipt handle";
    let limit = limits.entry_bytes.min(limits.bytes);
    match handle.len() {
        0 => Err(InvalidEntry::Missing { part }),
        actual if actual > limit => Err(InvalidEntry::TooLarge { part, limit, actual }),
        length => Ok(length),
    }
}
