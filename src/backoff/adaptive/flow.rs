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
}
