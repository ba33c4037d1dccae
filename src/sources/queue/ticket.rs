//! A received message, what settles it, and the wait for the last settlement.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};

use super::held::HeldMessages;
use super::held_message::receive_count;
use super::progress::ReceiveFigures;
use crate::debug::debug_fields;
use crate::sources::error::SourceError;

/// A received message and its ticket. Dropping it releases the message.
#[derive(Debug)]
#[non_exhaustive]
pub struct Received {
    /// The message, without its receipt handle: the ticket settles it.
    pub message: Message,
    /// Settles it.
    pub ticket: Ticket,
}

impl Received {
    /// The value of a system attribute.
    pub fn system_attribute(&self, name: &MessageSystemAttributeName) -> Option<&str> {
        let attributes = self.message.attributes()?;
        attributes.get(name).map(String::as_str)
    }

    /// How often the message was received, this time included: 1 for the first time. A queue with a redrive policy moves it to the
    /// dead-letter queue instead of giving it out more than `maxReceiveCount` times.
    pub fn receive_count(&self) -> u32 {
        receive_count(&self.message)
    }
}

/// The right to settle a message that was handed out. While it exists, the message is kept hidden from other consumers, for up to
/// twelve hours.
///
/// The first of its methods decides. Dropping the ticket before releases the message: it becomes visible again at once, and may be
/// received again, by this receiver as well. So a handler that fails at once would use up all receives of a message within a second, and
/// make it a dead letter: [`release_after`](Self::release_after) waits.
///
/// Later messages of its group that were received with it wait, hidden, until it comes again, and have lost no receive then. If another
/// receiver has got it, they become visible one [visibility timeout](super::Receive::visibility_timeout) after it.
#[must_use = "a message whose ticket is dropped becomes visible again"]
pub struct Ticket {
    number: u64,
    held: Arc<HeldMessages>,
}

impl Ticket {
    pub(super) fn new(number: u64, held: Arc<HeldMessages>) -> Self {
        Self { number, held }
    }

    /// The message is in other hands, so it is deleted, together with others, in the background.
    pub fn settle(&self) {
        self.held.change(|state| state.settle(self.number));
    }

    /// The message becomes visible again after this time: for a handler that has failed, and may succeed later. Each receive counts, so
    /// the delay is best one that grows:
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use aws_batch_delivery::sources::Received;
    /// # fn example(received: Received) {
    /// // 2 s, 4 s, 8 s and so on up to a quarter of an hour.
    /// let delay = Duration::from_secs(1 << received.receive_count().min(10)).min(Duration::from_secs(15 * 60));
    /// received.ticket.release_after(delay);
    /// # }
    /// ```
    ///
    /// It is rounded up to whole seconds, and ends twelve hours after the message was received at the latest. Later messages of its
    /// group wait as long.
    pub fn release_after(&self, delay: Duration) {
        self.held.change(|state| state.release(self.number, delay));
    }

    /// The message stays hidden until the stream has ended, and becomes visible then: it is not received again by this receiver. So do
    /// the later messages of its group; no other one of the group is received until then. If the process is killed before, it becomes
    /// visible up to 15 minutes later, or when the visibility timeout is over if that is longer.
    ///
    /// SQS hides about 120,000 messages of a queue: with 115,000 that are set aside, a receive that brings nothing ends the stream with an
    /// error.
    pub fn set_aside(&self) {
        self.held.change(|state| state.set_aside(self.number));
    }

    /// Whether the message is still hidden from other consumers. If not, it may have been received again, and its deletion may come
    /// too late: rather drop it. It is also correct after this process was frozen or its machine has slept.
    pub fn is_current(&self) -> bool {
        self.held.state().is_current(self.number)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.held.change(|state| state.release(self.number, Duration::ZERO));
    }
}

debug_fields!(Ticket);

/// Follows the settlements of a [`ReceivedMessages`](super::ReceivedMessages), even when the stream was given away or dropped.
#[derive(Clone)]
pub struct ReceiveProgress {
    held: Arc<HeldMessages>,
}

impl ReceiveProgress {
    pub(super) fn of(held: Arc<HeldMessages>) -> Self {
        Self { held }
    }

    /// The figures.
    pub fn figures(&self) -> ReceiveFigures {
        self.held.state().figures()
    }

    /// Waits until the stream has ended or was dropped, all its tickets as well, and the queue knows: accepted messages are deleted,
    /// the others are visible again, and no receive is in progress.
    ///
    /// A receive that waits for messages takes up to its [wait](super::Receive::wait), 20 s.
    pub async fn finished(&self) -> ReceiveFigures {
        self.held.ended.cancelled().await;
        self.held.state().figures()
    }

    /// The error that the stream has not returned, because it had ended or was dropped before: accepted messages could not be deleted,
    /// or others not be made visible. Only the first call returns it.
    pub fn take_failure(&self) -> Option<SourceError> {
        self.held.state().failure.take()
    }
}

debug_fields!(progress: ReceiveProgress, figures = progress.figures());
