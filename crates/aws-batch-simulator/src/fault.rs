//! Faults of calls and of entries: scripted, random, or by a predicate.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use serde_json::Value;

use crate::journal::Acknowledgement;

/// What happens to one call.
///
/// A call that writes a single item of a table has one entry; for a transaction, each of its actions is an entry.
///
/// The service applies exactly the entries that it reports as accepted. With a fault that leaves the caller in doubt, `applied`
/// says whether the entries are applied, as far as there is capacity for them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InjectedFault {
    /// No fault.
    None,
    /// This many random entries are returned as unprocessed; by a queue or topic as `Failed` with `InternalError` and
    /// `sender_fault = false`, by streams and buses with the code `InternalFailure`. A write of a single item and a transaction
    /// fail with `InternalServerError`.
    Unprocessed(usize),
    /// This many random entries are returned as `Failed`; by a table as unprocessed, by streams and buses with the code
    /// alone. A write of a single item fails with this code, and with the status 400 or 500 depending on whether it is the sender's
    /// fault. A transaction is canceled with this code as the reason of that many actions, such as
    /// `ItemCollectionSizeLimitExceeded`.
    Failed {
        /// How many.
        entries: usize,
        /// The code of the failure.
        code: Cow<'static, str>,
        /// Whether the failure is the sender's fault (`SenderFault` of SQS and SNS).
        sender_fault: bool,
    },
    /// A transaction is in progress for this many random items of the call. A write of a single item fails with
    /// `TransactionConflictException`, a transaction is canceled with the reason `TransactionConflict`, and a batch returns them as
    /// unprocessed. Other services return them as `Failed`.
    Conflict(usize),
    /// The whole call is throttled for lack of capacity: `ProvisionedThroughputExceededException` by a table or stream,
    /// `ThrottlingException` by an on-demand table or a bus, `RequestThrottled` by a queue, `Throttled` by a topic,
    /// `ServiceUnavailableException` by a delivery stream.
    Throttle,
    /// The whole call is throttled because of a limit of the account that other clients use as well, whatever the pace: by a
    /// table with `RequestLimitExceeded` and the reason `TableWriteAccountLimitExceeded`, by others as
    /// [`Throttle`](Self::Throttle).
    AccountLimit,
    /// The whole call fails.
    Error {
        /// The HTTP status.
        status: u16,
        /// The code, without its namespace. If it is empty, the answer has no body.
        code: Cow<'static, str>,
        /// The message.
        message: Cow<'static, str>,
        /// Whether the entries are applied before the call fails.
        applied: bool,
    },
    /// The connection is closed without an answer.
    Dropped {
        /// Whether the entries are applied before it is closed.
        applied: bool,
    },
    /// The answer is a 200 with `{}`, or with an empty result. Not if that is a success of the call: of a write of a single item, a
    /// transaction, a put or delete of a single object, or a call with metrics or log events.
    Empty {
        /// Whether the entries were applied.
        applied: bool,
    },
    /// The answer is a 200 that cannot be read. The SDK reads none of the answers to metrics: what this one lacks is its request id.
    Garbage {
        /// Whether the entries were applied.
        applied: bool,
    },
    /// This many entries are in neither list of the answer. If the service answers by position, the answer is shorter by this
    /// number. A table has no such answer, nor has a call with metrics or log events: there is no fault.
    Omitted {
        /// How many.
        entries: usize,
        /// Whether they were applied.
        applied: bool,
    },
    /// This many entries are returned as unprocessed or failed, and each is listed twice. Not if the call is a write of a single
    /// item, a transaction, or a call with metrics or log events: their answers have no list.
    Repeated(usize),
    /// The answer names this many entries that were never sent: a queue or topic in both of its lists, a table as unprocessed.
    /// If the service answers by position, the answer is longer by this number. Not if the call is a write of a single item, a
    /// transaction, or a call with metrics or log events.
    Unknown(usize),
    /// The answer takes this much longer, even if it is an error.
    Slow(Duration),
    /// There is never an answer.
    Hung {
        /// Whether the entries were applied.
        applied: bool,
    },
}

impl InjectedFault {
    /// An HTTP 500 with `InternalServerError`.
    pub fn internal_error(applied: bool) -> Self {
        Self::error(500, "InternalServerError", applied)
    }

    /// The whole call fails with this status and code, and with a message that contains the code. A repeated transaction that
    /// finds the first attempt unfinished is `InjectedFault::error(400, "TransactionInProgressException", false)`.
    pub fn error(status: u16, code: impl Into<Cow<'static, str>>, applied: bool) -> Self {
        let code = code.into();
        Self::Error {
            status,
            message: format!("Simulated {code}").into(),
            code,
            applied,
        }
    }

    /// This many entries are returned as `Failed` with this code.
    pub fn failed(entries: usize, code: impl Into<Cow<'static, str>>, sender_fault: bool) -> Self {
        Self::Failed {
            entries,
            code: code.into(),
            sender_fault,
        }
    }

