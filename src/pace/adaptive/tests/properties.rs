//! The strategy against any service, and against some that behave.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::Adaptive;
use crate::backoff::testing::assert_refused;
use crate::pace::{Admission, BackoffStrategy, Outcome, Pace, Retry, Waiter};

const CHUNK: usize = 25;

/// What happens next to a pacer in trouble.
#[derive(Debug, Clone)]
enum Step {
    /// Time passes.
    Pass(Duration),
    /// The clock is set back, as clocks of virtual machines are.
    Back(Duration),
    /// A worker asks to send this many entries.
    Ask(usize),
    /// The oldest call is answered: this many of ten accepted, throttled, failed.
    Answer(u8, u8),
    /// The service is said to be back.
    Reset,
    /// A worker asks how long to rest.
    Rest(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..100_000_u64).prop_map(|micros| Step::Pass(Duration::from_micros(micros))),
        1 => (0..100_000_u64).prop_map(|seconds| Step::Pass(Duration::from_secs(seconds))),
        1 => (0..10_000_u64).prop_map(|millis| Step::Back(Duration::from_millis(millis))),
        8 => (1..=CHUNK).prop_map(Step::Ask),
        8 => (0..=10_u8, 0..=10_u8).prop_map(|(accepted, throttled)| Step::Answer(accepted, throttled)),
        1 => Just(Step::Reset),
        1 => (0..50_u32).prop_map(Step::Rest),
    ]
}

/// A worker that does what the strategy says, and the calls that it has made.
struct Worker {
    strategy: Adaptive,
    now: Instant,
    calls: VecDeque<(Instant, usize)>,
}

impl Worker {
    fn new(strategy: Adaptive) -> Self {
        Self {
            strategy,
            now: Instant::now() + Duration::from_secs(1_000_000),
            calls: VecDeque::new(),
        }
    }

    /// Sends if it may; otherwise returns until when it has to wait.
    fn ask(&mut self, entries: usize) -> Option<Instant> {
        let waiter = Waiter { entries, more: true };
        match self.strategy.admit(self.now, &waiter) {
            Admission::Go(most) => {
                assert!(most >= 1, "a call of nothing");
                let sent = most.min(entries);
                self.strategy.depart(self.now, sent);
                self.calls.push_back((self.now, sent));
                None
            }
            Admission::WaitUntil(until) => {
                assert!(until > self.now, "a wait for what is past never ends");
                Some(until)
            }
        }
    }

    fn answer(&mut self, accepted: u8, throttled: u8) {
        if let Some((sent_at, sent)) = self.calls.pop_front() {
            let accepted = sent * usize::from(accepted) / 10;
            let throttled = (sent * usize::from(throttled) / 10).min(sent - accepted);
            let outcome = Outcome::new(sent_at, self.now)
                .with_accepted(accepted)
                .with_throttled(throttled)
                .with_failed(sent - accepted - throttled)
                .with_fresh(sent, throttled);
            self.strategy.observe(&outcome);
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Pass(duration) => self.now += duration,
            Step::Back(duration) => self.now -= duration,
            Step::Ask(entries) => drop(self.ask(entries)),
            Step::Answer(accepted, throttled) => self.answer(accepted, throttled),
            Step::Reset => self.strategy.reset(),
            Step::Rest(number) => {
                let rest = self.strategy.delay(Retry { number, previous: None });
                assert!(rest <= Duration::from_secs(5));
            }
        }
        let capacity = self.strategy.snapshot().capacity;
        assert!(
            capacity.is_none_or(|rate| rate.is_finite() && rate > 0.0),
            "{capacity:?}"
        );
    }

