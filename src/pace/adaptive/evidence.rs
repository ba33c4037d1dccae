//! What rejections prove: counts whose older trials fade, and the bounds of chance.

use crate::pace::Outcome;
use crate::pace::meter::to_f64;

/// Standard deviations beyond the expected number that chance seldom exceeds. Hundreds of trials a second are judged, for hours.
const DEVIATIONS: f64 = 3.5;

/// Trials, either calls or entries, and how many of them were rejected. Fractions where older ones fade.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Trials {
    pub(super) sent: f64,
    pub(super) rejected: f64,
}

impl Trials {
    pub(super) const fn new(sent: f64, rejected: f64) -> Self {
        Self { sent, rejected }
    }

    pub(super) fn not_rejected(self) -> f64 {
        self.sent - self.rejected
    }

    /// The share that was rejected.
    pub(super) fn share(self) -> f64 {
        self.rejected / self.sent.max(1.0)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self::new(self.sent + other.sent, self.rejected + other.rejected)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self::new(self.sent - other.sent, self.rejected - other.rejected)
    }

    /// Each trial counts only for this part of itself.
    pub(super) fn weighted(self, weight: f64) -> Self {
        Self::new(self.sent * weight, self.rejected * weight)
    }
}

/// The variance of the number of rejections, if each trial is rejected with this probability.
pub(super) fn variance(trials: f64, probability: f64) -> f64 {
    trials * probability * (1.0 - probability)
}

/// By how much chance may exceed an expected number of this variance.
pub(super) fn chance(variance: f64) -> f64 {
    DEVIATIONS * variance.max(0.0).sqrt()
}

/// The answer to a call. All times are in seconds, all counts in entries or, where the strategy counts units, in units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observation {
    /// When the call left, reached the service, which is assumed to be half-way, and was answered.
    pub(super) sent_at: f64,
    pub(super) seen_at: f64,
    pub(super) now: f64,
    pub(super) accepted: f64,
    pub(super) all: Trials,
    /// Of all these, the ones that were never rejected before.
    pub(super) fresh: Trials,
    /// The entries that show the capacity: all, or the fresh ones alone.
    pub(super) judged: Trials,
}

impl Observation {
    pub(super) fn new(outcome: &Outcome, sent_at: f64, now: f64) -> Self {
        Self {
            sent_at,
            seen_at: f64::midpoint(sent_at, now),
            now,
            accepted: to_f64(outcome.accepted),
            all: Trials::new(to_f64(outcome.sent), to_f64(outcome.throttled)),
            fresh: Trials::new(to_f64(outcome.fresh), to_f64(outcome.fresh_throttled)),
            judged: Trials::new(to_f64(outcome.sent), to_f64(outcome.throttled)),
        }
    }

    /// Whether every entry of the call was throttled.
    pub(super) fn is_wholly_rejected(&self) -> bool {
        self.all.rejected > 0.0 && self.all.rejected >= self.all.sent
    }

    /// The entries that were rejected before.
    pub(super) fn retries(&self) -> Trials {
        self.all.minus(self.fresh)
    }
}
