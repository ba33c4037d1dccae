//! What rejections prove: counts whose older trials fade, sums of evidence, and the bounds of chance.

use crate::pace::Outcome;
use crate::pace::meter::to_f64;

/// Standard deviations beyond the expected number that chance seldom exceeds. Hundreds of trials a second are judged, for hours.
const DEVIATIONS: f64 = 3.5;

/// A call of fewer entries is rejected as a whole by chance where many entries are.
const MIN_CALL: f64 = 5.0;

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

    /// Adds trials. All fade evenly so that they count for `max` at most.
    pub(super) fn add_within(&mut self, more: Self, max: f64) {
        *self = self.plus(more);
        if self.sent > max {
            *self = self.weighted(max / self.sent);
        }
    }

    /// How much more likely the trials are by one hypothesis than by another, as a logarithm. The arguments are the ratios of the
    /// two probabilities of a rejection, and of an acceptance.
    pub(super) fn log_likelihood(self, rejected: f64, accepted: f64) -> f64 {
        self.rejected * rejected.ln() + self.not_rejected() * accepted.ln()
    }
}

/// Evidence that is added up, starting anew whenever the sum falls to zero (Page's CUSUM), and what was observed since it was zero.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cusum<T> {
    pub(super) sum: f64,
    pub(super) since: T,
}

impl<T: Default> Cusum<T> {
    /// Adds evidence; `None` if the sum has fallen to zero.
    pub(super) fn add(&mut self, evidence: f64) -> Option<&mut T> {
        self.sum += evidence;
        if self.sum <= 0.0 {
            *self = Self::default();
            return None;
        }
        Some(&mut self.since)
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
}

/// What an answer shows of the probability of a rejection.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Evidence {
    pub(super) all: Trials,
    /// The call as one trial; none if it has too few entries.
    pub(super) calls: Trials,
    /// Each entry as a trial; none if the call was rejected as a whole, because its entries shared one reason.
    pub(super) entries: Trials,
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

    /// What the answer shows, by all its entries or by the fresh ones alone.
    pub(super) fn trial(&self, fresh_only: bool) -> Evidence {
        let all = if fresh_only { self.fresh } else { self.all };
        let is_judged = all.sent > 0.0 && self.all.sent >= MIN_CALL;
        let is_whole = is_judged && self.is_wholly_rejected();
        Evidence {
            all,
            calls: Trials::new(f64::from(u8::from(is_judged)), f64::from(u8::from(is_whole))),
            entries: if is_whole { Trials::default() } else { all },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_about;
    use super::*;

    #[test]
    fn older_trials_count_less() {
        let mut trials = Trials::default();
        assert_about(trials.share(), 0.0);
        trials.add_within(Trials::new(100.0, 90.0), 200.0);
        assert_about(trials.share(), 0.9);
        trials.add_within(Trials::new(300.0, 10.0), 200.0);
        assert_about(trials.sent, 200.0);
        assert_about(trials.rejected, 50.0);
        assert_about(trials.share(), 0.25);
    }

    #[test]
    fn a_cusum_remembers_what_came_since_it_was_zero() {
        let mut cusum = Cusum::<u32>::default();
        for evidence in [3.0, -1.0] {
            *cusum.add(evidence).unwrap() += 1;
        }
        assert_about(cusum.sum, 2.0);
        assert_eq!(cusum.since, 2);
        assert_eq!(cusum.add(-2.0), None);
        assert_eq!(cusum.since, 0);
    }
}
