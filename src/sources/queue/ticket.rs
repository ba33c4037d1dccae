//! A received message, what settles it, and the wait for the last settlement.

use std::fmt;
use std::sync::Arc;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};

use super::held::Held;
use super::progress::{ReceiveError, ReceiveFigures};

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
}

/// The right to settle a message that was handed out. While it exists, the message is kept hidden from other consumers, for up to
/// twelve hours.
///
/// The first of its methods decides. Dropping the ticket before releases the message: it becomes visible again at once, and may be
/// received again, by this receiver as well. Later messages of its group that were received with it become visible too.
#[must_use = "a message whose ticket is dropped becomes visible again"]
pub struct Ticket {
    number: u64,
    held: Arc<Held>,
}

impl Ticket {
    pub(super) fn new(number: u64, held: Arc<Held>) -> Self {
        Self { number, held }
    }

    /// The message is in other hands, so it is deleted, together with others, in the background.
    pub fn settle(&self) {
        self.held.settle(self.number);
    }

    /// The message stays hidden until the stream has ended, and becomes visible then: it is not received again by this receiver. So do
    /// the later messages of its group; no other one of the group is received until then. If the process is killed before, it becomes
    /// visible up to 15 minutes later, or when the visibility timeout is over if that is longer.
    pub fn set_aside(&self) {
        self.held.set_aside(self.number);
    }

    /// Whether the message is still hidden from other consumers. If not, it may have been received again, and its deletion may come
    /// too late: rather drop it.
    pub fn is_current(&self) -> bool {
        self.held.is_current(self.number)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.held.release(self.number);
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").finish_non_exhaustive()
    }
}

/// Follows the settlements of a [`ReceivedMessages`](super::ReceivedMessages), also when the stream was given away or dropped.
#[derive(Clone)]
pub struct ReceiveProgress {
    held: Arc<Held>,
}

impl ReceiveProgress {
    pub(super) fn of(held: Arc<Held>) -> Self {
        Self { held }
    }

    /// The figures.
    pub fn figures(&self) -> ReceiveFigures {
        self.held.figures()
    }

    /// Waits until the stream has ended or was dropped, all its tickets as well, and the queue knows: accepted messages are deleted,
    /// the others are visible again, and no receive is underway.
    ///
    /// A receive that waits for messages takes up to its [wait](super::Receive::wait), 20 s.
    pub async fn finished(&self) -> ReceiveFigures {
        self.held.finished().await;
        self.held.figures()
    }

    /// The error that the stream has not returned, because it had ended or was dropped before: accepted messages could not be deleted,
    /// or others not be made visible. Only the first call returns it.
    pub fn take_failure(&self) -> Option<ReceiveError> {
        self.held.take_failure()
    }
}

impl fmt::Debug for ReceiveProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiveProgress")
            .field("figures", &self.figures())
            .finish_non_exhaustive()
    }
}