    /// Entries that one worker gets accepted in this many seconds by a service that takes everything, at a round trip of
    /// 50 ms.
    fn accepted_by_a_healthy_service(&mut self, seconds: u64) -> usize {
        let trip = Duration::from_millis(50);
        // A clock that was set back has calls in flight that left later.
        self.now = self
            .calls
            .iter()
            .map(|(sent_at, _)| *sent_at)
            .fold(self.now, Instant::max);
        let end = self.now + Duration::from_secs(seconds);
        let mut accepted = 0;
        while self.now < end {
            let until = self.ask(CHUNK).unwrap_or(self.now);
            let answered_at = self.calls.front().map(|(sent_at, _)| *sent_at + trip);
            match answered_at {
                Some(at) if at <= until || at <= self.now || !self.calls.is_empty() => {
                    self.now = self.now.max(at);
                    accepted += self.calls.front().map_or(0, |(_, sent)| *sent);
                    self.answer(10, 0);
                }
                _ => self.now = until,
            }
        }
        accepted
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn whatever_happens_the_rate_is_a_number_no_worker_waits_forever_and_a_healthy_service_is_recognized(
        steps in proptest::collection::vec(step(), 0..200), seed: u64,
    ) {
        let mut worker = Worker::new(Adaptive::default().seed(seed));
        for step in &steps {
            worker.take(step);
        }
        worker.accepted_by_a_healthy_service(29);
        // A worker that never waits makes 20 calls a second.
        let accepted = worker.accepted_by_a_healthy_service(1);
        prop_assert!(accepted >= 300, "{accepted} entries in a second");
    }
}

#[test]
fn a_service_without_limits_is_never_waited_for_long() {
    let mut worker = Worker::new(Adaptive::default());
    assert!(worker.accepted_by_a_healthy_service(2) > 600);
    assert_eq!(worker.strategy.snapshot().capacity, None);
}

#[test]
fn the_rate_never_exceeds_the_highest_allowed() {
    let mut worker = Worker::new(Adaptive::default().max_rate(200.0));
    let accepted = worker.accepted_by_a_healthy_service(10);
    assert!((1950..=2050).contains(&accepted), "{accepted}");
}

/// A call of 25 items of 400 KB costs twenty seconds of 500 units.
#[test]
fn the_highest_rate_is_kept_by_calls_that_cost_many_seconds_of_it() {
    let mut worker = Worker::new(Adaptive::default().max_rate(1.0));
    let accepted = worker.accepted_by_a_healthy_service(1_000);
    assert!((950..=1050).contains(&accepted), "{accepted}");
}

#[test]
fn a_known_rate_is_kept_from_the_start() {
    let mut worker = Worker::new(Adaptive::default().initial_rate(200.0));
    let accepted = worker.accepted_by_a_healthy_service(1);
    assert!((160..=240).contains(&accepted), "{accepted}");
}

#[test]
fn a_share_is_that_part_of_the_rate() {
    let strategy = Adaptive::default().initial_rate(200.0).share(0.5);
    let accepted = Worker::new(strategy).accepted_by_a_healthy_service(10);
    assert!((900..=1100).contains(&accepted), "{accepted}");
}

#[test]
fn a_service_that_went_down_slowly_is_used_again_when_it_is_back() {
    let trip = Duration::from_millis(10);
    let mut worker = Worker::new(Adaptive::default().initial_rate(1000.0));
    let mut call = |accepted, throttled, pause| {
        while let Some(until) = worker.ask(CHUNK) {
            worker.now = until;
        }
        worker.now += trip;
        worker.answer(accepted, throttled);
        worker.now += pause;
        worker.strategy.snapshot().capacity
    };
    for number in 0..1000 {
        let is_mark = number % 100 == 0;
        call(if is_mark { 8 } else { 10 }, u8::from(is_mark) * 2, trip);
    }
    let before = call(10, 0, trip).unwrap();
    for _ in 0..20 {
        call(1, 9, 10 * trip);
    }
    for _ in 0..20 {
        call(0, 10, 10 * trip);
    }
    let accepted = worker.accepted_by_a_healthy_service(10);
    assert!(accepted > 100, "{accepted} in 10 s, after {before} in each");
}

#[test]
fn options_that_cannot_work_are_refused() {
    for share in [0.0, 1.1, f64::NAN] {
        assert_refused("share", move || Adaptive::default().share(share));
    }
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_refused("highest rate", move || Adaptive::default().max_rate(rate));
        assert_refused("initial rate", move || Adaptive::default().initial_rate(rate));
    }
}

#[test]
fn a_large_call_before_the_pace_broke_down_is_forgiven() {
    use Step::{Answer, Ask, Pass, Reset};
    let second = || Pass(Duration::from_secs(1));
    let steps = [
        Ask(2),
        Answer(0, 5),
        Ask(3),
        second(),
        Reset,
        Ask(1),
        Ask(1),
        Ask(1),
        Ask(1),
        Answer(0, 4),
        Ask(5),
        Answer(8, 0),
        Ask(9),
        Answer(6, 2),
        Pass(Duration::from_micros(1)),
        Ask(2),
        Ask(4),
        Answer(5, 0),
        Ask(7),
        second(),
        Answer(0, 10),
        Answer(8, 2),
        Pass(Duration::from_secs(22)),
        Ask(24),
        Answer(0, 1),
    ];
    let mut worker = Worker::new(Adaptive::default().seed(0));
    for step in &steps {
        worker.take(step);
    }
    worker.accepted_by_a_healthy_service(29);
    assert!(worker.accepted_by_a_healthy_service(1) >= 300);
}

#[test]
fn a_pause_in_a_search_is_no_time_in_which_rejections_went_on() {
    use Step::{Answer, Ask, Pass};
    let call = |accepted, throttled| [Ask(2), Answer(accepted, throttled)];
    let calls = [(0, 5), (5, 0), (0, 5), (5, 0), (0, 5), (0, 5), (0, 5), (5, 0), (5, 0)];
    let mut steps: Vec<_> = calls
        .into_iter()
        .flat_map(|(accepted, throttled)| call(accepted, throttled))
        .collect();
    steps.extend([Ask(5), Answer(0, 2), Ask(1), Pass(Duration::from_secs(3))]);
    let mut worker = Worker::new(Adaptive::default().seed(0));
    for step in &steps {
        worker.take(step);
    }
    worker.accepted_by_a_healthy_service(14);
    assert!(worker.accepted_by_a_healthy_service(1) >= 300);
}
