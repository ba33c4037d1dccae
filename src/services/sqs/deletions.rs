//! Deletions of received messages.

use std::borrow::Cow;
use std::fmt;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::DeleteMessageBatchRequestEntry;

use super::calls::Calls;
use super::queue::{MAX_BATCH_BYTES, MAX_MESSAGES};
use super::{failed, short_name};
use crate::aws::classify;
use crate::aws::correlate::{by_id, wire_id};
use crate::contract::{Answer, BatchTarget, Fault, Limits, Verdict};
use crate::invalid::InvalidEntry;

/// An SQS queue to delete received messages from, by their receipt handles.
///
/// If SQS refuses a handle, for example because the visibility timeout of a FIFO message has expired, only that handle is
/// handed back; the other messages are deleted. Deleting a message twice does no harm, so a call whose answer is lost is
/// repeated.
///
/// Retries, credentials and timeouts are as with [`SqsQueue`](super::SqsQueue).
#[derive(Clone)]
pub struct SqsDeletions {
    calls: Calls,
    url: String,
    limits: Limits,
}

impl SqsDeletions {
    /// The queue with this URL.
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

    /// Other limits, for endpoints with lower or higher ones.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
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

/// Checks a receipt handle, and returns its size. Its format is not documented.
pub(super) fn check_handle(handle: &str, limits: &Limits) -> Result<usize, InvalidEntry> {
    let part = "receipt handle";
    if handle.is_empty() {
        return Err(InvalidEntry::Missing { part });
    }
    limits.check_size(part, handle.len())
}
