//! The calls in flight: what was accepted lately, and whether anything is still accepted.

use std::collections::VecDeque;

use super::evidence::Observation;
use super::time::Clock;
use crate::pace::Outcome;
use crate::pace::meter::to_f64;

/// The round trip that is assumed before the first answer, in seconds: an ordinary call to DynamoDB within a region.
const ASSUMED_TRIP: f64 = 0.010;

/// How much of the smoothed round trip one answer replaces, as in TCP (RFC 6298).
const GAIN: f64 = 0.125;

/// A longer round trip, in seconds, is not the network's: no way around the earth takes as long.
const MAX_TRIP: f64 = 0.5;

/// The answers from which the recent rate is computed, at least. With fewer, one call more or less would change it by half.
const MIN_ANSWERS: usize = 5;

/// The time from which the recent rate is computed, at least, in seconds: some round trips within a region.
const MIN_SECONDS: f64 = 0.1;

/// Nothing is accepted for this many round trips before it is an outage.
const STALL_TRIPS: f64 = 1.5;

/// This many wholly rejected calls in a row are an outage. Where one call in ten is throttled at random, chance brings them about once in
/// 10,000 calls.
const STALL_CALLS: u32 = 4;

/// The calls in flight, and what their answers show.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) clock: Clock,
    /// The smoothed round trip in seconds.
    trip: Option<f64>,
    recent: AcceptedRate,
    in_flight: f64,
    /// Wholly rejected calls in a row.
    wholly_rejected: u32,
    accepted_at: f64,
}

impl Flow {
    /// Entries in flight.
    pub(super) fn in_flight(&self) -> f64 {
        self.in_flight
    }

    /// The round trip in seconds.
    pub(super) fn trip(&self) -> f64 {
        self.trip.unwrap_or(ASSUMED_TRIP)
    }

    /// Entries that were accepted per second lately; 0 while there are too few answers.
    pub(super) fn recent(&self) -> f64 {
        self.recent.rate()
    }

    pub(super) fn depart(&mut self, entries: f64) {
        self.in_flight += entries;
    }

    /// A call has ended. Returns its answer, and how many entries were in flight with it; `None` for a call without an answer, which
    /// says nothing about the capacity.
    pub(super) fn end(&mut self, outcome: &Outcome, now: f64) -> Option<(Observation, f64)> {
        let in_flight = self.in_flight;
        self.in_flight = (in_flight - to_f64(outcome.sent)).max(0.0);
        if outcome.accepted + outcome.throttled + outcome.refused == 0 {
            return None;
        }
        let sent_at = self.clock.at(outcome.sent_at).min(now);
        let trip = (now - sent_at).clamp(0.0, MAX_TRIP);
        let smoothed = self.trip.unwrap_or(trip);
        self.trip = Some(smoothed + GAIN * (trip - smoothed));
        let answer = Observation::new(outcome, sent_at, now);
        self.recent.observe(now, answer.accepted);
        if answer.accepted > 0.0 {
            self.accepted_at = now;
            self.wholly_rejected = 0;
        } else if answer.is_wholly_rejected() && answer.fresh.sent > 0.0 {
            self.wholly_rejected += 1;
        }
        Some((answer, in_flight))
    }

    /// A new state begins: the rejections that led to it do not count again.
    pub(super) fn forget_rejections(&mut self) {
        self.wholly_rejected = 0;
    }

    /// Whether the service has ceased to accept anything.
    pub(super) fn is_stalled(&self, now: f64) -> bool {
        self.wholly_rejected >= STALL_CALLS && now - self.accepted_at > STALL_TRIPS * self.trip()
    }

    /// Forgets what the answers showed, but not which calls are in flight.
    pub(super) fn reset(&mut self) {
        self.recent = AcceptedRate::default();
        self.wholly_rejected = 0;
        self.accepted_at = 0.0;
    }
}

/// The latest answers.
#[derive(Debug, Default)]
struct AcceptedRate {
    /// When each came, and how many entries it accepted.
    answers: VecDeque<(f64, f64)>,
    accepted: f64,
}

impl AcceptedRate {
    fn observe(&mut self, now: f64, accepted: f64) {
        self.answers.push_back((now, accepted));
        self.accepted += accepted;
        while self.answers.len() > MIN_ANSWERS + 1
            && self.answers.get(1).is_some_and(|(at, _)| now - at >= MIN_SECONDS)
            && let Some((_, accepted)) = self.answers.pop_front()
        {
            self.accepted = (self.accepted - accepted).max(0.0);
        }
    }

