//! A pace that is low for a moment, to learn whether rejections depend on it.

use super::answer::Trial;
use super::baseline_loss::{BaselineLoss, Suspicion};

/// A capacity that has fallen is at least this part of the estimate less so many times the suspected share of rejections.
const FALL: f64 = 0.9;
const FALL_SHARE: f64 = 0.4;

/// The pace of a probe, as a share of what was accepted lately. A capacity that has fallen takes all of it.
const PACE: f64 = 0.6;

/// A suspicion is raised by more rejections than usual, so that the usual share may be smaller: at least this part of it, …
const CAUTION: f64 = 0.3;

/// … and if there is a known loss, at least so many times as much.
const GROWN: f64 = 1.5;

/// At the second pace at least this part of the share of the first one is rejected, if it does not depend on the pace.
const STAYS: f64 = 0.5;

/// They do depend on it if the share at the second pace is smaller than at the first by more standard deviations than this. Then the
/// second pace is still above a capacity that has fallen far, and a third one follows.
const DEVIATIONS: f64 = 2.0;

/// If the rejections depend on the pace, at most this part of the least suspected share is left at the pace of a probe.
const REMAINDER: f64 = 0.2;

/// A smaller suspected share would take too many calls to find again.
const SMALLEST: f64 = 0.02;
const LARGEST: f64 = 0.9;

/// The evidence that is enough, as the logarithm of a likelihood ratio: one in a hundred is wrong (Wald's test).
const ENOUGH: f64 = 4.6;

/// Answers from which the share that is accepted is told; and the least that it is taken to be.
const FEWEST: u32 = 8;
const LEAST_ACCEPTED: f64 = 0.1;

/// Less evidence than this tells nothing at the end of a probe: what is known is kept.
const UNDECIDED: f64 = 3.0;

/// Each pace of a probe takes at most the time for so many entries, within these bounds in seconds. A very low pace may be due to
/// an estimate that is far too low, which a long probe would keep.
const ENTRIES: f64 = 120.0;
const LEAST_LONG: f64 = 1.0;
const LONGEST: f64 = 5.0;

/// A call carries what so many seconds bring: many small calls are many trials.
const CALL_SECONDS: f64 = 0.01;
const SMALLEST_CALL: f64 = 5.0;

/// What a probe has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// The rejections go on: they do not depend on the pace.
    Loss,
    /// They have ended: the pace was too high.
    Capacity,
    /// That cannot be told: what was known is kept.
    Nothing,
}

/// One kind of trial: two hypotheses about its share of rejections, and what was seen.
#[derive(Debug, Clone, Copy)]
struct Hypotheses {
    /// The rejections go on: as they were, or at least this share …
    suspected: f64,
    least: f64,
    /// … or only what is known to be lost whatever the pace.
    low: f64,
    low_is_known: bool,
    trials: f64,
    rejected: f64,
    /// The same at the pace before this one.
    earlier: (f64, f64),
}

impl Hypotheses {
    fn new(suspected: f64, known: f64) -> Self {
        let low_is_known = known > 0.0;
        let least = (CAUTION * suspected).max(GROWN * known).clamp(SMALLEST, LARGEST);
        Self {
            suspected: suspected.clamp(least, LARGEST),
            least,
            low: if low_is_known { known } else { REMAINDER * least },
            low_is_known,
            trials: 0.0,
            rejected: 0.0,
            earlier: (0.0, 0.0),
        }
    }

    /// The same at another pace: a share that does not depend on the pace is about the same there.
    fn again(self) -> Self {
        let seen = self.rejected / self.trials.max(1.0);
        let least = self.least.max(STAYS * seen).min(LARGEST);
        Self {
            suspected: self.suspected.max(least),
            least,
            low: if self.low_is_known { self.low } else { REMAINDER * least },
            earlier: (self.trials, self.rejected),
            trials: 0.0,
            rejected: 0.0,
            ..self
        }
    }

    fn hear(&mut self, (trials, rejected): (f64, f64)) {
        self.trials += trials;
        self.rejected += rejected;
    }

    /// The logarithm of the likelihood ratio: above zero if the rejections go on.
    fn evidence(&self) -> f64 {
        if self.trials <= 0.0 {
            return 0.0;
        }
        let high = (self.rejected / self.trials).clamp(self.least, self.suspected);
        self.rejected * (high / self.low).ln() + (self.trials - self.rejected) * ((1.0 - high) / (1.0 - self.low)).ln()
    }

    /// Whether the share has fallen with the pace.
    fn falls(&self) -> bool {
        let (trials, rejected) = self.earlier;
        let share = (rejected + self.rejected) / (trials + self.trials);
        let variance = share * (1.0 - share) * (1.0 / trials + 1.0 / self.trials);
        rejected / trials - self.rejected / self.trials > DEVIATIONS * variance.sqrt()
    }

