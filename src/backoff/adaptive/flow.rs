//! The calls in flight, and what their answers tell of time.

use std::time::Instant;

use super::answer::Answer;
use super::clock::Clock;
use super::count::reckoned;
use super::recent::Recent;
use super::round_trip::RoundTrip;
use crate::backoff::Outcome;

/// So many round trips without anything accepted may be an outage.
const NOTHING_TRIPS: f64 = 1.5;

/// Calls in a row of which nothing was accepted are an outage when the baseline loss brings them about more seldom than this. At
/// the least loss that is assumed it takes three.
const UNLIKELY: f64 = 3e-5;
const LEAST_LOSS: f64 = 0.03;

/// What leaves and comes back.
#[derive(Debug, Default)]
pub(super) struct Flow {
    clock: Clock,
    round_trip: RoundTrip,
    recent: Recent,
    in_flight: f64,
    /// Calls in a row of which nothing was accepted.
    full_rejections: u32,
    accepted_at: f64,
}

impl Flow {
    /// The present in seconds.
    pub(super) fn now(&mut self, at: Instant) -> f64 {
        self.clock.now(at)
    }

    /// A moment in seconds.
    pub(super) fn at(&self, at: Instant) -> f64 {
        self.clock.at(at)
    }

    /// The last moment that was now.
    pub(super) fn latest(&self) -> Option<Instant> {
        self.clock.latest()
    }

    /// Entries in flight.
    pub(super) fn in_flight(&self) -> f64 {
        self.in_flight
    }

    /// The round trip in seconds.
    pub(super) fn trip(&self) -> f64 {
        self.round_trip.seconds()
    }

    /// Entries a second that were accepted lately; 0 while too few answers came.
    pub(super) fn recent(&self) -> f64 {
        self.recent.rate()
    }

    pub(super) fn depart(&mut self, entries: f64) {
        self.in_flight += entries;
    }

    /// Takes a call out of those in flight. What its answer says, and how many entries were in flight with it; `None` for a
    /// call that was lost: it says nothing of the capacity, and its end is no answer.
    pub(super) fn answer(&mut self, outcome: &Outcome, now: f64) -> Option<(Answer, f64)> {
        let in_flight = self.in_flight;
        self.in_flight = (in_flight - reckoned(outcome.sent)).max(0.0);
        if outcome.accepted + outcome.throttled + outcome.refused == 0 {
            return None;
        }
        let sent_at = self.clock.at(outcome.sent_at).min(now);
        self.round_trip.observe((now - sent_at).max(0.0));
        let answer = Answer::new(outcome, sent_at, now);
        self.recent.observe(now, answer.accepted);
        if answer.accepted > 0.0 {
            self.accepted_at = now;
            self.full_rejections = 0;
        } else if answer.is_wholly_rejected() && answer.fresh > 0.0 {
            self.full_rejections += 1;
        }
        Some((answer, in_flight))
    }

    /// A new state begins: the rejections that led to it do not count again.
    pub(super) fn forget_rejections(&mut self) {
        self.full_rejections = 0;
    }

    /// Whether nothing is accepted any more, for longer than a loss of that share of the calls explains.
    pub(super) fn has_dried_up(&self, now: f64, loss: f64) -> bool {
        let chance = loss.max(LEAST_LOSS).powf(f64::from(self.full_rejections));
        chance < UNLIKELY && now - self.accepted_at > NOTHING_TRIPS * self.trip()
    }

    /// Forgets what the answers told, but not which calls are in flight.
    pub(super) fn reset(&mut self) {
        self.recent = Recent::default();
        self.full_rejections = 0;
        self.accepted_at = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::testing::assert_about;
    use super::*;

    const TRIP: Duration = Duration::from_millis(10);

    /// Calls of 25 that are all rejected, one after the other, until the flow has dried up.
    fn rejections_until_dry(loss: f64) -> u32 {
        let start = Instant::now();
        let mut flow = Flow::default();
        for number in 0..50 {
            let sent_at = start + TRIP * number;
            let now = flow.now(sent_at);
            if flow.has_dried_up(now, loss) {
                return number;
            }
            flow.depart(25.0);
            let outcome = Outcome::new(sent_at, sent_at + TRIP)
                .with_throttled(25)
                .with_fresh(25, 25);
            let now = flow.now(sent_at + TRIP);
            assert!(flow.answer(&outcome, now).is_some());
        }
        u32::MAX
    }

    #[test]
    fn three_calls_in_a_row_of_which_nothing_is_accepted_are_an_outage() {
        assert_eq!(rejections_until_dry(0.0), 3);
    }

    #[test]
    fn the_more_calls_are_lost_anyway_the_more_it_takes() {
        assert_eq!(rejections_until_dry(0.3), 9);
    }

    #[test]
    fn a_lost_call_is_no_answer_and_is_in_flight_no_more() {
        let start = Instant::now();
        let mut flow = Flow::default();
        flow.depart(25.0);
        let now = flow.now(start);
        assert!(flow.answer(&Outcome::new(start, start).with_failed(25), now).is_none());
        assert!(flow.in_flight() <= 0.0);
    }

    /// A flow of which a call of so many fresh entries and retries was answered a trip after the start, and that moment.
    fn answered(outcome: &Outcome) -> (Flow, f64) {
        let mut flow = Flow::default();
        flow.now(outcome.sent_at);
        let now = flow.now(outcome.answered_at);
        flow.answer(outcome, now);
        (flow, now)
    }

    #[test]
    fn only_calls_of_which_nothing_at_all_was_accepted_count_and_only_with_fresh_entries() {
        let start = Instant::now();
        let outcome = || Outcome::new(start, start + TRIP);
        let counts = |outcome: Outcome| answered(&outcome).0.full_rejections;
        assert_eq!(counts(outcome().with_throttled(25).with_fresh(25, 25)), 1);
        assert_eq!(counts(outcome().with_throttled(25).with_fresh(0, 0)), 0);
        assert_eq!(
            counts(outcome().with_throttled(24).with_refused(1).with_fresh(25, 24)),
            0
        );
        assert_eq!(
            counts(outcome().with_throttled(24).with_accepted(1).with_fresh(25, 24)),
            0
        );
    }

    #[test]
    fn a_flow_dries_up_one_and_a_half_round_trips_after_the_last_entry_was_accepted() {
        let start = Instant::now();
        let outcome = Outcome::new(start, start + TRIP).with_accepted(25).with_fresh(25, 0);
        let (mut flow, accepted_at) = answered(&outcome);
        flow.full_rejections = 3;
        assert!(!flow.has_dried_up(accepted_at + 0.014, 0.0));
        assert!(flow.has_dried_up(accepted_at + 0.016, 0.0));
        flow.forget_rejections();
        assert!(!flow.has_dried_up(accepted_at + 1.0, 0.0));
    }

    #[test]
    fn a_reset_forgets_what_was_accepted_and_rejected_but_not_what_is_in_flight() {
        let start = Instant::now();
        let mut flow = Flow::default();
        flow.depart(300.0);
        for call in 1..=11 {
            let at = start + call * TRIP;
            let now = flow.now(at);
            flow.answer(&Outcome::new(at, at).with_accepted(10).with_fresh(10, 0), now);
        }
        assert_about(flow.recent(), 1000.0);
        assert!(flow.at(start + 2 * TRIP) > 0.009);
        flow.full_rejections = 2;
        flow.reset();
        assert_about(flow.recent(), 0.0);
        assert_about(flow.in_flight(), 190.0);
        assert_eq!(flow.full_rejections, 0);
        assert_about(flow.accepted_at, 0.0);
    }
}
