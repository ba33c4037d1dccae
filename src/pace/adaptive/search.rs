//! The search for a first estimate: a window of entries in flight that grows while no larger share is rejected.

use super::evidence::{Cusum, Evidence, Observation, Trials};
use super::loss::Suspicion;
use super::time::{ASK_AGAIN, BURST, TokenBucket};

/// Entries in the first call where many wait: the service may have saved no capacity for a burst.
const FIRST_CALL: f64 = 5.0;

/// The window doubles in this time, in seconds. At a round trip of 8 ms it grows by a quarter in each, so that the last step overshoots
/// by little.
const DOUBLING: f64 = 0.025;

/// Doublings in a round trip.
const MAX_DOUBLINGS: f64 = 1.0;
const MIN_DOUBLINGS: f64 = 1.0 / 8.0;

/// Up to so many entries the window grows eightfold with each round trip, if none was rejected: five entries, 40, 320. A load without a
/// limit has all of its calls in flight two round trips earlier, and what a small service rejects of 40 entries is little.
const EARLY_ENTRIES: f64 = 100.0;
const EARLY_DOUBLINGS: f64 = 3.0;

/// Up to so many entries the window doubles with each round trip: at a low pace that overshoots by little.
const FAST_ENTRIES: f64 = 500.0;

/// For the growth by one answer the usual round trip counts, but at most so many times what its own call took: the first calls of a
/// connection are slow.
const MAX_TRIPS: f64 = 2.0;

/// The window is too large if this part of the usual share is accepted.
const FALLEN: f64 = 0.5;

/// The evidence of that which ends the search, as the logarithm of a likelihood ratio: chance alone reaches it once in at least e^7 calls,
/// about a thousand. With 6 more loads with random rejections end early, with 8 the overshoot is larger.
const ENOUGH: f64 = 7.0;

/// One call is so much evidence at most: its entries may have been rejected for one reason.
const MAX_EVIDENCE: f64 = 2.5;

/// Bounds of the usual share of rejections; the lower one is assumed at first, as so many trials. With a smaller one chance ends more
/// searches, and with a larger one the overshoot is larger.
const MIN_USUAL: f64 = 0.2;
const ASSUMED_TRIALS: f64 = 10.0;
const MAX_USUAL: f64 = 0.5;

/// The share is compared with that of windows smaller by this factor. With a smaller factor the overshoot is larger, and with a larger
/// one chance ends more searches.
const STEP: f64 = 1.5;

/// So many entries count as usual, whatever became of them.
const FIRST_ENTRIES: f64 = 20.0;

/// A search in which rejections go on ends after so many seconds, if more than this share of its entries is rejected.
const MAX_SECONDS: f64 = 2.0;
const MAX_LOSS: f64 = 0.05;

/// It ends after so many round trips if more than this share is rejected and the window is not used meanwhile: the load is held by
/// something else, such as the number of calls in flight, and a window that does not grow tells nothing. Less is left to the time above,
/// as a probe costs a load with random rejections more than that.
const MAX_UNUSED_TRIPS: f64 = 10.0;
const MAX_UNUSED_LOSS: f64 = 0.2;

/// After so many seconds without an answer rejections have not gone on, and the service may have saved capacity meanwhile.
const PAUSE: f64 = 0.5;

/// How a search ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    /// Not more than this is accepted.
    Knee(Span),
    /// Rejections go on, and a larger window does not tell whether they depend on the pace.
    Stuck,
}

/// Whether the share of rejections of one kind of trial has risen with the window.
#[derive(Debug, Clone, Copy, Default)]
struct Rise {
    so_far: Trials,
    /// The trials before the latest step of the window, and before the step ahead of it.
    at_step: Trials,
    usual: Trials,
    step: f64,
    /// So many trials are usual, whatever became of them.
    first: f64,
    evidence: Cusum<Option<Span>>,
}

/// The first and the last of the latest rejections, and what was accepted in between.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) from: f64,
    pub(super) until: f64,
    pub(super) accepted: f64,
}

