//! How far a receive is: the counts of its messages, and why no more are received.

use std::error::Error;
use std::fmt;

use crate::report::Cause;

/// What became of the messages so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiveFigures {
    /// Messages that were received. One that comes again counts again.
    pub received: u64,
    /// Messages that were settled and deleted.
    pub deleted: u64,
    /// Messages that were made visible again: released, or held back behind a released message of their group, or received but no
    /// longer wanted.
    pub released: u64,
    /// Messages that could not be kept hidden: they may have been received by others, or come again.
    pub expired: u64,
    /// Messages that were settled, but that the queue did not delete because their receipt handle had expired. One that comes again to
    /// this receiver is deleted without being handed out.
    pub undeleted: u64,
    /// Messages that are hidden now: handed out, waiting to be handed out, or set aside, or on their way to be deleted or released.
    pub held: u64,
}

/// No more messages are received: the queue does not exist or was deleted, a permission is missing, no call was answered for
/// [`give_up_after`](crate::DeliveryOptions::give_up_after), accepted messages cannot be deleted, or the queue returns a message each time
/// that it has deleted it, so that there was no end.
///
/// Messages that were not settled become visible again. `Debug` and `Display` show no part of a message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReceiveError {
    /// The operation of the service that failed, such as `ReceiveMessage`.
    pub operation: &'static str,
    /// Why. Its fault has the [message](crate::targets::Fault::message) of the service.
    pub cause: Cause,
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no more messages are received, because {} failed: {}",
            self.operation, self.cause
        )
    }
}

impl Error for ReceiveError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.source()
    }
}
