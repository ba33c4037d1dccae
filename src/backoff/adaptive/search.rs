//! Before the capacity is known: a window of entries in flight that grows as long as more gets through.

use super::evidence::Evidence;
use super::latest::{Answer, Found, Latest};
use super::stuck::Stuck;

/// Entries in flight when a search begins after a rejection.
const FEW: f64 = 5.0;

/// The window doubles in this time, in seconds. At an ordinary round trip of 8 ms that is a quarter more with each, so that
/// the last step overshoots by little.
const DOUBLING: f64 = 0.025;

/// The window doubles in a round trip at the fastest. In eight it doubles at any rate: a step that small overshoots by little
/// however short the round trip is, and a service that answers at once need not be searched for long.
const MOST_DOUBLINGS: f64 = 1.0;
const LEAST_DOUBLINGS: f64 = 1.0 / 8.0;

/// What an answer adds to the window is reckoned for the usual round trip, but for at most so many times what its own call took: the
/// first calls may have been slow, and what is usual then is too long.
const USUAL_TRIPS: f64 = 2.0;

/// As long as nothing at all was rejected, and more than so many entries were sent but no more than in a [`LONG`] search, the
/// window doubles so many times as often. An empty bucket has rejected something by then unless its service takes many more, and
/// then the last step is still little of what it takes in a second. A service without limits is soon used in full.
const UNDISTURBED: f64 = 50.0;
const FASTER: f64 = 3.0;

/// The latest entries whose fate is compared with that of all: as many as are in flight, within these bounds. Fewer say
/// little, more take long.
const FEWEST: f64 = 30.0;
const MOST: f64 = 200.0;

/// When the share that gets through has fallen to this part of what it was, more does not get through. It is well below
/// what chance makes of [`FEWEST`] entries, also when three of ten are rejected whatever the pace.
const FALLEN: f64 = 0.6;

/// A smaller share of rejections before the end of a search is none, and among fewer entries nothing can be told.
const UNTOLD: f64 = 0.002;
const FEWEST_BEFORE: f64 = 100.0;

/// A search of more entries than this is long.
const LONG: f64 = 500.0;

/// Entries of which none gets through end the search at once when what was lost before makes that less likely than this.
/// The loss is taken to be within these bounds.
const UNLIKELY: f64 = 2e-3;
const LEAST_LOSS: f64 = 0.2;
const MOST_LOSS: f64 = 0.6;

/// Nobody searches who does not call for so long, in seconds.
const PAUSE: f64 = 0.5;

/// The search for a first estimate.
#[derive(Debug, Clone)]
pub(super) struct Search {
    /// Entries that may be in flight; 0 until the first waiter says how many make a call.
    window: f64,
    /// Not begun with a whole call.
    is_wary: bool,
    latest: Latest,
    sent: f64,
    accepted: f64,
    stuck: Stuck,
}

impl Search {
    /// Begins with one whole call: most deliveries are small, and a small call more would cost them a round trip.
    pub(super) fn new() -> Self {
        Self::with(0.0)
    }

