//! The search for a first estimate: a window of entries in flight that grows until more is rejected than is harmless.

use super::evidence::Observation;
use super::time::ASK_AGAIN;

/// Entries in the first call where many wait: the service may have saved no capacity for a burst.
const FIRST_CALL: f64 = 5.0;

/// The window doubles in this time, in seconds. At a round trip of 8 ms it grows by a quarter in each, so that the last step overshoots
/// by little.
const DOUBLING: f64 = 0.025;

/// Doublings in a round trip.
const MAX_DOUBLINGS: f64 = 1.0;
const MIN_DOUBLINGS: f64 = 1.0 / 8.0;

/// Up to this many entries the window grows eightfold with each round trip, if none was rejected: five entries, 40, 320. A load without a
/// limit has all of its calls in flight two round trips earlier, and what a small service rejects of 40 entries is little.
const EARLY_ENTRIES: f64 = 100.0;
const EARLY_DOUBLINGS: f64 = 3.0;

/// Up to this many entries the window doubles with each round trip: at a low pace that overshoots by little.
const FAST_ENTRIES: f64 = 500.0;

/// A share of rejections that the search does not end for: calls that are throttled at random.
const USUAL: f64 = 0.2;

/// The rejected calls beyond the usual share that end the search. A call that was rejected in part counts for twice its share: those that
/// are throttled at random are rejected as a whole.
const ENOUGH: f64 = 3.5;
const PARTIAL: f64 = 2.0;

/// A search in which rejections continue ends after this many seconds, if more than this share of its entries is rejected.
const MAX_SECONDS: f64 = 2.0;
const MAX_SHARE: f64 = 0.05;

/// After this many seconds without an answer rejections have not continued, and the service may have saved capacity meanwhile.
const PAUSE: f64 = 0.5;

/// From the first to the last of the rejections that end a search, and what was accepted in between.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) from: f64,
    pub(super) until: f64,
    pub(super) accepted: f64,
    /// Entries that were allowed in flight.
    pub(super) window: f64,
}

impl Span {
    /// A span of no time, in which nothing was measured.
    fn at(moment: f64, window: f64) -> Self {
        Self {
            from: moment,
            until: moment,
            accepted: 0.0,
            window,
        }
    }
}

/// When rejections began, with what was sent and rejected before.
#[derive(Debug, Clone, Copy)]
struct Rejections {
    since: f64,
    sent: f64,
    rejected: f64,
}

/// The search.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Entries that may be in flight; 0 until the first call shows how many it has.
    window: f64,
    sent: f64,
    rejected: f64,
    answered_at: Option<f64>,
    /// The rejections that continue.
    rejected_since: Option<Rejections>,
    /// Rejected calls beyond the usual share, and since when there are any.
    evidence: f64,
    span: Option<Span>,
}

impl Search {
    /// How many of `wanted` entries may leave while `in_flight` others are in flight, or how many seconds they wait.
    pub(super) fn admit(&mut self, wanted: f64, more: bool, in_flight: f64) -> Result<f64, f64> {
        if self.window <= 0.0 {
            self.window = if more { wanted.min(FIRST_CALL) } else { wanted };
        }
        if self.window - in_flight >= wanted {
            return Ok(wanted);
        }
        // One call is always in flight, however small the window is.
        if in_flight <= 0.0 {
            Ok(self.window)
        } else {
            Err(ASK_AGAIN)
        }
    }

    /// A call was answered while `in_flight` entries were in flight. Returns the time of the rejections if the search is over.
    /// They are `explained` while the same entries are rejected repeatedly.
    pub(super) fn observe(&mut self, answer: &Observation, in_flight: f64, trip: f64, explained: bool) -> Option<Span> {
        self.sent += answer.judged.sent;
        self.rejected += answer.judged.rejected;
        let has_paused = self.answered_at.is_some_and(|last| answer.now - last > PAUSE);
        self.answered_at = Some(answer.now);
        if has_paused || explained {
            self.rejected_since = None;
        }
        if answer.judged.rejected > 0.0 && !explained {
            self.rejected_since.get_or_insert(Rejections {
                since: answer.now,
                sent: self.sent - answer.judged.sent,
                rejected: self.rejected - answer.judged.rejected,
            });
        }
        self.collect(answer);
        if self.is_stuck(answer.now) || self.evidence >= ENOUGH {
            return Some(self.span.unwrap_or(Span::at(answer.seen_at, self.window)));
        }
        self.grow(answer, in_flight, trip);
        None
    }

    fn collect(&mut self, answer: &Observation) {
        let share = if answer.is_wholly_rejected() {
            1.0
        } else {
            (PARTIAL * answer.judged.share()).min(1.0)
        };
        self.evidence += share - USUAL;
        if self.evidence <= 0.0 {
            self.evidence = 0.0;
            self.span = None;
        }
        if answer.judged.rejected > 0.0 || self.span.is_some() {
            let span = self.span.get_or_insert(Span::at(answer.seen_at, self.window));
            // Answers do not come in the order in which the service saw the calls.
            if answer.seen_at > span.from {
                span.accepted += answer.accepted;
            }
            span.window = self.window;
            if answer.judged.rejected > 0.0 {
                span.until = span.until.max(answer.seen_at);
            }
        }
    }

