//! The messages of a move as entries of a delivery. One that is no longer held is not sent.

use std::borrow::Cow;

use aws_batch_delivery::InvalidEntry;
use aws_batch_delivery::sources::Received;
use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

/// A received message, and the message that it is in the other queue.
pub(super) struct MovedMessage {
    pub(super) received: Received,
    pub(super) message: SendMessageBatchRequestEntry,
}

/// A queue that messages are moved to.
///
/// A message is sent only if it is still held when its call is made. Otherwise, as after the process was frozen, it is visible in its own
/// queue again: it is received once more, by this run or by another one, and would be in the other queue twice. For the delivery its
/// condition does not hold then.
pub(super) struct MoveTarget(pub(super) SqsQueue);

impl BatchTarget for MoveTarget {
    type Entry = MovedMessage;

    fn name(&self) -> Cow<'_, str> {
        self.0.name()
    }

    fn limits(&self) -> Limits {
        self.0.limits()
    }

    async fn prepare(&self) {
        self.0.prepare().await;
    }

    fn preparation_fault(&self) -> Option<Fault> {
        self.0.preparation_fault()
    }

    fn check(&self, moved: &MovedMessage) -> Result<usize, InvalidEntry> {
        self.0.check(&moved.message)
    }

    fn complete(&self, moved: &mut MovedMessage) {
        self.0.complete(&mut moved.message);
    }

    fn lane(&self, moved: &MovedMessage) -> Option<Lane> {
        self.0.lane(&moved.message)
    }

    fn partition_key(&self, moved: &MovedMessage) -> Option<u64> {
        self.0.partition_key(&moved.message)
    }

    async fn send(&self, chunk: &[MovedMessage]) -> Answer {
        let held: Vec<bool> = chunk.iter().map(|moved| moved.received.ticket.is_current()).collect();
        let messages = chunk.iter().zip(&held).filter(|(_, is_held)| **is_held);
        let messages: Vec<_> = messages.map(|(moved, _)| moved.message.clone()).collect();
        let mut verdicts = if messages.is_empty() {
            Vec::new().into_iter()
        } else {
            match self.0.send(&messages).await {
                Answer::Each(verdicts) => verdicts.into_iter(),
                // The others are sent again, and those that are not held are left out again.
                answer => return answer,
            }
        };
        let verdict = |is_held: bool| {
            if is_held {
                let unanswered = || Verdict::Rejected(Rejection::Unanswered, Fault::new("no verdict"));
                verdicts.next().unwrap_or_else(unanswered)
            } else {
                Verdict::ConditionFailed
            }
        };
        Answer::Each(held.into_iter().map(verdict).collect())
    }
}
