//! Why a scan has ended early.

use std::error::Error;
use std::fmt;

use crate::report::Cause;

/// A page could not be read, so the scan has ended: the table does not exist or was deleted, a permission is missing, nothing
/// could be read for [`give_up_after`](crate::DeliveryOptions::give_up_after), the scan was cancelled, or the service returned a key to
/// continue from that it had returned before, so that there was no end.
///
/// The scan can be continued from its [position](super::ScanProgress::position_after). `Debug` and `Display` show no key.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScanError {
    /// The segment whose page could not be read, from 0.
    pub segment: u32,
    /// Why. Its fault has the [message](crate::targets::Fault::message) of the service.
    pub cause: Cause,
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the scan ended in segment {}: {}", self.segment, self.cause)
    }
}

impl Error for ScanError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.source()
    }
}