    /// Entries accepted per second up to the last answer; 0 while there are too few.
    fn rate(&self) -> f64 {
        let (Some((first, first_accepted)), Some((last, _))) = (self.answers.front(), self.answers.back()) else {
            return 0.0;
        };
        // The first answer begins the span, so what it accepted lies before.
        let seconds = last - first;
        if self.answers.len() <= MIN_ANSWERS || seconds <= 0.0 {
            return 0.0;
        }
        (self.accepted - first_accepted).max(0.0) / seconds
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::tests::assert_about;
    use super::*;

    const TRIP: Duration = Duration::from_millis(10);

    /// Calls of 25 that are all rejected, one after another, until the flow is stalled.
    fn rejections_until_stalled() -> u32 {
        let start = Instant::now();
        let mut flow = Flow::default();
        for number in 0..50 {
            let sent_at = start + TRIP * number;
            let now = flow.clock.now(sent_at);
            if flow.is_stalled(now) {
                return number;
            }
            flow.depart(25.0);
            let outcome = Outcome::new(sent_at, sent_at + TRIP)
                .with_throttled(25)
                .with_fresh(25, 25);
            let now = flow.clock.now(sent_at + TRIP);
            assert!(flow.end(&outcome, now).is_some());
        }
        u32::MAX
    }

    #[test]
    fn four_calls_in_a_row_of_which_nothing_is_accepted_are_an_outage() {
        assert_eq!(rejections_until_stalled(), 4);
    }

    #[test]
    fn a_lost_call_is_no_answer_and_is_in_flight_no_more() {
        let start = Instant::now();
        let mut flow = Flow::default();
        flow.depart(25.0);
        let now = flow.clock.now(start);
        assert!(flow.end(&Outcome::new(start, start).with_failed(25), now).is_none());
        assert!(flow.in_flight() <= 0.0);
    }

    /// A flow of which a call of this many fresh entries and retries was answered a trip after the start, and that moment.
    fn answered(outcome: &Outcome) -> (Flow, f64) {
        let mut flow = Flow::default();
        flow.clock.now(outcome.sent_at);
        let now = flow.clock.now(outcome.answered_at);
        flow.end(outcome, now);
        (flow, now)
    }

    #[test]
    fn only_calls_of_which_nothing_at_all_was_accepted_count_and_only_with_fresh_entries() {
        let start = Instant::now();
        let outcome = || Outcome::new(start, start + TRIP);
        let counts = |outcome: Outcome| answered(&outcome).0.wholly_rejected;
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
    fn a_flow_is_stalled_one_and_a_half_round_trips_after_the_last_entry_was_accepted() {
        let start = Instant::now();
        let outcome = Outcome::new(start, start + TRIP).with_accepted(25).with_fresh(25, 0);
        let (mut flow, accepted_at) = answered(&outcome);
        flow.wholly_rejected = STALL_CALLS;
        assert!(!flow.is_stalled(accepted_at + 0.014));
        assert!(flow.is_stalled(accepted_at + 0.016));
        flow.forget_rejections();
        assert!(!flow.is_stalled(accepted_at + 1.0));
    }

    #[test]
    fn a_reset_forgets_what_was_accepted_and_rejected_but_not_what_is_in_flight() {
        let start = Instant::now();
        let mut flow = Flow::default();
        flow.depart(300.0);
        for call in 1..=11 {
            let at = start + call * TRIP;
            let now = flow.clock.now(at);
            flow.end(&Outcome::new(at, at).with_accepted(10).with_fresh(10, 0), now);
        }
        assert_about(flow.recent(), 1000.0);
        assert!(flow.clock.at(start + 2 * TRIP) > 0.009);
        flow.wholly_rejected = 2;
        flow.reset();
        assert_about(flow.recent(), 0.0);
        assert_about(flow.in_flight(), 190.0);
        assert_eq!(flow.wholly_rejected, 0);
        assert_about(flow.accepted_at, 0.0);
    }

    #[test]
    fn the_rate_is_that_of_the_last_tenth_of_a_second() {
        let mut recent = AcceptedRate::default();
        for answer in 0..100 {
            let accepted = if answer < 50 { 10.0 } else { 20.0 };
            recent.observe(f64::from(answer) * 0.01, accepted);
        }
        assert!((recent.rate() - 2000.0).abs() < 1e-6, "{}", recent.rate());
    }

    #[test]
    fn few_answers_say_nothing() {
        let mut recent = AcceptedRate::default();
        for answer in 0..5 {
            recent.observe(f64::from(answer), 25.0);
            assert!(recent.rate().abs() < f64::EPSILON);
        }
        recent.observe(5.0, 25.0);
        assert!((recent.rate() - 25.0).abs() < 1e-9);
    }

    #[test]
    fn the_first_round_trip_is_taken_as_it_is_and_later_ones_by_an_eighth() {
        let start = Instant::now();
        let outcome = |millis| Outcome::new(start, start + Duration::from_millis(millis)).with_accepted(25);
        let (mut flow, _) = answered(&outcome(8));
        assert_about(flow.trip(), 0.008);
        let outcome = outcome(16);
        let now = flow.clock.now(outcome.answered_at);
        flow.end(&outcome, now);
        assert_about(flow.trip(), 0.009);
    }
}
