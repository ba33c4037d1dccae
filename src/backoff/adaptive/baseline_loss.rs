//! Baseline loss: the share of calls, and of entries, that the service rejects whatever the pace.

use super::answer::Trial;

/// A higher share is not taken for a loss: a service that rejects more is overloaded, and slower is then right.
const HIGHEST: f64 = 0.6;

/// A smaller share than this is none: so few rejections cost no pace.
const LOWEST: f64 = 0.01;

/// Rejections on top of the baseline that are no sign yet, as a share: the baseline is not known exactly.
const SLACK: f64 = 1.1;
const CALLS_MARGIN: f64 = 0.04;
const MARGIN: f64 = 0.02;

/// Standard deviations that chance does not bring about.
const DEVIATIONS: f64 = 3.5;

/// Trials that a suspicion is taken to have in addition.
const PRIOR: f64 = 6.0;

/// So many rejections, of no larger a share of the trials, are a loss without a probe: too few to slow down for.
const FEWEST: f64 = 3.0;
const HARMLESS: f64 = 0.05;

/// The rejections of one kind of trial.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// The baseline.
    baseline: f64,
    /// Trials at a pace below the estimate, and how many were rejected. Older ones fade.
    trials: f64,
    rejected: f64,
    below: Excess,
    above: Excess,
    /// Trials that count before older ones fade.
    memory: f64,
    /// Trials over which chance is reckoned.
    window: f64,
    margin: f64,
}

/// Rejections beyond the baseline, added up (a CUSUM), since the sum was zero.
#[derive(Debug, Clone, Copy, Default)]
struct Excess {
    sum: f64,
    trials: f64,
    rejected: f64,
}

impl Excess {
    fn hear(&mut self, trials: f64, rejected: f64, expected: f64) {
        self.sum += rejected - expected * trials;
        if self.sum <= 0.0 {
            *self = Self::default();
        } else {
            self.trials += trials;
            self.rejected += rejected;
        }
    }
}

impl Share {
    fn new(memory: f64, window: f64, margin: f64) -> Self {
        Self {
            baseline: 0.0,
            trials: 0.0,
            rejected: 0.0,
            below: Excess::default(),
            above: Excess::default(),
            memory,
            window,
            margin,
        }
    }

    /// The share of rejections that the baseline explains.
    fn explained(&self) -> f64 {
        let margin = if self.baseline > 0.0 { self.margin } else { MARGIN };
        SLACK * self.baseline + margin
    }

    /// Rejections beyond the baseline that chance may bring.
    fn chance(&self) -> f64 {
        let variance = self.window * self.baseline * (1.0 - self.baseline);
        2.5 + DEVIATIONS * variance.sqrt()
    }

    /// Trials at a pace below the estimate. Whether more are rejected than the baseline explains.
    fn below(&mut self, (trials, rejected): (f64, f64)) -> bool {
        self.below.hear(trials, rejected, self.explained());
        let exceeded = self.below.sum > self.chance();
        if !exceeded {
            self.add(trials, rejected);
        }
        exceeded
    }

    /// Trials at any other pace. Whether more are rejected than the baseline explains.
    fn above(&mut self, (trials, rejected): (f64, f64)) -> bool {
        if self.baseline <= 0.0 {
            return rejected > 0.0;
        }
        self.above.hear(trials, rejected, self.explained());
        self.above.sum > self.chance()
    }

    fn add(&mut self, trials: f64, rejected: f64) {
        self.trials += trials;
        self.rejected += rejected;
        if self.trials > self.memory {
            let weight = self.memory / self.trials;
            self.trials *= weight;
            self.rejected *= weight;
        }
        let is_harmless = self.rejected >= FEWEST && self.rejected <= HARMLESS * self.trials;
        if self.baseline > 0.0 || is_harmless {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let share = self.rejected / self.trials.max(1.0);
        self.baseline = if share < LOWEST { 0.0 } else { share.min(HIGHEST) };
    }

    fn set(&mut self, trials: f64, rejected: f64) {
        self.trials = trials;
        self.rejected = rejected;
        self.below = Excess::default();
        self.above = Excess::default();
        self.settle();
    }
}

/// What of the latest rejections, at a pace below the estimate, is too much for chance: the shares of calls and entries.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Suspicion {
    pub(super) calls: f64,
    pub(super) entries: f64,
}

/// The baseline of a service.
#[derive(Debug, Clone, Copy)]
pub(super) struct BaselineLoss {
    calls: Share,
    entries: Share,
}

impl Default for BaselineLoss {
    fn default() -> Self {
        Self {
            calls: Share::new(200.0, 20.0, CALLS_MARGIN),
            entries: Share::new(600.0, 120.0, MARGIN),
        }
    }
}

impl BaselineLoss {
    /// The share of entries that is rejected, one way or the other.
    pub(super) fn share(&self) -> f64 {
        1.0 - (1.0 - self.calls.baseline) * (1.0 - self.entries.baseline)
    }

    pub(super) fn is_known(&self) -> bool {
        self.share() > 0.0
    }

    /// Both shares as something to look at again.
    pub(super) fn suspicion(&self) -> Suspicion {
        Suspicion {
            calls: self.calls.baseline,
            entries: self.entries.baseline,
        }
    }

    /// Hears of a call that left at a pace below the estimate, so that it should not have been rejected. Tells when the
    /// rejections are more than the baseline explains.
    pub(super) fn below(&mut self, trial: Trial) -> Option<Suspicion> {
        let calls = self.calls.below(trial.calls());
        let exceeded = self.entries.below(trial.entries()) || calls;
        exceeded.then(|| {
            // A sum that has just exceeded its bound is of more rejections than usual: a few trials more are reckoned.
            let share = |of: &Share| (of.below.rejected / (of.below.trials + PRIOR)).min(HIGHEST);
            let suspicion = Suspicion {
                calls: share(&self.calls),
                entries: share(&self.entries),
            };
            self.calls.below = Excess::default();
            self.entries.below = Excess::default();
            suspicion
        })
    }

    /// Hears of a call that left at any other pace. Whether its rejections are a congestion signal.
    pub(super) fn above(&mut self, trial: Trial) -> bool {
        let calls = self.calls.above(trial.calls());
        self.entries.above(trial.entries()) || calls
    }

    /// A congestion signal was heard: what led to it is not counted again.
    pub(super) fn forget_excess(&mut self) {
        self.calls.above = Excess::default();
        self.entries.above = Excess::default();
    }

    /// So many of so many calls, or entries of the other calls, were rejected at a pace that cannot be too fast.
    pub(super) fn set(&mut self, calls: bool, trials: f64, rejected: f64) {
        let share = if calls { &mut self.calls } else { &mut self.entries };
        share.set(trials, rejected);
    }
}

#[cfg(test)]
mod tests;
