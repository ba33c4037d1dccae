//! Why no more messages are received.

use std::error::Error;
use std::fmt;

use crate::report::Cause;

/// No more messages are received: the queue does not exist or was deleted, a permission is missing, no call was answered for
/// [`give_up_after`](crate::DeliveryOptions::give_up_after), or accepted messages cannot be deleted.
///
/// Messages that were not settled become visible again. `Debug` and `Display` show nothing of a message.
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
