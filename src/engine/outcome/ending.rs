//! Why a delivery ends before everything is delivered.

use crate::report::Cause;
use crate::targets::Fault;

/// Why a delivery ends before everything is delivered.
pub(crate) enum Ending {
    Cancelled,
    DeadlineReached,
    Stopped(Fault),
    /// No call could be made for as long as an entry may be tried.
    OutOfTime(Fault),
}

impl Ending {
    /// The cause for an entry whose last rejection was `last`.
    pub(crate) fn cause(&self, last: Option<Fault>) -> Cause {
        match self {
            Self::Cancelled => Cause::Cancelled(last),
            Self::DeadlineReached => Cause::DeadlineReached(last),
            Self::Stopped(fault) => Cause::Stopped(fault.clone()),
            Self::OutOfTime(fault) => Cause::TimeUsedUp(last.unwrap_or_else(|| fault.clone())),
        }
    }
}