impl Rise {
    fn usual_share(&self) -> f64 {
        let Trials { sent, rejected } = self.usual;
        let share = (rejected + MIN_USUAL * ASSUMED_TRIALS) / (sent + ASSUMED_TRIALS);
        share.clamp(MIN_USUAL, MAX_USUAL)
    }

    /// Adds the trials of a call at this window. Returns the latest rejections if the evidence is enough.
    fn observe(&mut self, answer: &Observation, trials: Trials, window: f64) -> Option<Span> {
        self.step_to(window);
        self.so_far = self.so_far.plus(trials);
        let usual = self.usual_share();
        let risen = 1.0 - FALLEN * (1.0 - usual);
        let evidence = trials.log_likelihood(risen / usual, FALLEN);
        let span = self.evidence.add(evidence.clamp(-MAX_EVIDENCE, MAX_EVIDENCE))?;
        // Answers do not come in the order in which the service saw the calls.
        if let Some(span) = span
            && answer.seen_at > span.from
        {
            span.accepted += answer.accepted;
        }
        if answer.all.rejected > 0.0 {
            let span = span.get_or_insert(Span {
                from: answer.seen_at,
                until: 0.0,
                accepted: 0.0,
            });
            span.until = span.until.max(answer.seen_at);
        }
        self.evidence.since.filter(|_| self.evidence.sum >= ENOUGH)
    }

    /// What was rejected at clearly smaller windows is usual. If recent rejections were left out because they look like a rise, the next
    /// ones would look like one all the more.
    fn step_to(&mut self, window: f64) {
        if window >= STEP * self.step {
            self.step = window;
            self.usual = self.at_step;
            self.at_step = self.so_far;
        }
        if self.so_far.sent < self.first {
            self.usual = self.so_far;
            self.at_step = self.so_far;
        }
    }
}

/// The pace that the service announced, at which calls leave though the window is used up. One that is too low makes no difference, and
/// one that is too high ends with the first rejection, a round trip later.
#[derive(Debug)]
struct AnnouncedPace {
    /// Units a second.
    pace: f64,
    /// Empty when the first call leaves, whenever the pace was announced.
    bucket: Option<TokenBucket>,
}

impl AnnouncedPace {
    fn bucket(&mut self, now: f64) -> &mut TokenBucket {
        self.bucket.get_or_insert_with(|| TokenBucket::empty(now))
    }
}

/// The search.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Entries that may be in flight; 0 until the first call tells how many it has.
    window: f64,
    /// Until something is rejected.
    announced: Option<AnnouncedPace>,
    calls: Rise,
    entries: Rise,
    all: Trials,
    answered_at: Option<f64>,
    rejected_since: Option<f64>,
    unused: Option<Unused>,
}

/// The time in which rejections have gone on and the window was not used.
#[derive(Debug, Clone, Copy)]
struct Unused {
    since: f64,
    all: Trials,
}

impl Search {
    /// Begins with one whole call, as most deliveries are small, or with five entries where many wait.
    pub(super) fn new() -> Self {
        let mut search = Self::default();
        search.entries.first = FIRST_ENTRIES;
        search
    }

    /// Begins with this window, at least one entry.
    pub(super) fn from(window: f64) -> Self {
        Self {
            window: window.max(1.0),
            ..Self::new()
        }
    }

    /// The share of rejections that does not depend on the pace, as far as the search can tell: of calls if mostly whole ones were
    /// rejected, otherwise of entries.
    pub(super) fn suspicion(&self) -> Suspicion {
        let calls = self.calls.so_far.share();
        let entries = self.loss();
        if calls > 0.5 * entries {
            Suspicion { calls, entries: 0.0 }
        } else {
            Suspicion { calls: 0.0, entries }
        }
    }

    /// The share of rejections so far.
    pub(super) fn loss(&self) -> f64 {
        self.all.share()
    }

    /// Begins at a pace that the service announced, unless there was an answer.
    pub(super) fn announce(&mut self, pace: f64) {
        if self.announced.is_none() && self.answered_at.is_none() {
            self.announced = Some(AnnouncedPace { pace, bucket: None });
        }
    }

