//! Every change of state, against a service in virtual time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::super::Adaptive;
use crate::pace::{Admission, Outcome, Pace, PaceReason, PaceState, Waiter};

const CHUNK: usize = 25;
const TRIP: Duration = Duration::from_millis(10);
const STEP: Duration = Duration::from_millis(1);

/// A token bucket that answers entry by entry and rejects some calls whatever the pace.
struct Service {
    per_second: f64,
    tokens: f64,
    lost_calls: f64,
    lost_entries: f64,
    random: u64,
}

impl Service {
    fn of(per_second: f64) -> Self {
        Self {
            per_second,
            tokens: 0.0,
            lost_calls: 0.0,
            lost_entries: 0.0,
            random: 1,
        }
    }

    fn losing_calls(self, lost_calls: f64) -> Self {
        Self { lost_calls, ..self }
    }

    fn seeded(self, random: u64) -> Self {
        Self { random, ..self }
    }

    /// A millisecond passes. What is not used is kept for half a second.
    fn refill(&mut self) {
        let most = (self.per_second / 2.0).max(50.0);
        self.tokens = (self.tokens + self.per_second / 1000.0).min(most);
    }

    /// A number from 0 to 1, by a linear congruential generator.
    fn random(&mut self) -> f64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.random >> 32).unwrap()) / f64::from(u32::MAX)
    }

    /// How many entries of a call are accepted.
    fn take(&mut self, entries: usize) -> usize {
        if self.random() < self.lost_calls {
            return 0;
        }
        (0..entries)
            .filter(|_| {
                let is_lost = self.lost_entries > 0.0 && self.random() < self.lost_entries;
                let is_accepted = !is_lost && self.tokens >= 1.0;
                self.tokens -= f64::from(u8::from(is_accepted));
                is_accepted
            })
            .count()
    }
}

struct Call {
    sent_at: Instant,
    entries: usize,
    accepted: usize,
}

/// Workers that send whatever the strategy lets go, and the states that it was in.
struct Delivery {
    strategy: Adaptive,
    service: Service,
    now: Instant,
    most_calls: usize,
    calls: VecDeque<Call>,
    accepted: usize,
    states: Vec<(PaceState, PaceReason)>,
}

impl Delivery {
    fn new(strategy: Adaptive, service: Service) -> Self {
        Self {
            strategy: strategy.seed(7),
            service,
            now: Instant::now(),
            most_calls: 16,
            calls: VecDeque::new(),
            accepted: 0,
            states: Vec::new(),
        }
    }

    fn to(service: Service) -> Self {
        Self::new(Adaptive::default(), service)
    }

    fn step(&mut self) {
        self.now += STEP;
        self.service.refill();
        while self.calls.front().is_some_and(|call| call.sent_at + TRIP <= self.now)
            && let Some(call) = self.calls.pop_front()
        {
            let rejected = call.entries - call.accepted;
            self.accepted += call.accepted;
            let outcome = Outcome::new(call.sent_at, self.now)
                .with_accepted(call.accepted)
                .with_throttled(rejected)
                .with_fresh(call.entries, rejected);
            self.strategy.observe(&outcome);
            self.record();
        }
        let waiter = Waiter::new(CHUNK).with_more(true);
        while self.calls.len() < self.most_calls
            && let Admission::Go(most) = self.strategy.admit(self.now, &waiter)
        {
            let entries = most.min(CHUNK);
            self.strategy.depart(self.now, entries);
            let accepted = self.service.take(entries);
            self.calls.push_back(Call {
                sent_at: self.now,
                entries,
                accepted,
            });
        }
        self.record();
    }

    fn record(&mut self) {
        let snapshot = self.strategy.snapshot();
        let state = (snapshot.state, snapshot.reason);
        if self.states.last() != Some(&state) {
            self.states.push(state);
        }
    }

    fn run(&mut self, seconds: f64) -> &mut Self {
        let end = self.now + Duration::from_secs_f64(seconds);
        while self.now < end {
            self.step();
        }
        self
    }

