//! The search for a first estimate: a window of entries in flight that grows as long as more is accepted.

use std::collections::VecDeque;

use super::answer::{Answer, Trial};
use super::count::reckoned;

/// Entries in flight when a search begins after a rejection: the service has no burst to spend.
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

/// The latest entries whose fate is compared with that of all: as many as are in flight, within these bounds …
const FEWEST: f64 = 40.0;
const MOST: f64 = 200.0;

/// … and so many calls, where whole calls were rejected.
const FEWEST_CALLS: f64 = 12.0;

/// When the share that is accepted has fallen to this part of what it was, more is not accepted.
const FALLEN: f64 = 0.6;

/// The share that is accepted is taken to be this until it is known.
const ASSUMED: f64 = 0.8;

/// Calls in a row of which nothing was accepted end a search when the losses of before make that less likely than this. The
/// loss of calls is taken to be within these bounds.
const UNLIKELY: f64 = 2e-3;
const LEAST_LOSS: f64 = 0.2;
const MOST_LOSS: f64 = 0.6;

/// A search that cannot go any faster ends after so many entries of calls in a row that each had some rejected, if that is more
/// than this share: four whole calls to a table.
const STUCK: f64 = 100.0;
const STUCK_SHARE: f64 = 0.05;

/// A search with rejections ends after so many seconds at the latest.
const LONGEST: f64 = 2.0;

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

/// The search.
#[derive(Debug, Clone)]
pub(super) struct Search {
    /// Entries that may be in flight; 0 until the first call says how many it has.
    window: f64,
    /// It did not begin with a whole call.
    is_wary: bool,
    latest: VecDeque<Answer>,
    sent: f64,
    accepted: f64,
    calls: f64,
    rejected_calls: f64,
    rejected_since: Option<f64>,
    /// Entries of the latest calls that each had some rejected while the window was not the limit.
    unused: f64,
}

impl Search {
    /// Begins with one whole call: most deliveries are small.
    pub(super) fn new() -> Self {
        Self::with(0.0)
    }

    /// Begins with that many entries in flight, at least one.
    pub(super) fn from(window: f64) -> Self {
        Self {
            is_wary: true,
            ..Self::with(window.max(1.0))
        }
    }

    fn with(window: f64) -> Self {
        Self {
            window,
            is_wary: false,
            latest: VecDeque::new(),
            sent: 0.0,
            accepted: 0.0,
            calls: 0.0,
            rejected_calls: 0.0,
            rejected_since: None,
            unused: 0.0,
        }
    }