    fn grow(&mut self, answer: &Observation, in_flight: f64, trip: f64) {
        // A window that is not used does not grow.
        if in_flight >= self.window / 2.0 {
            let doublings = if self.sent < EARLY_ENTRIES && self.rejected <= 0.0 {
                EARLY_DOUBLINGS
            } else if self.sent < FAST_ENTRIES {
                MAX_DOUBLINGS
            } else {
                (trip / DOUBLING).clamp(MIN_DOUBLINGS, MAX_DOUBLINGS)
            };
            self.window += answer.accepted * (doublings.exp2() - 1.0);
        }
        if self.rejected >= self.sent {
            self.window = (self.window / 2.0).max(1.0);
        }
    }

    /// Whether rejections have gone on for too long.
    fn is_stuck(&mut self, now: f64) -> bool {
        let Some(first) = self.rejected_since.filter(|first| now - first.since > MAX_SECONDS) else {
            return false;
        };
        self.rejected_since = None;
        self.rejected - first.rejected > MAX_SHARE * (self.sent - first.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answer, assert_about};
    use super::*;

    const TRIP: f64 = 0.01;

    /// A search of which every call so far was accepted, with this window.
    fn with_window(window: f64) -> Search {
        Search {
            window,
            sent: 1000.0,
            ..Search::default()
        }
    }

    /// The number of the call that ends a search, of calls with these rejections of 25, one every 10 ms.
    fn calls_until_the_end(mut search: Search, rejected: impl IntoIterator<Item = f64>) -> Option<u32> {
        let mut answers = (1_u32..).zip(rejected);
        let last = answers.find(|(call, rejected)| {
            let answer = answer(TRIP * f64::from(*call), *rejected);
            search.observe(&answer, 0.0, TRIP, false).is_some()
        });
        last.map(|(call, _)| call)
    }

    #[test]
    fn the_first_call_is_whole_or_has_five_entries_where_many_wait() {
        assert_eq!(Search::default().admit(25.0, false, 0.0), Ok(25.0));
        assert_eq!(Search::default().admit(25.0, true, 0.0), Ok(5.0));
        let mut search = with_window(30.0);
        assert_eq!(search.admit(25.0, true, 5.0), Ok(25.0));
        assert_eq!(search.admit(25.0, true, 6.0), Err(ASK_AGAIN));
        assert_eq!(search.admit(50.0, true, 0.0), Ok(30.0));
    }

    #[test]
    fn a_used_window_grows_eightfold_then_doubles_and_then_takes_25_milliseconds_for_that() {
        let grown = |sent, window, in_flight| {
            let mut search = Search {
                sent,
                ..with_window(window)
            };
            search.observe(&answer(1.0, 0.0), in_flight, TRIP, false);
            search.window - window
        };
        assert_about(grown(0.0, 5.0, 5.0), 7.0 * 25.0);
        assert_about(grown(200.0, 50.0, 50.0), 25.0);
        assert_about(grown(1000.0, 500.0, 500.0), 25.0 * (0.4_f64.exp2() - 1.0));
        assert_about(grown(1000.0, 500.0, 200.0), 0.0);
    }

    #[test]
    fn five_wholly_rejected_calls_end_it_and_as_many_of_which_half_is_rejected() {
        assert_eq!(calls_until_the_end(with_window(100.0), [25.0; 9]), Some(5));
        assert_eq!(calls_until_the_end(with_window(100.0), [12.5; 9]), Some(5));
        assert_eq!(calls_until_the_end(with_window(100.0), [6.0; 199]), Some(13));
    }

    #[test]
    fn one_in_ten_calls_at_random_and_two_entries_of_each_do_not_end_it() {
        let every_tenth = (0..190).map(|call| if call % 10 == 0 { 25.0 } else { 0.0 });
        assert_eq!(calls_until_the_end(with_window(100.0), every_tenth), None);
        assert_eq!(calls_until_the_end(with_window(100.0), [2.0; 190]), None);
    }

    #[test]
    fn it_tells_what_was_accepted_from_the_first_of_its_rejections_to_the_last() {
        let mut search = with_window(100.0);
        let mut spans = (1_u32..).map(|call| search.observe(&answer(f64::from(call), 20.0), 0.0, TRIP, false));
        let span = spans.find_map(|span| span).unwrap();
        assert_about(span.from, 0.995);
        assert_about(span.until, 4.995);
        assert_about(span.accepted, 4.0 * 5.0);
        assert_about(span.window, 100.0);
    }

    #[test]
    fn a_search_of_which_nothing_is_accepted_halves_its_window() {
        let mut search = Search::default();
        assert_eq!(search.admit(25.0, false, 0.0), Ok(25.0));
        search.observe(&answer(1.0, 25.0), 0.0, TRIP, false);
        assert_eq!(search.admit(25.0, false, 0.0), Ok(12.5));
    }

    /// Every tenth call is rejected, for ten seconds and more.
    fn ends(pause: f64, explained: bool) -> bool {
        let mut search = with_window(100.0);
        (0..100).any(|call| {
            let answer = answer(pause * f64::from(call), if call % 10 == 0 { 25.0 } else { 0.0 });
            search.observe(&answer, 0.0, TRIP, explained).is_some()
        })
    }

    #[test]
    fn rejections_that_go_on_end_it_however_much_was_accepted_before() {
        let search = Search {
            sent: 1e9,
            ..with_window(100.0)
        };
        assert_eq!(calls_until_the_end(search, [2.0; 250]), Some(201));
    }

    #[test]
    fn rejections_that_go_on_for_two_seconds_end_it_unless_they_are_explained_or_it_pauses() {
        assert!(ends(0.1, false));
        assert!(!ends(0.1, true));
        assert!(!ends(1.0, false));
    }
}
