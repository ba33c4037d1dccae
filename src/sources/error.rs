//! Why nothing more is read of a table or a queue.

use std::error::Error;
use std::fmt;

use crate::report::Cause;

/// Nothing more is read: the table or the queue does not exist or was deleted, a permission is missing, no call was answered for
/// [`give_up_after`](crate::DeliveryOptions::give_up_after), the deliveries of messages that were settled cannot be deleted, it was
/// cancelled, or the service returned a key or a message that it had returned before, so that there was no end.
///
/// A scan can be continued from its [position](super::ScanProgress::position_after). Messages that were not settled become visible
/// again. `Debug` and `Display` show nothing of an item or a message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SourceError {
    /// The operation of the service that failed, such as `Scan` or `ReceiveMessage`.
    pub operation: &'static str,
    /// Why. Its fault has the [message](crate::targets::Fault::message) of the service.
    pub cause: Cause,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "nothing more is read, because {} failed: {}",
            self.operation, self.cause
        )
    }
}

impl Error for SourceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.source()
    }
}