    /// Calls of before the latest ones, and how many of them were rejected as a whole.
    pub(super) fn whole_calls(&self) -> (f64, f64) {
        let latest = reckoned(self.latest.len());
        let rejected = self.latest.iter().filter(|answer| answer.is_wholly_rejected());
        (self.calls - latest, self.rejected_calls - reckoned(rejected.count()))
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

    /// Hears of a call that was answered while `in_flight` entries were on their way, and of which `trial` counts.
    pub(super) fn hear(&mut self, answer: &Answer, trial: Trial, in_flight: f64, trip: f64) -> Option<End> {
        let Trial { sent, rejected, .. } = trial;
        if rejected > 0.0 && self.sent <= 0.0 && !self.is_wary {
            *self = Self::from(FEW);
            return None;
        }
        let is_used = in_flight >= self.window / 2.0;
        self.keep(&Answer {
            sent,
            accepted: sent - rejected,
            rejected,
            ..*answer
        });
        if rejected > 0.0 {
            self.rejected_since.get_or_insert(answer.now);
            if self.is_over()
                && let Some(knee) = self.knee()
            {
                return Some(knee);
            }
        }
        if self.is_stuck(answer, trial, is_used) {
            return Some(End::Stuck);
        }
        // A window that is not used does not grow.
        if is_used {
            // At first, as long as nothing at all was rejected, the window doubles with each round trip: an overshoot is one round trip long.
            let is_undisturbed = !self.is_wary && self.sent < LONG && self.accepted >= self.sent;
            let trip = trip.min(USUAL_TRIPS * (answer.now - answer.sent_at));
            let doublings = if is_undisturbed {
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

    fn keep(&mut self, answer: &Answer) {
        if answer.sent <= 0.0 {
            return;
        }
        self.sent += answer.sent;
        self.accepted += answer.accepted;
        self.calls += 1.0;
        self.rejected_calls += f64::from(u8::from(answer.is_wholly_rejected()));
        self.latest.push_back(*answer);
        let enough = self.window.clamp(FEWEST, MOST);
        let mut sent: f64 = self.latest.iter().map(|answer| answer.sent).sum();
        while let Some(oldest) = self.latest.front()
            && sent - oldest.sent >= enough
            && (reckoned(self.latest.len()) > FEWEST_CALLS || self.rejected_calls <= 0.0)
        {
            sent -= oldest.sent;
            self.latest.pop_front();
        }
    }

    /// Whether more is not accepted.
    fn is_over(&self) -> bool {
        let in_vain = self.latest.iter().rev().take_while(|answer| answer.accepted <= 0.0);
        let in_vain = reckoned(in_vain.count());
        let before = self.calls - in_vain;
        let loss = if before >= FEWEST_CALLS {
            (self.rejected_calls - in_vain) / before
        } else {
            LEAST_LOSS
        };
        // The longer it goes on, the more often what is unlikely has its chance.
        let unlikely = UNLIKELY * (FEWEST / self.sent.max(FEWEST));
        if loss.clamp(LEAST_LOSS, MOST_LOSS).powf(in_vain) < unlikely {
            return true;
        }
        let sent: f64 = self.latest.iter().map(|answer| answer.sent).sum();
        let accepted: f64 = self.latest.iter().map(|answer| answer.accepted).sum();
        let whole = self.latest.iter().any(Answer::is_wholly_rejected);
        let is_enough = sent >= FEWEST && (!whole || reckoned(self.latest.len()) >= FEWEST_CALLS);
        let before = self.sent - sent;
        let is_known = before >= FEWEST && (self.rejected_calls <= 0.0 || self.calls >= 2.0 * FEWEST_CALLS);
        let usual = if is_known {
            (self.accepted - accepted) / before
        } else {
            ASSUMED
        };
        is_enough && accepted / sent < FALLEN * usual
    }

    /// What was accepted between the first and the last of the latest rejections.
    fn knee(&self) -> Option<End> {
        let mut rejections = self
            .latest
            .iter()
            .filter(|answer| answer.rejected > 0.0)
            .map(|answer| answer.seen_at);
        let from = rejections.next()?;
        let until = rejections.fold(from, f64::max);
        // Answers do not come in the order in which the service saw the calls.
        let after = self.latest.iter().filter(|answer| answer.seen_at > from);
        let accepted = after.map(|answer| answer.accepted).sum();
        Some(End::Knee { from, until, accepted })
    }

    /// Whether rejections go on while the search cannot go any faster, or for too long.
    fn is_stuck(&mut self, answer: &Answer, trial: Trial, is_used: bool) -> bool {
        let paused = self.latest.len() > 1
            && self
                .latest
                .get(self.latest.len() - 2)
                .is_some_and(|last| answer.now - last.now > PAUSE);
        if paused {
            self.rejected_since = None;
        }
        // A call of retries alone says nothing.
        if trial.sent > 0.0 {
            let is_partly_rejected = trial.rejected > 0.0 && !trial.is_whole();
            let counts = is_partly_rejected && !is_used && !paused;
            self.unused = if counts { self.unused + trial.sent } else { 0.0 };
        }
        let unused = self.unused >= STUCK;
        let long = self.rejected_since.is_some_and(|since| answer.now - since > LONGEST);
        (unused || long) && self.loss() > STUCK_SHARE
    }
}