    /// Whether the entries are applied, if this fault replaces the whole answer.
    pub(crate) fn replaces_answer(&self) -> Option<bool> {
        match self {
            Self::Throttle | Self::AccountLimit => Some(false),
            Self::Error { applied, .. }
            | Self::Dropped { applied }
            | Self::Empty { applied }
            | Self::Garbage { applied }
            | Self::Hung { applied } => Some(*applied),
            _ => None,
        }
    }

    /// What is left of this fault for the other entries of a call after it has met this many of them.
    pub(crate) fn after(mut self, met: usize) -> Self {
        if let Self::Unprocessed(entries)
        | Self::Failed { entries, .. }
        | Self::Conflict(entries)
        | Self::Omitted { entries, .. }
        | Self::Repeated(entries) = &mut self
        {
            *entries = entries.saturating_sub(met);
        }
        self
    }

    pub(crate) fn is_throttle(&self) -> bool {
        matches!(self, Self::Throttle | Self::AccountLimit)
    }

    /// What the caller learns about entries that are not applied because of this fault.
    pub(crate) fn acknowledgement_of_skipped(&self) -> Acknowledgement {
        match self {
            Self::Throttle | Self::AccountLimit => Acknowledgement::Rejected,
            Self::Error {
                status, applied: false, ..
            } if *status < 500 => Acknowledgement::Rejected,
            _ => Acknowledgement::Ambiguous { applied: false },
        }
    }
}

/// Random faults, drawn from the simulator's seed.
///
/// ```
/// use aws_batch_simulator::{InjectedFault, Faults};
///
/// let faults = Faults::none()
///     .unprocessed(0.1)
///     .calls(0.02, InjectedFault::Throttle)
///     .calls(0.01, InjectedFault::Dropped { applied: true });
/// # let _ = faults;
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Faults {
    entries: Option<EntryFault>,
    calls: Vec<(f64, InjectedFault)>,
}

/// How single entries fail at random.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EntryFault {
    share: f64,
    pub(crate) code: Cow<'static, str>,
    pub(crate) sender_fault: bool,
}

impl EntryFault {
    pub(crate) fn is_drawn(&self, random: &mut SmallRng) -> bool {
        random.random::<f64>() < self.share
    }
}

impl Faults {
    /// No faults.
    pub fn none() -> Self {
        Self::default()
    }

    /// This share of the entries (0 to 1) is returned as in [`InjectedFault::Unprocessed`], whatever the pace.
    pub fn unprocessed(self, share: f64) -> Self {
        self.failed(share, "InternalError", false)
    }

    /// This share of the entries (0 to 1) is returned as in [`InjectedFault::Failed`], whatever the pace.
    pub fn failed(mut self, share: f64, code: impl Into<Cow<'static, str>>, sender_fault: bool) -> Self {
        self.entries = Some(EntryFault {
            share,
            code: code.into(),
            sender_fault,
        });
        self
    }

    /// This share of the calls (0 to 1) has the fault. May be called several times; a call has at most one of the faults.
    pub fn calls(mut self, share: f64, fault: InjectedFault) -> Self {
        self.calls.push((share, fault));
        self
    }

    pub(crate) fn draw(&self, random: &mut SmallRng) -> InjectedFault {
        if self.calls.is_empty() {
            return InjectedFault::None;
        }
        let mut drawn = random.random::<f64>();
        for (share, fault) in &self.calls {
            if drawn < *share {
                return fault.clone();
            }
            drawn -= share;
        }
        InjectedFault::None
    }

    pub(crate) fn of_entries(&self) -> Option<&EntryFault> {
        self.entries.as_ref()
    }
}

type EntryTest = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

/// A predicate of the JSON of an entry, which may be set while calls are in flight. It is false until it is set.
#[derive(Default)]
pub(crate) struct Predicate(RwLock<Option<EntryTest>>);

impl Predicate {
    pub(crate) fn set(&self, test: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(test));
    }

    pub(crate) fn holds(&self, entry: &Value) -> bool {
        // It runs outside of the lock, because it may set another predicate.
        let test = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        test.is_some_and(|test| test(entry))
    }
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate")
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn each_fault_has_its_share_of_the_calls() {
        let faults = Faults::none()
            .calls(0.2, InjectedFault::Throttle)
            .calls(0.1, InjectedFault::internal_error(true));
        let mut random = SmallRng::seed_from_u64(1);
        let drawn: Vec<InjectedFault> = (0..10_000).map(|_| faults.draw(&mut random)).collect();
        let throttles = drawn.iter().filter(|fault| **fault == InjectedFault::Throttle).count();
        let errors = drawn
            .iter()
            .filter(|fault| matches!(fault, InjectedFault::Error { .. }))
            .count();
        assert!((1_900..2_100).contains(&throttles), "{throttles}");
        assert!((900..1_100).contains(&errors), "{errors}");
    }

    #[test]
    fn the_same_seed_draws_the_same_faults() {
        let faults = Faults::none().calls(0.5, InjectedFault::Throttle);
        let draw = |seed| {
            let mut random = SmallRng::seed_from_u64(seed);
            (0..64).map(|_| faults.draw(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