    /// How many of `wanted` entries may leave while `in_flight` others are in flight, or how many seconds they wait.
    pub(super) fn admit(&mut self, wanted: f64, more: bool, in_flight: f64, now: f64) -> Result<f64, f64> {
        if self.window <= 0.0 {
            self.window = if more { wanted.min(FIRST_CALL) } else { wanted };
        }
        if self.window - in_flight >= wanted {
            return Ok(wanted);
        }
        // One call is always in flight, however small the window is.
        if in_flight <= 0.0 {
            return Ok(self.window);
        }
        let Some(announced) = &mut self.announced else {
            return Err(ASK_AGAIN);
        };
        let pace = announced.pace;
        let bucket = announced.bucket(now);
        bucket.earn(now, pace, BURST);
        bucket.wait(pace).map_or(Ok(wanted), Err)
    }

    pub(super) fn depart(&mut self, entries: f64, now: f64) {
        if let Some(announced) = &mut self.announced {
            announced.bucket(now).spend(entries);
        }
    }

    /// A call was answered while `in_flight` entries were in flight, and `trial` is what counts of it. Rejections are `explained` while
    /// the same entries are rejected again and again.
    pub(super) fn observe(
        &mut self,
        answer: &Observation,
        trial: Evidence,
        in_flight: f64,
        trip: f64,
        explained: bool,
    ) -> Option<End> {
        let is_rejected = trial.all.rejected > 0.0;
        if is_rejected {
            self.announced = None;
        } else if self.announced.is_some() {
            self.window = self.window.max(in_flight);
        }
        let is_used = in_flight >= self.window / 2.0;
        self.all = self.all.plus(trial.all);
        let has_paused = self.answered_at.is_some_and(|last| answer.now - last > PAUSE);
        self.answered_at = Some(answer.now);
        if has_paused || explained {
            self.rejected_since = None;
        }
        if is_rejected && !explained {
            self.rejected_since.get_or_insert(answer.now);
        }
        let of_calls = self.calls.observe(answer, trial.calls, self.window);
        let of_entries = self.entries.observe(answer, trial.entries, self.window);
        if let Some(span) = of_entries.or(of_calls) {
            return Some(End::Knee(span));
        }
        if self.is_stuck(answer.now) || self.is_held(answer.now, trial.all, is_used, trip) {
            return Some(End::Stuck);
        }
        // A window that is not used does not grow.
        if is_used {
            let trip = trip.min(MAX_TRIPS * (answer.now - answer.sent_at));
            let doublings = if self.all.sent < EARLY_ENTRIES && self.all.rejected <= 0.0 {
                EARLY_DOUBLINGS
            } else if self.all.sent < FAST_ENTRIES {
                MAX_DOUBLINGS
            } else {
                (trip / DOUBLING).clamp(MIN_DOUBLINGS, MAX_DOUBLINGS)
            };
            self.window += answer.accepted * (doublings.exp2() - 1.0);
        }
        if self.all.not_rejected() <= 0.0 {
            self.window = (self.window / 2.0).max(1.0);
        }
        None
    }

    /// Whether rejections go on while the load is held by something else than the window.
    fn is_held(&mut self, now: f64, all: Trials, is_used: bool, trip: f64) -> bool {
        if is_used || self.rejected_since.is_none() {
            self.unused = None;
            return false;
        }
        let unused = self.unused.get_or_insert(Unused {
            since: now,
            all: Trials::default(),
        });
        unused.all = unused.all.plus(all);
        now - unused.since > MAX_UNUSED_TRIPS * trip && unused.all.share() > MAX_UNUSED_LOSS
    }

    /// Whether rejections have gone on for too long.
    fn is_stuck(&self, now: f64) -> bool {
        self.rejected_since.is_some_and(|since| now - since > MAX_SECONDS) && self.loss() > MAX_LOSS
    }
}

#[cfg(test)]
mod tests;
