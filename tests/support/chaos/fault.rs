//! The faults of a mix.

use std::fmt;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// What happens to a single call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CallFault {
    /// The connection is reset before the request has reached the service.
    ResetWithinRequest,
    /// The connection is reset instead of an answer.
    Reset { applied: bool },
    /// The connection ends in the middle of the answer.
    HalfAnswer,
    /// The answer arrives in pieces, over this time.
    SlowAnswer(Duration),
    /// There is never an answer.
    Hang { applied: bool },
    /// A 200 that cannot be read.
    Garbage { applied: bool },
    /// Bytes that are not HTTP.
    Noise { applied: bool },
    /// A 500 of the service.
    Error { applied: bool },
    /// A 503 of something before the service.
    Unavailable { applied: bool },
}

impl CallFault {
    /// A random fault, and the largest share of the calls that it may affect.
    fn draw(random: &mut SmallRng) -> (Self, f64) {
        let applied = random.random();
        match random.random_range(0..10) {
            0 => (Self::ResetWithinRequest, 0.1),
            1 | 2 => (Self::Reset { applied }, 0.12),
            3 => (Self::HalfAnswer, 0.1),
            4 => (Self::SlowAnswer(millis(random, 10..=120)), 0.15),
            5 => (Self::Hang { applied }, 0.04),
            6 => (Self::Garbage { applied }, 0.1),
            7 => (Self::Noise { applied }, 0.1),
            8 => (Self::Error { applied }, 0.15),
            _ => (Self::Unavailable { applied }, 0.1),
        }
    }

    fn hangs(self) -> bool {
        matches!(self, Self::Hang { .. })
    }
}

/// Something that fails for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outage {
    /// The server is stopped: its connections end, and new ones are refused.
    Stopped,
    /// The connections end, and the name of the service cannot be resolved.
    Unresolved,
    /// There are no credentials.
    NoCredentials,
    /// No call is answered.
    Hanging,
    /// Each connection is reset instead of an answer.
    Resets,
    /// Each call is answered with a 500.
    Errors,
    /// Each call is throttled as a whole.
    Throttles,
    /// Nine of ten entries are rejected, whatever the pace.
    Rejections,
    /// The clock of the service jumps an hour ahead, and stays there.
    ClockAhead,
    /// The clock of the service jumps an hour back, and stays there.
    ClockBack,
}

impl Outage {
    pub(crate) const ALL: [Self; 10] = [
        Self::Stopped,
        Self::Unresolved,
        Self::NoCredentials,
        Self::Hanging,
        Self::Resets,
        Self::Errors,
        Self::Throttles,
        Self::Rejections,
        Self::ClockAhead,
        Self::ClockBack,
    ];
}

/// An outage, and when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scheduled {
    pub(crate) outage: Outage,
    /// It begins when this many calls have arrived.
    pub(crate) after_calls: u64,
    pub(crate) lasting: Duration,
}

impl fmt::Display for Scheduled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            outage,
            after_calls,
            lasting,
        } = self;
        write!(f, "{outage:?} after {after_calls} calls for {lasting:?}")
    }
}

/// All faults of the service and of the connections to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Faults {
    pub(crate) seed: u64,
    /// Faults of single calls, each with its share of the calls.
    pub(crate) calls: Vec<(f64, CallFault)>,
    /// The share of the entries that is rejected, whatever the pace. No more than a tenth, as of the calls: beyond that, a process cannot
    /// distinguish it from other processes that use the capacity, and gives way to them.
    pub(crate) rejected: f64,
    /// The share of the calls that is throttled as a whole, whatever the pace.
    pub(crate) throttled: f64,
    /// The capacity, in entries per second.
    pub(crate) capacity: Option<f64>,
    pub(crate) outages: Vec<Scheduled>,
}

impl Faults {
    /// Random faults for about this many calls.
    pub(crate) fn draw(seed: u64, calls: u64, random: &mut SmallRng) -> Self {
        let share = |random: &mut SmallRng, most: f64| random.random_range(0.01..most);
        let kinds = random.random_range(0..=3);
        let outages = random.random_range(0..=3);
        let mut faults = Self {
            seed,
            calls: (0..kinds)
                .map(|_| {
                    let (fault, most) = CallFault::draw(random);
                    (share(random, most), fault)
                })
                .collect(),
            rejected: if random.random_bool(0.3) {
                share(random, 0.1)
            } else {
                0.0
            },
            throttled: if random.random_bool(0.3) {
                share(random, 0.1)
            } else {
                0.0
            },
            capacity: random.random_bool(0.25).then(|| random.random_range(400.0..3_000.0)),
            outages: (0..outages)
                .map(|_| Scheduled {
                    outage: Outage::ALL[random.random_range(0..Outage::ALL.len())],
                    after_calls: random.random_range(0..=calls),
                    lasting: millis(random, 50..=300),
                })
                .collect(),
        };
        faults.outages.sort_by_key(|scheduled| scheduled.after_calls);
        faults
    }

    /// The fault of the call with this number, which is the same for each contestant of a mix.
    pub(crate) fn of_call(&self, number: u64) -> Option<CallFault> {
        let mut random = SmallRng::seed_from_u64(self.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut drawn = random.random::<f64>();
        for (share, fault) in &self.calls {
            if drawn < *share {
                return Some(*fault);
            }
            drawn -= share;
        }
        None
    }

    /// Whether a queue rejects messages with internal errors, which leave them in doubt.
    pub(crate) fn rejections_are_internal(&self) -> bool {
        self.seed.is_multiple_of(2)
    }

    /// Whether calls may get no answer.
    pub(crate) fn hang(&self) -> bool {
        let hanging = |scheduled: &Scheduled| scheduled.outage == Outage::Hanging;
        self.calls.iter().any(|(_, fault)| fault.hangs()) || self.outages.iter().any(hanging)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (share, fault) in &self.calls {
            write!(f, "; {:.1}% {fault:?}", share * 100.0)?;
        }
        if self.rejected > 0.0 {
            write!(f, "; {:.1}% of the entries rejected", self.rejected * 100.0)?;
        }
        if self.throttled > 0.0 {
            write!(f, "; {:.1}% of the calls throttled", self.throttled * 100.0)?;
        }
        if let Some(capacity) = self.capacity {
            write!(f, "; {capacity:.0} entries/s")?;
        }
        for scheduled in &self.outages {
            write!(f, "; {scheduled}")?;
        }
        Ok(())
    }
}

pub(crate) fn millis(random: &mut SmallRng, range: std::ops::RangeInclusive<u64>) -> Duration {
    Duration::from_millis(random.random_range(range))
}