    /// Runs until a state is entered for that reason.
    #[track_caller]
    fn run_until(&mut self, state: PaceState, reason: PaceReason) -> &mut Self {
        let end = self.now + Duration::from_secs(60);
        while self.states.last() != Some(&(state, reason)) {
            assert!(self.now < end, "never {state}, as {reason}; {:?}", self.states);
            self.step();
        }
        self
    }

    fn capacity(&self) -> f64 {
        self.strategy.snapshot().capacity.expect("a capacity is known")
    }

    #[track_caller]
    fn assert_capacity_about(&self, expected: f64) {
        let capacity = self.capacity();
        assert!(
            (capacity / expected - 1.0).abs() < 0.15,
            "{capacity} for {expected}; {:?}",
            self.states
        );
    }
}

#[test]
fn a_search_ends_at_the_knee_and_the_pace_is_steady_when_the_calls_in_flight_are_back() {
    let mut delivery = Delivery::to(Service::of(5000.0));
    delivery.most_calls = 64;
    delivery.run_until(PaceState::Steady, PaceReason::Drained);
    let knee = Some((PaceState::Draining, PaceReason::Knee));
    let start = Some((PaceState::Searching, PaceReason::Start));
    assert_eq!(delivery.strategy.snapshot().earlier, [knee, start, None, None]);
    delivery.run(5.0).assert_capacity_about(5000.0);
}

#[test]
fn a_service_without_a_limit_is_searched_for_ever() {
    let mut delivery = Delivery::to(Service::of(1e6));
    delivery.run(5.0);
    assert_eq!(delivery.states, [(PaceState::Searching, PaceReason::Start)]);
}

#[test]
fn an_initial_rate_needs_no_search() {
    let mut delivery = Delivery::new(Adaptive::default().initial_rate(1000.0), Service::of(1000.0));
    delivery.run(5.0);
    assert_eq!(delivery.states[0], (PaceState::Steady, PaceReason::InitialRate));
    delivery.assert_capacity_about(1000.0);
}

#[test]
fn calls_that_are_rejected_whatever_the_pace_do_not_end_a_search() {
    for percent in [2_u8, 5] {
        let mut delivery = Delivery::to(Service::of(1e6).losing_calls(f64::from(percent) / 100.0));
        delivery.run(1.5);
        assert_eq!(
            delivery.states,
            [(PaceState::Searching, PaceReason::Start)],
            "{percent}%"
        );
    }
}

#[test]
fn a_capacity_that_grows_is_found_by_a_pace_that_climbs() {
    let mut delivery = Delivery::to(Service::of(200.0));
    delivery.run(5.0);
    delivery.service.per_second = 1000.0;
    delivery.run(20.0);
    delivery.assert_capacity_about(1000.0);
}

#[test]
fn an_outage_before_anything_is_known_costs_a_few_seconds_after_it() {
    let mut delivery = Delivery::to(Service::of(1e6));
    delivery.run(0.005);
    delivery.service = Service::of(0.0);
    delivery
        .run_until(PaceState::Outage, PaceReason::NothingAccepted)
        .run(0.3);
    delivery.service = Service::of(1e6);
    let before = delivery.accepted;
    delivery.run(5.0);
    let accepted = delivery.accepted - before;
    assert!(accepted > 10_000, "{accepted}; {:?}", delivery.states);
}

#[test]
fn after_an_outage_the_pace_goes_on_with_what_was_known() {
    let mut delivery = Delivery::to(Service::of(1000.0));
    delivery.run(5.0);
    delivery.service.per_second = 0.0;
    delivery
        .run_until(PaceState::Outage, PaceReason::NothingAccepted)
        .run(10.0);
    delivery.service.per_second = 1000.0;
    delivery.run_until(PaceState::Steady, PaceReason::Recovered).run(15.0);
    delivery.assert_capacity_about(1000.0);
}