    /// Begins anew with a few entries, after the first call was too large already: the bucket is empty.
    fn wary() -> Self {
        Self::from(FEW)
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
            latest: Latest::default(),
            sent: 0.0,
            accepted: 0.0,
            stuck: Stuck::default(),
        }
    }

    /// The share of rejections, when this search would never end.
    pub(super) fn is_stuck(&self, now: f64) -> Option<f64> {
        let share = 1.0 - self.latest.share();
        self.stuck.is_certain(now, self.is_long(), share).then_some(share)
    }

    /// Whether it has gone on for so long that the shares of rejections can be trusted.
    pub(super) fn is_long(&self) -> bool {
        self.sent > LONG
    }

    /// How many of `wanted` entries may leave while `in_flight` others are on their way.
    ///
    /// The first call is a whole one, as most deliveries are small. If many `more` wait it is a small one, as the bucket may be
    /// empty.
    pub(super) fn admits(&mut self, wanted: f64, more: bool, in_flight: f64) -> Option<f64> {
        if self.window <= 0.0 {
            self.window = if more { wanted.min(FEW) } else { wanted };
        }
        if self.window - in_flight >= wanted {
            Some(wanted)
        } else {
            // Something must be on its way, however small the window is.
            (in_flight <= 0.0).then_some(self.window)
        }
    }

    /// Hears of a call that was answered while `in_flight` entries were on their way. Tells when the search is over.
    ///
    /// Of the call `judged` entries count, of which so many were rejected.
    pub(super) fn observe(
        &mut self,
        evidence: &Evidence,
        (judged, rejected): (f64, f64),
        in_flight: f64,
        trip: f64,
    ) -> Option<Found> {
        if rejected > 0.0 && self.sent <= 0.0 && !self.is_wary {
            *self = Self::wary();
            return None;
        }
        let paused = self.latest.seen_at().is_none_or(|last| evidence.seen_at - last > PAUSE);
        let is_used = in_flight >= self.window / 2.0;
        self.stuck.hear(evidence.now, (judged, rejected), paused, is_used);
        if judged > 0.0 {
            self.keep(Answer {
                seen_at: evidence.seen_at,
                sent: judged,
                accepted: judged - rejected,
            });
        }
        if rejected > 0.0
            && self.is_over()
            && let Some(found) = self.found()
        {
            return Some(found);
        }
        // A window that is not used does not grow.
        if is_used {
            let faster = if self.is_undisturbed() { FASTER } else { 1.0 };
            let trip = trip.min(USUAL_TRIPS * (evidence.now - evidence.sent_at));
            let doublings = faster * (trip / DOUBLING).clamp(LEAST_DOUBLINGS, MOST_DOUBLINGS);
            self.window += evidence.accepted * (doublings.exp2() - 1.0);
        }
        None
    }

    fn keep(&mut self, answer: Answer) {
        self.sent += answer.sent;
        self.accepted += answer.accepted;
        self.latest.keep(answer, self.window.clamp(FEWEST, MOST));
    }

    /// Whether nothing was rejected ever since it began with a whole call.
    fn is_undisturbed(&self) -> bool {
        !self.is_wary && !self.is_long() && self.sent > UNDISTURBED && self.accepted >= self.sent
    }

    fn is_over(&self) -> bool {
        let sent_in_vain = self.latest.sent_in_vain();
        let share = self.latest.share();
        let usual = self.accepted / self.sent.max(1.0);
        let sent_before = self.sent - sent_in_vain;
        let loss = 1.0 - self.accepted / sent_before.max(self.accepted).max(1.0);
        let loss = if sent_before >= FEWEST { loss } else { LEAST_LOSS };
        // The longer it goes on, the more often what is unlikely has its chance.
        let unlikely = UNLIKELY * (FEWEST / self.sent.max(FEWEST));
        loss.clamp(LEAST_LOSS, MOST_LOSS).powf(sent_in_vain) < unlikely
            || (self.latest.sent() >= FEWEST && share < FALLEN * usual)
    }

    fn found(&self) -> Option<Found> {
        // Where some were rejected all along, a rejection or two do not tell that the bucket was empty.
        let sent_before = self.sent - self.latest.sent();
        let rejected_before = sent_before - (self.accepted - self.latest.accepted());
        let least = if sent_before > FEWEST_BEFORE && rejected_before > UNTOLD * sent_before {
            FALLEN * self.accepted / self.sent.max(1.0)
        } else {
            1.0
        };
        self.latest.found(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: f64 = 0.008;

    fn evidence(call: u32, sent: f64, rejected: f64) -> Evidence {
        let sent_at = f64::from(call) * TRIP;
        Evidence {
            sent_at,
            seen_at: sent_at + TRIP / 2.0,
            now: sent_at + TRIP,
            sent,
            accepted: sent - rejected,
            rejected,
            fresh: sent,
            fresh_rejected: rejected,
        }
    }

    fn observe(search: &mut Search, call: u32, sent: f64, rejected: f64, in_flight: f64, trip: f64) -> Option<Found> {
        search.observe(&evidence(call, sent, rejected), (sent, rejected), in_flight, trip)
    }

    #[test]
    fn a_window_that_is_used_grows_by_a_quarter_in_a_round_trip() {
        let mut search = Search::from(100.0);
        observe(&mut search, 0, 25.0, 0.0, 10.0, TRIP);
        assert_eq!(search.admits(100.0, true, 0.0), Some(100.0));
        for call in 0..4 {
            observe(&mut search, call, 25.0, 0.0, 100.0, TRIP);
        }
        assert!(search.window > 120.0 && search.window < 130.0, "{}", search.window);
    }

    #[test]
    fn a_window_does_not_leap_for_a_first_call_that_took_long() {
        let mut search = Search::from(100.0);
        for call in 0..4 {
            observe(&mut search, call, 25.0, 0.0, 100.0, 10.0 * TRIP);
        }
        assert!(search.window < 160.0, "{}", search.window);
    }

    #[test]
    fn a_window_doubles_in_eight_round_trips_however_short_they_are() {
        let mut search = Search::from(100.0);
        for call in 0..8 {
            let window = search.window;
            observe(&mut search, call, window, 0.0, window, TRIP / 100.0);
        }
        assert!((search.window - 200.0).abs() < 1e-6, "{}", search.window);
    }

    /// By how much a window grows in a round trip after calls of which so many entries were rejected.
    fn growth(mut search: Search, rejected: f64) -> f64 {
        for call in 0..10 {
            let in_flight = search.window;
            observe(&mut search, call, 25.0, rejected, in_flight, TRIP);
        }
        let window = search.window;
        observe(&mut search, 10, window, 0.0, window, TRIP);
        search.window / window
    }

    #[test]
    fn a_window_grows_faster_as_long_as_nothing_at_all_was_rejected() {
        assert!(growth(Search::new(), 0.0) > 1.9);
        assert!(growth(Search::new(), 1.0) < 1.3);
        assert!(growth(Search::from(25.0), 0.0) < 1.3);
    }

    #[test]
    fn something_is_always_on_its_way() {
        let mut search = Search::from(0.0);
        assert_eq!(search.admits(25.0, false, 0.0), Some(1.0));
        assert_eq!(search.admits(25.0, false, 1.0), None);
    }

    #[test]
    fn the_first_call_is_a_whole_one_and_if_that_was_too_much_a_few_follow() {
        let mut search = Search::new();
        assert_eq!(search.clone().admits(25.0, true, 0.0), Some(5.0));
        assert_eq!(search.admits(25.0, false, 0.0), Some(25.0));
        assert_eq!(search.admits(25.0, false, 25.0), None);
        assert!(observe(&mut search, 0, 25.0, 1.0, 25.0, TRIP).is_none());
        assert_eq!(search.admits(25.0, false, 0.0), Some(5.0));
    }

    #[test]
    fn it_ends_when_nothing_gets_through() {
        let mut search = Search::from(5.0);
        let found = observe(&mut search, 0, 5.0, 5.0, 5.0, TRIP);
        assert!(found.is_some_and(|found| found.accepted.abs() < 1e-9));
    }

    #[test]
    fn it_does_not_end_at_rejections_that_stay_as_they_are() {
        let mut search = Search::new();
        for call in 0..1000 {
            let rejected = [6.0, 9.0, 8.0][call as usize % 3];
            let in_flight = search.window;
            assert_eq!(observe(&mut search, call, 25.0, rejected, in_flight, TRIP), None);
        }
    }

    #[test]
    fn rejections_that_stay_as_they_are_for_long_are_reported() {
        let mut search = Search::new();
        for call in 0..300 {
            let in_flight = search.window;
            observe(&mut search, call, 25.0, 8.0, in_flight, TRIP);
        }
        assert!(search.is_stuck(1.9).is_none());
        assert!(search.is_stuck(2.1).is_some_and(|share| (share - 0.32).abs() < 1e-9));
    }

    #[test]
    fn a_window_that_the_workers_do_not_use_is_reported_soon() {
        let mut search = Search::from(1000.0);
        for call in 0..10 {
            observe(&mut search, call, 25.0, 8.0, 25.0, TRIP);
        }
        assert!(search.is_stuck(10.0 * TRIP).is_some());
    }

    #[test]
    fn it_ends_when_more_does_not_get_through_and_tells_how_much_did() {
        let mut search = Search::from(25.0);
        for call in 0..10 {
            assert_eq!(observe(&mut search, call, 25.0, 0.0, 25.0, TRIP), None);
        }
        let found = (10..20).find_map(|call| observe(&mut search, call, 25.0, 17.0, 25.0, TRIP));
        let found = found.unwrap();
        let rate = found.accepted / (found.until - found.from);
        assert!((rate - 8.0 / TRIP).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn single_entries_in_vain_do_not_end_a_long_search() {
        let mut search = Search::new();
        for call in 0..1000 {
            observe(&mut search, call, 25.0, 7.0, 25.0, TRIP);
        }
        for call in 1000..1008 {
            assert_eq!(observe(&mut search, call, 1.0, 1.0, 1.0, TRIP), None);
        }
    }
}
