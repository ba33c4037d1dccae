//! The search for a first estimate: a window of entries in flight that grows as long as more is accepted.

use super::announced::Announced;
use super::answer::{Answer, Trial};
use super::baseline_loss::Suspicion;

/// Entries in the first call where many wait: the service may have no burst to spend.
const FEW: f64 = 5.0;

/// The window doubles in this time, in seconds. At a round trip of 8 ms that is a quarter more with each, so that the last
/// step overshoots by little.
const DOUBLING: f64 = 0.025;

/// The window doubles in a round trip at the fastest, and in eight at any rate.
const MOST_DOUBLINGS: f64 = 1.0;
const LEAST_DOUBLINGS: f64 = 1.0 / 8.0;

/// A search of more entries is long: a higher pace may overshoot by much.
const LONG: f64 = 500.0;

/// What an answer adds to the window follows the usual round trip, but at most so many times what its own call took: the
/// first calls of a connection are slow.
const USUAL_TRIPS: f64 = 2.0;

/// More is not accepted when this part of the usual share is, rather than all of it.
const FALLEN: f64 = 0.5;

/// The evidence of that which is enough, as the logarithm of a likelihood ratio (Page's CUSUM): chance alone reaches it once in at
/// least e^7 calls, about a thousand. With 6 loads of which 49% of the calls are rejected take 4.9 instead of 3.0 times as long; with 8
/// a table that rejects whole calls rejects 3.3 instead of 2.8%.
const ENOUGH: f64 = 7.0;

/// One call brings so much evidence at most: its entries may have been rejected for one reason.
const MOST_EVIDENCE: f64 = 2.5;

/// The share of rejections that is usual at least, and before anything is known, as so many trials; and the most that is. If a share of
/// 0.1 can be usual, chance ends more searches: loads of which 45% of the calls are rejected take 10 instead of 3.1 times as long.
/// If 0.6 can be, a table that announced ten times its throughput rejects 8.9 instead of 7.5% at the start.
const LEAST_USUAL: f64 = 0.2;
const ASSUMED_TRIALS: f64 = 10.0;
const MOST_USUAL: f64 = 0.5;

/// The share is compared with that of windows smaller by this factor. With 1.25 a table that rejects whole calls rejects 3.8 instead of
/// 2.8%, with 2 loads of which 45% of the calls are rejected take 4.4 instead of 3.1 times as long.
const STEP: f64 = 1.5;

/// Until there are so many entries, all are usual whatever became of them. With none, loads of which 45% of the entries are rejected take 5.7
/// instead of 2.6 times as long.
const FIRST: f64 = 20.0;

/// A search with rejections ends after so many seconds at the latest, if more than this share of its entries is rejected.
const LONGEST: f64 = 2.0;
const STUCK_SHARE: f64 = 0.05;

/// After so many seconds without an answer rejections have not gone on, and the service may have saved capacity meanwhile.
const PAUSE: f64 = 0.5;

/// How a search ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    /// More than that is not accepted: so many entries from the first to the last of the latest rejections.
    Knee { from: f64, until: f64, accepted: f64 },
    /// Rejections go on, and whether they depend on the pace cannot be told by a higher one.
    Stuck,
}

/// Trials, and how many of them were rejected.
#[derive(Debug, Clone, Copy, Default)]
struct Trials {
    all: f64,
    rejected: f64,
}

/// Whether the share of rejections of one kind of trial has risen with the window.
#[derive(Debug, Clone, Copy, Default)]
struct Rise {
    so_far: Trials,
    /// What there was when the window reached its latest step, and the step before.
    at_step: Trials,
    usual: Trials,
    step: f64,
    /// So many trials are usual, whatever became of them.
    first: f64,
    evidence: Evidence,
}

/// Evidence of a rise, added up.
#[derive(Debug, Clone, Copy, Default)]
struct Evidence {
    sum: f64,
    /// The first and the last rejection since the sum was zero, and what was accepted in between.
    from: Option<f64>,
    until: f64,
    accepted: f64,
}

impl Rise {
    fn usual(&self) -> f64 {
        let Trials { all, rejected } = self.usual;
        let share = (rejected + LEAST_USUAL * ASSUMED_TRIALS) / (all + ASSUMED_TRIALS);
        share.clamp(LEAST_USUAL, MOST_USUAL)
    }

    /// Hears of the trials of a call at this window. Whether the evidence is enough.
    fn hear(&mut self, answer: &Answer, (trials, rejected): (f64, f64), window: f64) -> bool {
        self.learn(window);
        self.so_far.all += trials;
        self.so_far.rejected += rejected;
        let usual = self.usual();
        let risen = 1.0 - FALLEN * (1.0 - usual);
        let evidence = rejected * (risen / usual).ln() + (trials - rejected) * FALLEN.ln();
        self.evidence.add(evidence.clamp(-MOST_EVIDENCE, MOST_EVIDENCE), answer)
    }

    /// What was rejected at clearly smaller windows is usual. The latest trials say nothing of that: where a streak of rejections is
    /// left out of what is usual because it looks like a rise, the next looks like one all the more.
    fn learn(&mut self, window: f64) {
        if window >= STEP * self.step {
            self.step = window;
            self.usual = self.at_step;
            self.at_step = self.so_far;
        }
        if self.so_far.all < self.first {
            self.usual = self.so_far;
            self.at_step = self.so_far;
        }
    }
}

