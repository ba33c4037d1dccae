//! Deletions of received messages.

use std::borrow::Cow;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::DeleteMessageBatchRequestEntry;

use super::handles::{HandleQueue, answer, without_handle};
#[cfg(doc)]
use super::queue::{MAX_BATCH_BYTES, MAX_MESSAGES};
use crate::aws::correlate::wire_id;
use crate::contract::{Answer, BatchTarget, Limits};
use crate::invalid::InvalidEntry;
use crate::services::debug::debug_by_name;

/// An SQS queue to delete received messages from, by their receipt handles.
///
/// If SQS refuses a handle, for example because the visibility timeout of a FIFO message has expired, only that handle is
/// handed back; the other messages are deleted. Deleting a message twice does no harm, so a call whose answer is lost is
/// repeated.
///
/// Retries, credentials and timeouts are as with [`SqsQueue`](super::SqsQueue).
#[derive(Clone)]
pub struct SqsDeletions(HandleQueue);

impl SqsDeletions {
    /// The queue with this URL.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_MESSAGES`], 10. From the API reference of `DeleteMessageBatch` |
    /// | bytes of the handles of a call | [`MAX_BATCH_BYTES`], 1,048,576, the limit of a request to SQS; ten handles have some 4,000 |
    pub fn new(client: Client, queue_url: impl Into<String>) -> Self {
        Self(HandleQueue::new(client, queue_url.into()))
    }

    /// Other limits, for endpoints with lower or higher ones.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.0.limits = limits;
        self
    }
}

impl BatchTarget for SqsDeletions {
    type Entry = String;

    fn name(&self) -> Cow<'_, str> {
        self.0.name()
    }

    fn limits(&self) -> Limits {
        self.0.limits
    }

    fn check(&self, receipt_handle: &String) -> Result<usize, InvalidEntry> {
        self.0.check(receipt_handle)
    }

    async fn send(&self, receipt_handles: &[String]) -> Answer {
        let entries = receipt_handles.iter().enumerate().map(|(place, handle)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(wire_id(place));
            entry.receipt_handle(handle).build()
        });
        let Ok(entries) = entries.collect() else {
            return without_handle();
        };
        match self.0.calls.delete(&self.0.url, entries).await {
            Ok(output) => {
                let taken = output.successful.into_iter().map(|entry| entry.id);
                answer(receipt_handles.len(), taken, &output.failed)
            }
            Err(answer) => answer,
        }
    }
}

debug_by_name!(SqsDeletions);
