//! A low pace for a moment, to learn whether rejections depend on the pace.

use super::evidence::{Evidence, Trials};
use super::loss::{BaselineLoss, Suspicion};

/// The pace of a probe, as a share of what was accepted lately. A capacity that has fallen accepts all of it.
const PACE: f64 = 0.6;

/// A suspicion is raised by more rejections than usual, so that the usual share may be smaller: at least this part of it, …
const CAUTION: f64 = 0.3;

/// … and if there is a known loss, at least so many times as much.
const GROWN: f64 = 1.5;

/// Bounds of the suspected share. A smaller one takes too many calls to find again.
const MIN_SUSPECTED: f64 = 0.02;
const MAX_SUSPECTED: f64 = 0.9;

/// If the rejections depend on the pace, at most this part of the least suspected share is left at the pace of a probe.
const REMAINDER: f64 = 0.2;

/// If they do not, at least this part of the share at one pace is rejected at the next.
const STAYS: f64 = 0.5;

/// They do depend on it if the share falls from one pace to the next by more standard deviations than this. Then the next pace is still
/// above a capacity that has fallen far, and another one follows.
const FALL_DEVIATIONS: f64 = 2.0;

/// The evidence that is enough, as the logarithm of a likelihood ratio: one finding in a hundred is wrong (Wald's test).
const ENOUGH: f64 = 4.6;

/// Less evidence than this at the end of a probe decides nothing.
const UNDECIDED: f64 = 3.0;

/// Answers from which the share that is accepted is computed, and the least that it is taken for.
const MIN_ANSWERS: u32 = 8;
const MIN_ACCEPTED: f64 = 0.1;

/// Each pace of a probe takes at most the time for so many entries, within these bounds in seconds. A very low pace may be due to an
/// estimate that is far too low, which a long probe would keep.
const ENTRIES: f64 = 120.0;
const MIN_SECONDS: f64 = 1.0;
const MAX_SECONDS: f64 = 5.0;

/// A call carries what so many seconds bring: many small calls are many trials.
const CALL_SECONDS: f64 = 0.01;
const MIN_CALL: f64 = 5.0;

/// A capacity that has fallen is at least this part of the estimate, less the suspected share of rejections divided by the other number:
/// few rejections are not the result of a far lower capacity.
const FALLEN: f64 = 0.9;
const FALLEN_SHARE: f64 = 0.4;

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

/// Two hypotheses about the share of rejections of one kind of trial, and what was observed.
#[derive(Debug, Clone, Copy)]
struct Hypotheses {
    /// The rejections go on: as they were, or at least this share …
    suspected: f64,
    least: f64,
    /// … or only what is known to be lost at any pace, if anything is.
    known: f64,
    /// The trials at this pace, and at the one before.
    trials: Trials,
    earlier: Trials,
}

impl Hypotheses {
    fn new(suspected: f64, known: f64) -> Self {
        let least = (CAUTION * suspected)
            .max(GROWN * known)
            .clamp(MIN_SUSPECTED, MAX_SUSPECTED);
        Self {
            suspected: suspected.clamp(least, MAX_SUSPECTED),
            least,
            known,
            trials: Trials::default(),
            earlier: Trials::default(),
        }
    }

    /// The same at another pace: a share that does not depend on the pace is about the same there.
    fn at_next_pace(self) -> Self {
        let least = self.least.max(STAYS * self.trials.share()).min(MAX_SUSPECTED);
        Self {
            suspected: self.suspected.max(least),
            least,
            earlier: self.trials,
            trials: Trials::default(),
            ..self
        }
    }

    /// The logarithm of the likelihood ratio: above zero if the rejections go on.
    fn evidence(&self) -> f64 {
        let high = self.trials.share().clamp(self.least, self.suspected);
        let low = self.low();
        self.trials.log_likelihood(high / low, (1.0 - high) / (1.0 - low))
    }

    /// The share that is rejected if the rejections depend on the pace.
    fn low(&self) -> f64 {
        if self.known > 0.0 {
            self.known
        } else {
            REMAINDER * self.least
        }
    }

    /// Whether the share has fallen with the pace.
    fn has_fallen(&self) -> bool {
        let all = self.all();
        let share = all.rejected / all.sent;
        let variance = share * (1.0 - share) * (1.0 / self.earlier.sent + 1.0 / self.trials.sent);
        self.earlier.share() - self.trials.share() > FALL_DEVIATIONS * variance.sqrt()
    }

