//! Why a delivery ends before everything is delivered.

use std::time::Duration;

use crate::report::Cause;
use crate::targets::Fault;

/// Why a delivery ends before everything is delivered.
pub(crate) enum Ending {
    Cancelled,
    DeadlineReached,
    Stopped(Fault),
    /// Nothing was accepted for this long, which is as long as the delivery may try.
    Outage {
        lasted: Duration,
        fault: Fault,
    },
}

impl Ending {
    /// The fault behind it, if there is one.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Cancelled | Self::DeadlineReached => None,
            Self::Stopped(fault) | Self::Outage { fault, .. } => Some(fault),
        }
    }

    /// The cause for an entry whose last rejection was `last`.
    pub(crate) fn cause(&self, last: Option<Fault>) -> Cause {
        match self {
            Self::Cancelled => Cause::Cancelled(last),
            Self::DeadlineReached => Cause::DeadlineReached(last),
            Self::Stopped(fault) => Cause::Stopped(fault.clone()),
            Self::Outage { lasted, fault } => Cause::Outage {
                lasted: *lasted,
                fault: last.unwrap_or_else(|| fault.clone()),
            },
        }
    }
}
