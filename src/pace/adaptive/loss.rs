//! Baseline loss: the share of calls, and of entries, that the service rejects at any pace.

use super::evidence::{Cusum, Evidence, Trials, chance, variance};

/// A higher share is not taken for a loss: a service that rejects more is overloaded, and a lower pace is right then.
const MAX_SHARE: f64 = 0.6;

/// A smaller share than this counts as none: so few rejections cost no pace.
const MIN_SHARE: f64 = 0.01;

/// Rejections beyond the baseline that are no evidence yet, as a factor and as a share: the baseline is not known exactly.
const SLACK: f64 = 1.1;
const CALLS_MARGIN: f64 = 0.04;
const MARGIN: f64 = 0.02;

/// Rejections beyond the expected ones that are never evidence.
const IGNORED: f64 = 2.5;

/// Trials over which the baseline is averaged, of calls and of entries.
const MAX_CALLS: f64 = 200.0;
const MAX_ENTRIES: f64 = 600.0;

/// Trials over which chance is computed, of calls and of entries.
const CALLS_WINDOW: f64 = 20.0;
const ENTRIES_WINDOW: f64 = 120.0;

/// Accepted trials that are assumed in addition for a suspicion. A sum that has just exceeded its bound consists of more rejections
/// than usual.
const ASSUMED_TRIALS: f64 = 6.0;

/// From so many rejections on, a share of at most this is a loss without a probe: too small to slow down for.
const MIN_REJECTIONS: f64 = 3.0;
const MAX_HARMLESS: f64 = 0.05;

/// The share of rejections of one kind of trial.
#[derive(Debug, Clone, Copy)]
pub(super) struct LossOfKind {
    baseline: f64,
    /// Trials at a pace below the estimate.
    trials: Trials,
    /// Rejections beyond the baseline, at a pace below the estimate and at any other.
    below: Cusum<Trials>,
    above: Cusum<()>,
    max_trials: f64,
    window: f64,
    margin: f64,
}

impl LossOfKind {
    fn new(max_trials: f64, window: f64, margin: f64) -> Self {
        Self {
            baseline: 0.0,
            trials: Trials::default(),
            below: Cusum::default(),
            above: Cusum::default(),
            max_trials,
            window,
            margin,
        }
    }

    /// The share of rejections that the baseline explains.
    fn explained(&self) -> f64 {
        let margin = if self.baseline > 0.0 { self.margin } else { MARGIN };
        SLACK * self.baseline + margin
    }

    /// Rejections that the baseline does not explain.
    fn excess(&self, trials: Trials) -> f64 {
        trials.rejected - self.explained() * trials.sent
    }

    /// The excess that chance may cause.
    fn max_excess(&self) -> f64 {
        IGNORED + chance(variance(self.window, self.baseline))
    }

    /// Trials at a pace below the estimate. Whether more are rejected than the baseline explains.
    fn observe_below(&mut self, trials: Trials) -> bool {
        if let Some(since) = self.below.add(self.excess(trials)) {
            *since = since.plus(trials);
        }
        let exceeded = self.below.sum > self.max_excess();
        if !exceeded {
            self.add(trials);
        }
        exceeded
    }

    /// Trials at any other pace. Whether more are rejected than the baseline explains.
    fn observe_elsewhere(&mut self, trials: Trials) -> bool {
        if self.baseline <= 0.0 {
            return trials.rejected > 0.0;
        }
        self.above.add(self.excess(trials));
        self.above.sum > self.max_excess()
    }

    fn add(&mut self, trials: Trials) {
        self.trials.add_within(trials, self.max_trials);
        let Trials { sent, rejected } = self.trials;
        if self.baseline > 0.0 || (rejected >= MIN_REJECTIONS && rejected <= MAX_HARMLESS * sent) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let share = self.trials.share();
        self.baseline = if share < MIN_SHARE { 0.0 } else { share.min(MAX_SHARE) };
    }

    /// Sets the baseline to what was measured at a pace that cannot be too fast.
    pub(super) fn set(&mut self, trials: Trials) {
        self.trials = trials;
        self.below = Cusum::default();
        self.above = Cusum::default();
        self.settle();
    }

    /// The share of the rejections of which there are too many for chance. They are not counted again.
    fn take_suspicion(&mut self) -> f64 {
        let Trials { sent, rejected } = std::mem::take(&mut self.below).since;
        (rejected / (sent + ASSUMED_TRIALS)).min(MAX_SHARE)
    }
}

/// Shares of calls and of entries that may be rejected at any pace.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Suspicion {
    pub(super) calls: f64,
    pub(super) entries: f64,
}

/// The baseline of a service.
#[derive(Debug, Clone, Copy)]
pub(super) struct BaselineLoss {
    pub(super) calls: LossOfKind,
    /// Of the calls that were not rejected as a whole.
    pub(super) entries: LossOfKind,
}

impl Default for BaselineLoss {
    fn default() -> Self {
        Self {
            calls: LossOfKind::new(MAX_CALLS, CALLS_WINDOW, CALLS_MARGIN),
            entries: LossOfKind::new(MAX_ENTRIES, ENTRIES_WINDOW, MARGIN),
        }
    }
}

impl BaselineLoss {
    /// One that averages over no trials, so that it is always none.
    pub(super) fn never() -> Self {
        Self {
            calls: LossOfKind::new(0.0, CALLS_WINDOW, CALLS_MARGIN),
            entries: LossOfKind::new(0.0, ENTRIES_WINDOW, MARGIN),
        }
    }

    /// The share of entries that is rejected, with its call or alone.
    pub(super) fn share(&self) -> f64 {
        1.0 - (1.0 - self.calls.baseline) * (1.0 - self.entries.baseline)
    }

    pub(super) fn is_known(&self) -> bool {
        self.share() > 0.0
    }

    /// Both shares, to be measured again.
    pub(super) fn suspicion(&self) -> Suspicion {
        Suspicion {
            calls: self.calls.baseline,
            entries: self.entries.baseline,
        }
    }

    /// A call that left at a pace below the estimate, so that it should not be rejected. Returns a suspicion when more is rejected than
    /// the baseline explains.
    pub(super) fn observe_below(&mut self, trial: Evidence) -> Option<Suspicion> {
        let calls = self.calls.observe_below(trial.calls);
        let exceeded = self.entries.observe_below(trial.entries) || calls;
        exceeded.then(|| Suspicion {
            calls: self.calls.take_suspicion(),
            entries: self.entries.take_suspicion(),
        })
    }

    /// A call that left at any other pace. Whether its rejections are a congestion signal.
    pub(super) fn observe_elsewhere(&mut self, trial: Evidence) -> bool {
        let calls = self.calls.observe_elsewhere(trial.calls);
        self.entries.observe_elsewhere(trial.entries) || calls
    }

    /// The unexpected rejections have another reason: they are not counted.
    pub(super) fn forget_unexpected(&mut self) {
        self.calls.below = Cusum::default();
        self.entries.below = Cusum::default();
    }

    /// There was a congestion signal: the rejections that led to it are not counted again.
    pub(super) fn forget_excess(&mut self) {
        self.calls.above = Cusum::default();
        self.entries.above = Cusum::default();
    }
}

#[cfg(test)]
mod tests;