    /// The trials at this pace and at the one before.
    fn all(&self) -> Trials {
        self.earlier.plus(self.trials)
    }
}

/// A probe under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    /// Entries a second.
    pub(super) pace: f64,
    /// Calls that leave from then on count: those before have left the service without capacity.
    counts_from: f64,
    trip: f64,
    /// Entries a second that were accepted when it began, or at the pace before.
    pub(super) accepted_rate: f64,
    /// Whether this is the first pace. The rejections went on at all before.
    is_first: bool,
    observed: Trials,
    answers: u32,
    calls: Option<Hypotheses>,
    entries: Option<Hypotheses>,
}

impl Probe {
    pub(super) fn new(now: f64, trip: f64, accepted_rate: f64, suspicion: Suspicion, known: Suspicion) -> Self {
        let hypotheses = |suspected: f64, known: f64| (suspected > 0.0).then(|| Hypotheses::new(suspected, known));
        Self {
            pace: PACE * accepted_rate,
            counts_from: now + trip,
            trip,
            accepted_rate,
            is_first: true,
            observed: Trials::default(),
            answers: 0,
            calls: hypotheses(suspicion.calls, known.calls),
            entries: hypotheses(suspicion.entries, known.entries),
        }
    }

    /// Whether a probe at this rate ends before it can find anything at its second pace.
    pub(super) fn is_too_slow(accepted_rate: f64) -> bool {
        PACE * PACE * accepted_rate * MAX_SECONDS < ENTRIES
    }

    /// Entries in a call.
    pub(super) fn call(&self) -> f64 {
        (CALL_SECONDS * self.pace).max(MIN_CALL)
    }

    fn kinds(&self) -> impl Iterator<Item = &Hypotheses> {
        self.calls.iter().chain(&self.entries)
    }

    /// A call was answered. Returns a finding if there is enough evidence, or no time left.
    pub(super) fn observe(&mut self, sent_at: f64, now: f64, trial: Evidence) -> Option<Finding> {
        if sent_at >= self.counts_from {
            self.observed = self.observed.plus(trial.all);
            self.answers += 1;
            for (kind, trials) in [(&mut self.calls, trial.calls), (&mut self.entries, trial.entries)] {
                if let Some(kind) = kind {
                    kind.trials = kind.trials.plus(trials);
                }
            }
        }
        let evidence: f64 = self.kinds().map(Hypotheses::evidence).sum();
        let is_enough = evidence.abs() >= ENOUGH && (evidence < 0.0 || self.answers >= MIN_ANSWERS);
        let max_seconds = (ENTRIES / self.pace).clamp(MIN_SECONDS, MAX_SECONDS);
        if !is_enough && now - self.counts_from < max_seconds {
            return None;
        }
        if evidence.abs() < UNDECIDED {
            return Some(Finding::Nothing);
        }
        if evidence <= 0.0 {
            return Some(Finding::Capacity);
        }
        if !self.is_first && !self.kinds().any(Hypotheses::has_fallen) {
            return Some(Finding::Loss);
        }
        // A capacity that has just fallen is far below what was accepted lately, but not below what is accepted now.
        let accepted = self.observed.not_rejected() / self.observed.sent.max(1.0);
        let rate = self.pace * accepted.max(MIN_ACCEPTED);
        *self = Self {
            is_first: false,
            calls: self.calls.map(Hypotheses::at_next_pace),
            entries: self.entries.map(Hypotheses::at_next_pace),
            ..Self::new(now, self.trip, rate, Suspicion::default(), Suspicion::default())
        };
        None
    }

    /// The capacity when it has fallen from this one.
    pub(super) fn fallen(&self, capacity: f64) -> f64 {
        let min = capacity * (FALLEN - self.suspected() / FALLEN_SHARE);
        self.accepted_rate.max(min).min(capacity)
    }

    /// The larger of the suspected shares.
    fn suspected(&self) -> f64 {
        self.kinds().map(|kind| kind.suspected).fold(0.0, f64::max)
    }

    /// Sets the baseline to what was measured.
    pub(super) fn apply(&self, finding: Finding, loss: &mut BaselineLoss) {
        for (kind, share) in [(self.calls, &mut loss.calls), (self.entries, &mut loss.entries)] {
            let Some(kind) = kind else { continue };
            match finding {
                Finding::Loss if kind.evidence() > 0.0 => share.set(kind.all()),
                Finding::Capacity if kind.known <= 0.0 => share.set(Trials::new(kind.all().sent, 0.0)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
