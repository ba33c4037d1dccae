//! What goes wrong, by script or at random.

use std::borrow::Cow;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;

/// What happens to one batch call.
///
/// The service applies exactly what it reports. Where the caller cannot know whether its entries were applied, `applied`
/// says whether they were, as far as there was capacity for them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InjectedFault {
    /// Nothing goes wrong.
    None,
    /// So many entries, chosen at random, come back unprocessed; from a queue or topic they come back as
    /// `Failed` with `InternalError` and `sender_fault = false`, from streams and buses with the code `InternalFailure`.
    Unprocessed(usize),
    /// So many messages, chosen at random, come back as `Failed`. From a table they come back unprocessed, from streams and
    /// buses with the code alone.
    Failed {
        /// How many.
        entries: usize,
        /// The code they come back with.
        code: Cow<'static, str>,
        /// Whether the service blames the sender.
        sender_fault: bool,
    },
    /// The whole call is throttled for lack of capacity: `ProvisionedThroughputExceededException`, of an on-demand table
    /// `ThrottlingException`, from a queue `RequestThrottled`, from a topic `Throttled`, from a stream
    /// `ProvisionedThroughputExceededException`, from a delivery stream `ServiceUnavailableException`, from a bus
    /// `ThrottlingException`.
    Throttle,
    /// The whole call is throttled for a limit of the account that others use as well, whatever the pace: `RequestLimitExceeded`
    /// with the reason `TableWriteAccountLimitExceeded` from a table, elsewhere as [`Throttle`](Self::Throttle).
    AccountLimit,
    /// The whole call fails.
    Error {
        /// The HTTP status.
        status: u16,
        /// The code, without its namespace. Empty: the answer has no body.
        code: Cow<'static, str>,
        /// The message.
        message: Cow<'static, str>,
        /// Whether the entries were applied before it failed.
        applied: bool,
    },
    /// The connection is closed instead of an answer.
    Dropped {
        /// Whether the entries were applied before.
        applied: bool,
    },
    /// The answer is a 200 with `{}`, or with an empty result.
    Empty {
        /// Whether the entries were applied.
        applied: bool,
    },
    /// The answer is a 200 that cannot be read.
    Garbage {
        /// Whether the entries were applied.
        applied: bool,
    },
    /// So many messages are in neither list of the answer. Where entries are told by their places, the answer is shorter by so
    /// many. A table cannot say so: there nothing goes wrong.
    Omitted {
        /// How many.
        entries: usize,
        /// Whether they were applied.
        applied: bool,
    },
    /// So many entries come back unprocessed or failed, and each is listed twice.
    Repeated(usize),
    /// The answer names so many entries that were never sent: a queue or topic in both of its lists, a table as unprocessed. Where
    /// entries are told by their places, the answer is longer by so many.
    Unknown(usize),
    /// The answer takes that much longer.
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

    /// The whole call fails with a status and a code, with a message made of the code.
    pub fn error(status: u16, code: impl Into<Cow<'static, str>>, applied: bool) -> Self {
        let code = code.into();
        Self::Error {
            status,
            message: format!("Simulated {code}").into(),
            code,
            applied,
        }
    }

    /// So many messages come back as `Failed` with this code.
    pub fn failed(entries: usize, code: impl Into<Cow<'static, str>>, sender_fault: bool) -> Self {
        Self::Failed {
            entries,
            code: code.into(),
            sender_fault,
        }
    }

    /// Whether the entries are applied, where this fault takes the place of the whole answer.
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

    pub(crate) fn is_throttle(&self) -> bool {
        matches!(self, Self::Throttle | Self::AccountLimit)
    }

    /// Whether the caller can be sure that nothing was applied.
    pub(crate) fn is_clear_refusal(&self) -> bool {
        match self {
            Self::Throttle | Self::AccountLimit => true,
            Self::Error { status, applied, .. } => *status < 500 && !applied,
            _ => false,
        }
    }
}

/// What goes wrong at random, from the simulator's seed.
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
    pub(crate) fn strikes(&self, random: &mut SmallRng) -> bool {
        random.random::<f64>() < self.share
    }
}

impl Faults {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// This share of the entries (0 to 1), whatever the pace, comes back as in [`InjectedFault::Unprocessed`].
    #[must_use]
    pub fn unprocessed(self, share: f64) -> Self {
        self.failed(share, "InternalError", false)
    }

    /// This share of the entries (0 to 1), whatever the pace, comes back as in [`InjectedFault::Failed`].
    #[must_use]
    pub fn failed(mut self, share: f64, code: impl Into<Cow<'static, str>>, sender_fault: bool) -> Self {
        self.entries = Some(EntryFault {
            share,
            code: code.into(),
            sender_fault,
        });
        self
    }

    /// This share of the calls (0 to 1) meets the fault. May be called several times; a call meets at most one of them.
    #[must_use]
    pub fn calls(mut self, share: f64, fault: InjectedFault) -> Self {
        self.calls.push((share, fault));
        self
    }

    /// This share of the calls (0 to 1) is throttled as a whole, whatever the pace, as in [`InjectedFault::AccountLimit`].
    #[must_use]
    pub fn throttled_calls(self, share: f64) -> Self {
        self.calls(share, InjectedFault::AccountLimit)
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

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn each_fault_strikes_its_share_of_the_calls() {
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