#[test]
fn during_an_outage_single_entries_ask_at_most_a_second_apart() {
    let mut delivery = Delivery::to(Service::of(1000.0));
    delivery.run(5.0);
    delivery.service.per_second = 0.0;
    delivery
        .run_until(PaceState::Outage, PaceReason::NothingAccepted)
        .run(5.0);
    let mut asked = 0;
    for _ in 0..10_000 {
        delivery.step();
        for call in delivery.calls.iter().filter(|call| call.sent_at == delivery.now) {
            assert_eq!(call.entries, 1);
            asked += 1;
        }
    }
    assert!((8..=16).contains(&asked), "{asked} in 10 s");
}

#[test]
fn a_snapshot_tells_the_states_before_with_their_reasons_also_after_a_reset() {
    let mut delivery = Delivery::to(Service::of(1000.0));
    delivery.run_until(PaceState::Steady, PaceReason::Drained);
    let knee = Some((PaceState::Draining, PaceReason::Knee));
    let start = Some((PaceState::Searching, PaceReason::Start));
    assert_eq!(delivery.strategy.snapshot().earlier, [knee, start, None, None]);
    delivery.strategy.reset();
    let drained = Some((PaceState::Steady, PaceReason::Drained));
    assert_eq!(delivery.strategy.snapshot().earlier, [drained, knee, start, None]);
}

#[test]
fn a_reset_begins_with_a_search() {
    let mut delivery = Delivery::to(Service::of(1000.0));
    delivery.run(5.0);
    delivery.strategy.reset();
    assert_eq!(delivery.strategy.snapshot().capacity, None);
    delivery
        .run_until(PaceState::Searching, PaceReason::Reset)
        .run_until(PaceState::Steady, PaceReason::Drained)
        .run(15.0);
    delivery.assert_capacity_about(1000.0);
}

#[test]
fn a_capacity_of_a_call_a_second_is_found() {
    let mut delivery = Delivery::to(Service::of(40.0));
    delivery.run(20.0);
    delivery.assert_capacity_about(40.0);
}

#[test]
fn a_capacity_that_is_there_after_an_outage_from_the_start_is_found() {
    let mut delivery = Delivery::to(Service::of(0.0));
    delivery
        .run_until(PaceState::Outage, PaceReason::NothingAccepted)
        .run(10.0);
    delivery.service.per_second = 1000.0;
    delivery.run_until(PaceState::Steady, PaceReason::Recovered).run(60.0);
    delivery.assert_capacity_about(1000.0);
}

#[test]
fn entries_that_are_rejected_at_random_cost_little_time() {
    for percent in [1_u8, 3, 5] {
        let mut delivery = Delivery::to(Service::of(1000.0));
        delivery.service.lost_entries = f64::from(percent) / 100.0;
        delivery.run(60.0);
        assert!(delivery.accepted > 50_000, "{percent}%: {}", delivery.accepted);
    }
}

#[test]
fn a_capacity_that_falls_to_a_fifth_is_found_without_another_state() {
    let mut delivery = Delivery::to(Service::of(1000.0));
    delivery.run(5.0);
    delivery.service.per_second = 200.0;
    let states = delivery.states.len();
    delivery.run(10.0);
    assert_eq!(delivery.states.len(), states, "{:?}", delivery.states);
    delivery.assert_capacity_about(200.0);
}

#[test]
fn calls_that_are_throttled_at_random_are_harmless_and_leave_the_capacity_as_it_is() {
    let accepted = (1..=8).map(|seed| {
        let mut delivery = Delivery::to(Service::of(1000.0).seeded(seed));
        delivery.run(5.0);
        delivery.service.lost_calls = 0.05;
        delivery.run(30.0);
        let accepted = delivery.accepted;
        delivery.run(30.0);
        delivery.accepted - accepted
    });
    let accepted: Vec<_> = accepted.collect();
    assert!(accepted.iter().sum::<usize>() > 8 * 27_000, "{accepted:?} in 30 s");
}

/// From inside a process, rejections that others cause look like random ones: an overload must not count as harmless.
#[test]
fn a_third_of_all_calls_is_never_harmless() {
    let mut delivery = Delivery::to(Service::of(1000.0));
    delivery.run(5.0);
    delivery.service.lost_calls = 0.33;
    delivery.run(30.0);
    assert!(delivery.capacity() < 500.0, "{}", delivery.capacity());
}