    /// The trials at this pace and at the one before, and how many of them were rejected.
    fn all(&self) -> (f64, f64) {
        (self.earlier.0 + self.trials, self.earlier.1 + self.rejected)
    }
}

/// A probe under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    pace: f64,
    /// Calls that leave from then on count: what left before has left the service without capacity.
    counts_from: f64,
    trip: f64,
    /// Entries a second that were accepted when it began, or at the first pace.
    pub(super) accepted_rate: f64,
    /// The rejections went on at the first pace: this is the second, or a later one.
    is_second: bool,
    sent: f64,
    accepted: f64,
    heard: u32,
    calls: Option<Hypotheses>,
    entries: Option<Hypotheses>,
}

impl Probe {
    pub(super) fn new(
        now: f64,
        trip: f64,
        accepted_rate: f64,
        suspicion: Suspicion,
        known: &BaselineLoss,
        is_review: bool,
    ) -> Self {
        // In a review what is known is in doubt itself.
        let known = if is_review {
            Suspicion::default()
        } else {
            known.suspicion()
        };
        let hypotheses = |suspected: f64, known: f64| (suspected > 0.0).then(|| Hypotheses::new(suspected, known));
        Self {
            pace: PACE * accepted_rate,
            counts_from: now + trip,
            trip,
            accepted_rate,
            is_second: false,
            sent: 0.0,
            accepted: 0.0,
            heard: 0,
            calls: hypotheses(suspicion.calls, known.calls),
            entries: hypotheses(suspicion.entries, known.entries),
        }
    }

    /// Whether a probe at this rate is over before it can tell anything at its second pace.
    pub(super) fn is_too_slow(accepted_rate: f64) -> bool {
        PACE * PACE * accepted_rate * LONGEST < ENTRIES
    }

    /// Entries a second.
    pub(super) fn pace(&self) -> f64 {
        self.pace
    }

    /// Entries in a call.
    pub(super) fn call(&self) -> f64 {
        (CALL_SECONDS * self.pace).max(SMALLEST_CALL)
    }

    /// Hears of a call. Tells when enough is known.
    pub(super) fn hear(&mut self, sent_at: f64, now: f64, trial: Trial) -> Option<Finding> {
        if sent_at >= self.counts_from {
            self.sent += trial.sent;
            self.accepted += trial.sent - trial.rejected;
            self.heard += 1;
            if let Some(of_calls) = &mut self.calls {
                of_calls.hear(trial.calls());
            }
            if let Some(of_entries) = &mut self.entries {
                of_entries.hear(trial.entries());
            }
        }
        let kinds = self.calls.iter().chain(&self.entries);
        let evidence: f64 = kinds.map(Hypotheses::evidence).sum();
        let is_enough = evidence.abs() >= ENOUGH && (evidence < 0.0 || self.heard >= FEWEST);
        let longest = (ENTRIES / self.pace).clamp(LEAST_LONG, LONGEST);
        let is_over = is_enough || now - self.counts_from >= longest;
        if !is_over {
            return None;
        }
        if evidence.abs() < UNDECIDED {
            return Some(Finding::Nothing);
        }
        if evidence <= 0.0 {
            return Some(Finding::Capacity);
        }
        let mut kinds = self.calls.iter().chain(&self.entries);
        if self.is_second && !kinds.any(Hypotheses::falls) {
            return Some(Finding::Loss);
        }
        // A capacity that has just fallen is far below what was accepted lately. What is accepted now is not.
        let rate = self.pace * (self.accepted / self.sent.max(1.0)).max(LEAST_ACCEPTED);
        *self = Self {
            pace: PACE * rate,
            counts_from: now + self.trip,
            trip: self.trip,
            accepted_rate: rate,
            is_second: true,
            sent: 0.0,
            accepted: 0.0,
            heard: 0,
            calls: self.calls.map(Hypotheses::again),
            entries: self.entries.map(Hypotheses::again),
        };
        None
    }

    /// The capacity when it has fallen from this one.
    pub(super) fn fallen(&self, capacity: f64) -> f64 {
        // Few rejections do not come of a capacity that is far lower.
        let least = capacity * (FALL - self.suspected() / FALL_SHARE);
        self.accepted_rate.max(least).min(capacity)
    }

    /// The share of rejections that is suspected.
    fn suspected(&self) -> f64 {
        let kinds = self.calls.iter().chain(&self.entries);
        kinds.map(|kind| kind.suspected).fold(0.0, f64::max)
    }

    /// Tells the baseline what was measured.
    pub(super) fn report(&self, finding: Finding, loss: &mut BaselineLoss) {
        for (kind, is_calls) in [(&self.calls, true), (&self.entries, false)] {
            let Some(kind) = kind else { continue };
            let (trials, rejected) = kind.all();
            if finding == Finding::Loss && kind.evidence() > 0.0 {
                loss.set(is_calls, trials, rejected);
            } else if finding == Finding::Capacity && !kind.low_is_known {
                loss.set(is_calls, trials, 0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests;
