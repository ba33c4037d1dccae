//! Deduplication ids for messages that have none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry};
use tracing::warn;

use super::calls::Calls;
use crate::events::LOOKUP;
use crate::targets::lookup::{Advice, Lookup, LookupError};
use crate::targets::{Fault, classify};

/// Gives an id to each message of a FIFO queue that has none, unless the queue makes its own from the body.
///
/// The id is drawn once a message and stays with it, so that a message sent again after a lost answer is in the queue once,
/// while two messages of the same content are two.
#[derive(Clone)]
pub(super) struct Deduplication {
    /// Whether the queue makes the ids from the bodies.
    by_content: Lookup<bool>,
    /// Tells the messages of this queue from those of any other process.
    prefix: u128,
    next: Arc<AtomicU64>,
}

impl Deduplication {
    pub(super) fn new() -> Self {
        Self {
            by_content: Lookup::default(),
            prefix: rand::random(),
            next: Arc::default(),
        }
    }

    /// It is known whether the queue makes the ids from the bodies.
    pub(super) fn by_content(mut self, by_content: bool) -> Self {
        self.by_content = Lookup::given(by_content);
        self
    }

    /// Asks the queue whether it makes the ids from the bodies, unless it is known.
    pub(super) async fn ask(&self, calls: &Calls, queue_url: &str, destination: &str) {
        let Err(fault) = self.by_content.ask(|| attribute(calls, queue_url)).await else {
            return;
        };
        let advice = match LookupError::advice(&fault) {
            Advice::Permit => "allow sqs:GetQueueAttributes, or say it by `content_based_deduplication`",
            Advice::DoWithout => "say it by `content_based_deduplication`",
            Advice::Wait => {
                "the next delivery asks again; what is said by `content_based_deduplication` is not asked for"
            }
        };
        warn!(
            target: LOOKUP,
            destination,
            code = fault.code(),
            advice,
            "it is not known whether the queue is deduplicated by content: it may refuse messages without an id"
        );
    }

    /// Why the queue's answer is still asked for.
    pub(super) fn failing(&self) -> Option<Fault> {
        self.by_content.failing()
    }

    /// Whether the queue is known to make the ids from the bodies.
    #[cfg(feature = "s3-offload")]
    pub(super) fn is_by_content(&self) -> bool {
        self.by_content.get() == Some(&true)
    }

    /// Gives the message an id if it needs one.
    pub(super) fn complete(&self, message: &mut SendMessageBatchRequestEntry) {
        if self.by_content.get() == Some(&false) && message.message_deduplication_id.is_none() {
            let number = self.next.fetch_add(1, Relaxed);
            message.message_deduplication_id = Some(format!("{:032x}-{number}", self.prefix));
        }
    }
}

async fn attribute(calls: &Calls, queue_url: &str) -> Result<bool, LookupError> {
    let name = QueueAttributeName::ContentBasedDeduplication;
    let output = calls.attribute(queue_url, name.clone()).await.map_err(classify)?;
    let value = output.attributes().and_then(|attributes| attributes.get(&name));
    Ok(value.is_some_and(|value| value == "true"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::SqsQueue;
    use super::super::testing::{client, message};
    use crate::targets::BatchTarget;
    use crate::targets::recording::Recorder;

    fn fifo(recorder: &Recorder) -> SqsQueue {
        SqsQueue::new(
            client(recorder),
            "https://sqs.eu-central-1.amazonaws.com/123456789012/orders.fifo",
        )
    }

    fn completed(queue: &SqsQueue) -> Option<String> {
        let mut message = message("body").message_group_id("g").build().unwrap();
        queue.complete(&mut message);
        assert_eq!(queue.check(&message), Ok(4));
        message.message_deduplication_id
    }

    #[tokio::test]
    async fn each_message_without_an_id_gets_its_own() {
        for answer in ["{}", r#"{"Attributes":{"ContentBasedDeduplication":"false"}}"#] {
            let recorder = Recorder::answering(200, answer);
            let queue = fifo(&recorder);
            assert_eq!(completed(&queue), None);
            queue.prepare().await;
            queue.prepare().await;
            assert_eq!(recorder.requests(), 1);
            let another = queue.clone();
            let third = fifo(&recorder).content_based_deduplication(false);
            let ids: HashSet<_> = [&queue, &another, &queue, &third]
                .map(completed)
                .into_iter()
                .flatten()
                .collect();
            assert_eq!(ids.len(), 4);
        }
    }

    #[tokio::test]
    async fn an_id_that_is_given_stays() {
        let queue = fifo(&Recorder::answering(200, "{}")).content_based_deduplication(false);
        let mut message = message("body").message_deduplication_id("d").build().unwrap();
        queue.complete(&mut message);
        assert_eq!(message.message_deduplication_id.as_deref(), Some("d"));
    }

    #[tokio::test]
    async fn a_queue_that_looks_at_the_content_is_left_to_itself() {
        let recorder = Recorder::answering(200, r#"{"Attributes":{"ContentBasedDeduplication":"true"}}"#);
        let queue = fifo(&recorder);
        queue.prepare().await;
        assert_eq!(completed(&queue), None);
        let given = fifo(&recorder).content_based_deduplication(true);
        given.prepare().await;
        assert_eq!(completed(&given), None);
        assert_eq!(recorder.requests(), 1);
    }

    #[tokio::test]
    async fn where_nobody_may_ask_messages_stay_as_they_are() {
        let recorder = Recorder::answering(403, r#"{"__type":"com.amazonaws.sqs#AccessDeniedException"}"#);
        let queue = fifo(&recorder);
        queue.prepare().await;
        queue.prepare().await;
        assert_eq!(completed(&queue), None);
        assert_eq!(recorder.requests(), 1);
    }

    #[tokio::test]
    async fn a_standard_queue_is_not_asked() {
        let recorder = Recorder::answering(200, "{}");
        let queue = SqsQueue::new(
            client(&recorder),
            "https://sqs.eu-central-1.amazonaws.com/123456789012/orders",
        );
        queue.prepare().await;
        assert_eq!(completed(&queue), None);
        assert_eq!(recorder.requests(), 0);
    }
}
