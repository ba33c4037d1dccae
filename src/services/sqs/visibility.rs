//! Changes of the visibility timeout of received messages.

use std::borrow::Cow;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::ChangeMessageVisibilityBatchRequestEntry;

use super::handles::{HandleQueue, answer, without_handle};
#[cfg(doc)]
use super::queue::{MAX_BATCH_BYTES, MAX_MESSAGES};
use crate::aws::correlate::wire_id;
use crate::contract::{Answer, BatchTarget, Lane, Limits};
use crate::debug::debug_fields;
use crate::invalid::InvalidEntry;
use crate::services::debug::debug_by_name;

/// The longest visibility timeout: 12 hours. From the API reference of `ChangeMessageVisibility`.
pub const MAX_VISIBILITY_TIMEOUT: Duration = Duration::from_secs(12 * 60 * 60);

/// A new visibility timeout for a received message.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VisibilityChange {
    /// The receipt handle of the message.
    pub receipt_handle: String,
    /// How long the message stays hidden from other consumers, from the time of the call; 0 makes it visible at once. SQS
    /// counts whole seconds, so it is rounded up. At most [`MAX_VISIBILITY_TIMEOUT`].
    pub timeout: Duration,
}

impl VisibilityChange {
    /// Hides the message with this receipt handle for this long.
    pub fn new(receipt_handle: impl Into<String>, timeout: Duration) -> Self {
        Self {
            receipt_handle: receipt_handle.into(),
            timeout,
        }
    }

    fn seconds(&self) -> u64 {
        let begun = u64::from(self.timeout.subsec_nanos() > 0);
        self.timeout.as_secs().saturating_add(begun)
    }
}

// Without the receipt handle, which gives the right to delete the message.
debug_fields!(VisibilityChange, timeout);

/// An SQS queue to change the visibility timeouts of received messages in.
///
/// Changes of one receipt handle arrive in the order of the input. If SQS refuses a handle, only that change is handed back;
/// the others are applied. A timeout begins when SQS receives the call, even for a change that was sent again.
///
/// Retries, credentials and timeouts of calls are as with [`SqsQueue`](super::SqsQueue).
#[derive(Clone)]
pub struct SqsVisibility(HandleQueue);

impl SqsVisibility {
    /// The queue with this URL.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_MESSAGES`], 10. From the API reference of `ChangeMessageVisibilityBatch` |
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

impl BatchTarget for SqsVisibility {
    type Entry = VisibilityChange;

    fn name(&self) -> Cow<'_, str> {
        self.0.name()
    }

    fn limits(&self) -> Limits {
        self.0.limits
    }

    fn check(&self, change: &VisibilityChange) -> Result<usize, InvalidEntry> {
        if change.timeout > MAX_VISIBILITY_TIMEOUT {
            return Err(InvalidEntry::OutOfRange {
                part: "visibility timeout in seconds",
                low: 0,
                high: MAX_VISIBILITY_TIMEOUT.as_secs().cast_signed(),
                actual: change.seconds().try_into().unwrap_or(i64::MAX),
            });
        }
        self.0.check(&change.receipt_handle)
    }

    fn lane(&self, change: &VisibilityChange) -> Option<Lane> {
        Some(Lane::exclusive(&change.receipt_handle))
    }

    async fn send(&self, changes: &[VisibilityChange]) -> Answer {
        let entries = changes.iter().enumerate().map(|(place, change)| {
            ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(wire_id(place))
                .receipt_handle(&change.receipt_handle)
                .visibility_timeout(change.seconds().try_into().unwrap_or(i32::MAX))
                .build()
        });
        let Ok(entries) = entries.collect() else {
            return without_handle();
        };
        match self.0.calls.change_visibility(&self.0.url, entries).await {
            Ok(output) => {
                let taken = output.successful.into_iter().map(|entry| entry.id);
                answer(changes.len(), taken, &output.failed)
            }
            Err(answer) => answer,
        }
    }
}

debug_by_name!(SqsVisibility);

#[cfg(test)]
mod tests {
    use super::super::testing::client;
    use super::*;
    use crate::aws::recording::Recorder;

    fn visibility(recorder: &Recorder) -> SqsVisibility {
        SqsVisibility::new(client(recorder), "https://sqs.eu-central-1.amazonaws.com/1/orders")
    }

    #[tokio::test]
    async fn a_timeout_is_rounded_up_to_whole_seconds() {
        let recorder = Recorder::answering(200, "{}");
        let timeouts = [Duration::ZERO, Duration::from_millis(1_001), MAX_VISIBILITY_TIMEOUT];
        let changes = timeouts.map(|timeout| VisibilityChange::new("handle", timeout));
        visibility(&recorder).send(&changes).await;
        let body = recorder.only_request().body;
        for seconds in ["0", "2", "43200"] {
            assert!(body.contains(&format!(r#""VisibilityTimeout":{seconds}}}"#)), "{body}");
        }
    }

    #[test]
    fn a_timeout_of_more_than_twelve_hours_is_refused_before_the_call() {
        let visibility = visibility(&Recorder::answering(200, "{}"));
        let check = |timeout| visibility.check(&VisibilityChange::new("handle", timeout));
        assert_eq!(check(MAX_VISIBILITY_TIMEOUT), Ok(6));
        let error = check(MAX_VISIBILITY_TIMEOUT + Duration::from_nanos(1)).unwrap_err();
        let expected = "the visibility timeout in seconds is 43201, the limits are 0 and 43200";
        assert_eq!(error.to_string(), expected);
        check(Duration::MAX).unwrap_err();
    }

    #[test]
    fn debug_shows_no_receipt_handle() {
        let change = VisibilityChange::new("secret", Duration::ZERO);
        assert!(!format!("{change:?}").contains("secret"));
    }
}