impl Evidence {
    /// Adds what an answer brings. Whether it is enough.
    fn add(&mut self, evidence: f64, answer: &Answer) -> bool {
        self.sum += evidence;
        if self.sum <= 0.0 {
            *self = Self::default();
            return false;
        }
        // Answers do not come in the order in which the service saw the calls.
        if self.from.is_some_and(|from| answer.seen_at > from) {
            self.accepted += answer.accepted;
        }
        if answer.rejected > 0.0 {
            self.from.get_or_insert(answer.seen_at);
            self.until = self.until.max(answer.seen_at);
        }
        self.sum >= ENOUGH
    }

    fn knee(&self) -> Option<End> {
        self.from.map(|from| End::Knee {
            from,
            until: self.until,
            accepted: self.accepted,
        })
    }
}

/// The search.
#[derive(Debug)]
pub(super) struct Search {
    /// Entries that may be in flight; 0 until the first call says how many it has.
    window: f64,
    /// The pace that the service announced, until something is rejected.
    announced: Option<Announced>,
    calls: Rise,
    entries: Rise,
    sent: f64,
    accepted: f64,
    answered_at: Option<f64>,
    rejected_since: Option<f64>,
}

impl Search {
    /// Begins with one whole call: most deliveries are small.
    pub(super) fn new() -> Self {
        Self {
            window: 0.0,
            announced: None,
            calls: Rise::default(),
            entries: Rise {
                first: FIRST,
                ..Rise::default()
            },
            sent: 0.0,
            accepted: 0.0,
            answered_at: None,
            rejected_since: None,
        }
    }

    /// Begins with that many entries in flight, at least one.
    pub(super) fn from(window: f64) -> Self {
        Self {
            window: window.max(1.0),
            ..Self::new()
        }
    }

    /// The share of rejections that goes on at any pace, as far as the search could tell: of calls if mostly whole ones were
    /// rejected, or of entries.
    pub(super) fn suspicion(&self) -> Suspicion {
        let Trials { all, rejected } = self.calls.so_far;
        let calls = rejected / all.max(1.0);
        let entries = self.loss();
        if calls > 0.5 * entries {
            Suspicion { calls, entries: 0.0 }
        } else {
            Suspicion { calls: 0.0, entries }
        }
    }

    /// The share of rejections so far.
    pub(super) fn loss(&self) -> f64 {
        1.0 - self.accepted / self.sent.max(1.0)
    }

    /// How many of `wanted` entries may leave while `in_flight` others are on their way.
    pub(super) fn admits(&mut self, wanted: f64, more: bool, in_flight: f64) -> Option<f64> {
        if self.window <= 0.0 {
            self.window = if more { wanted.min(FEW) } else { wanted };
        }
        if self.window - in_flight >= wanted {
            Some(wanted)
        } else {
            // One call is always on its way, however small the window is.
            (in_flight <= 0.0).then_some(self.window)
        }
    }

    /// Begins at a pace that the service announced, unless something was heard of it.
    pub(super) fn begin_at(&mut self, pace: f64) {
        if self.announced.is_none() && self.answered_at.is_none() {
            self.announced = Some(Announced::new(pace));
        }
    }

    /// How many of `wanted` entries may leave all the same when the window is used up, or for how many seconds they wait.
    pub(super) fn admits_as_announced(&mut self, wanted: f64, now: f64) -> Result<f64, f64> {
        let wait = self.announced.as_mut().map(|announced| announced.wait(now));
        wait.unwrap_or(Some(f64::INFINITY)).map_or(Ok(wanted), Err)
    }

    pub(super) fn departs(&mut self, entries: f64, now: f64) {
        if let Some(announced) = &mut self.announced {
            announced.spend(entries, now);
        }
    }

    /// Hears of a call that was answered while `in_flight` entries were on their way, and of which `trial` counts. The rejections
    /// are `explained` where the same entries are rejected again and again.
    pub(super) fn hear(
        &mut self,
        answer: &Answer,
        trial: Trial,
        in_flight: f64,
        trip: f64,
        explained: bool,
    ) -> Option<End> {
        let Trial { sent, rejected, .. } = trial;
        if rejected > 0.0 {
            self.announced = None;
        } else if self.announced.is_some() {
            self.window = self.window.max(in_flight);
        }
        let is_used = in_flight >= self.window / 2.0;
        self.sent += sent;
        self.accepted += sent - rejected;
        let has_paused = self.answered_at.is_some_and(|last| answer.now - last > PAUSE);
        self.answered_at = Some(answer.now);
        if has_paused || explained {
            self.rejected_since = None;
        }
        if rejected > 0.0 && !explained {
            self.rejected_since.get_or_insert(answer.now);
        }
        let of_calls = self.calls.hear(answer, trial.calls(), self.window);
        if self.entries.hear(answer, trial.entries(), self.window) {
            return self.entries.evidence.knee();
        }
        if of_calls {
            return self.calls.evidence.knee();
        }
        if self.is_stuck(answer.now) {
            return Some(End::Stuck);
        }
        // A window that is not used does not grow.
        if is_used {
            // At first the window doubles with each round trip: an overshoot is one round trip long.
            let is_short = self.sent < LONG;
            let trip = trip.min(USUAL_TRIPS * (answer.now - answer.sent_at));
            let doublings = if is_short {
                MOST_DOUBLINGS
            } else {
                (trip / DOUBLING).clamp(LEAST_DOUBLINGS, MOST_DOUBLINGS)
            };
            self.window += answer.accepted * (doublings.exp2() - 1.0);
        }
        if self.accepted <= 0.0 {
            self.window = (self.window / 2.0).max(1.0);
        }
        None
    }

    /// Whether rejections have gone on for too long.
    fn is_stuck(&self, now: f64) -> bool {
        self.rejected_since.is_some_and(|since| now - since > LONGEST) && self.loss() > STUCK_SHARE
    }
}

#[cfg(test)]
mod tests;
