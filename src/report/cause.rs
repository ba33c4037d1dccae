//! Why an entry was not delivered.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::fault::Fault;
use crate::invalid::InvalidEntry;

/// Why an entry was not delivered.
///
/// `Display` has the [`Fault`] of the last attempt, or what is wrong with the entry, and [`source`](Error::source) the error behind
/// that. Only after a deadline or a cancellation the fault itself is the source.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Cause {
    /// The service would refuse it; it was not sent.
    Invalid(InvalidEntry),
    /// The service refused it permanently. Also a conditional write that a lost answer has left undecided: it is
    /// [in doubt](crate::Undelivered::may_have_been_delivered), and sending it again cannot decide it.
    Refused(Fault),
    /// It was rejected as often as [`retries`](crate::DeliveryOptions::retries) allows.
    RetriesUsedUp(Fault),
    /// It could not be delivered within [`give_up_after`](crate::DeliveryOptions::give_up_after).
    TimeUsedUp(Fault),
    /// The service accepted nothing at all for as long as
    /// [`give_up_after`](crate::DeliveryOptions::give_up_after) allows, for any cause.
    Outage {
        /// How long nothing had been accepted when the entry was handed back.
        lasted: Duration,
        /// Why the last attempt of the entry failed, or of another one if it was not sent.
        fault: Fault,
    },
    /// A call failed for a reason that every later call shares, and nothing was delivered before, so the delivery stopped: the
    /// table does not exist, the permission is missing, there is no region or no credentials provider; or the first 1,000 entries were refused, each
    /// in a call of its own, and none was accepted.
    Stopped(Fault),
    /// The [`deadline`](crate::DeliveryOptions::deadline) came first.
    DeadlineReached(Option<Fault>),
    /// The delivery was [cancelled](crate::DeliveryOptions::cancellation).
    Cancelled(Option<Fault>),
    /// The [`Producer`](crate::Producer) takes no more entries.
    Closed,
    /// The [buffer](crate::DeliveryOptions::buffer) of the [`Producer`](crate::Producer) has no room at the moment.
    BufferFull,
}

impl Cause {
    /// Whether the entry itself is at fault, so that sending it again cannot help: it is [invalid](Self::Invalid) or was
    /// [refused](Self::Refused). Such an entry belongs in a dead-letter store.
    ///
    /// With any other cause the entry may be delivered later; after a [stop](Self::Stopped), once its reason is resolved.
    pub fn is_permanent(&self) -> bool {
        matches!(self, Self::Invalid(_) | Self::Refused(_))
    }

    /// What it is called in the [metrics](crate::metrics).
    #[cfg(feature = "metrics")]
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid",
            Self::Refused(_) => "refused",
            Self::RetriesUsedUp(_) => "retries_used_up",
            Self::TimeUsedUp(_) => "time_used_up",
            Self::Outage { .. } => "outage",
            Self::Stopped(_) => "stopped",
            Self::DeadlineReached(_) => "deadline_reached",
            Self::Cancelled(_) => "cancelled",
            Self::Closed => "closed",
            Self::BufferFull => "buffer_full",
        }
    }

    /// What was wrong with the last attempt, if there was one.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Refused(fault)
            | Self::RetriesUsedUp(fault)
            | Self::TimeUsedUp(fault)
            | Self::Outage { fault, .. }
            | Self::Stopped(fault) => Some(fault),
            Self::DeadlineReached(fault) | Self::Cancelled(fault) => fault.as_ref(),
            Self::Invalid(_) | Self::Closed | Self::BufferFull => None,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(invalid) => write!(f, "not sent: {invalid}"),
            Self::Refused(fault) => write!(f, "refused: {fault}"),
            Self::RetriesUsedUp(fault) => write!(f, "retries used up: {fault}"),
            Self::TimeUsedUp(fault) => write!(f, "time used up: {fault}"),
            Self::Outage { lasted, fault } => write!(f, "nothing was accepted for {} s: {fault}", lasted.as_secs()),
            Self::Stopped(fault) => write!(f, "the delivery stopped: {fault}"),
            Self::DeadlineReached(_) => f.write_str("the deadline was reached"),
            Self::Cancelled(_) => f.write_str("the delivery was cancelled"),
            Self::Closed => f.write_str("not sent: the producer is closed"),
            Self::BufferFull => f.write_str("not sent: the producer's buffer is full"),
        }
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Invalid(invalid) => invalid.source(),
            Self::DeadlineReached(fault) | Self::Cancelled(fault) => fault.as_ref().map(|fault| fault as _),
            cause => cause.fault()?.source(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wrong_with_the_entry_itself_is_permanent() {
        let fault = || Fault::new("ValidationException");
        let invalid = InvalidEntry::Missing { part: "message body" };
        for cause in [Cause::Invalid(invalid), Cause::Refused(fault())] {
            assert!(cause.is_permanent(), "{cause}");
        }
        for cause in [
            Cause::RetriesUsedUp(fault()),
            Cause::TimeUsedUp(fault()),
            Cause::Outage {
                lasted: Duration::from_secs(15 * 60),
                fault: fault(),
            },
            Cause::Stopped(fault()),
            Cause::DeadlineReached(Some(fault())),
            Cause::Cancelled(None),
            Cause::Closed,
            Cause::BufferFull,
        ] {
            assert!(!cause.is_permanent(), "{cause}");
        }
    }
}
