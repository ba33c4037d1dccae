//! The interval as a strategy: its options, its answers and its bounds.

use std::sync::Arc;
use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::backoff::testing::{any_delay, assert_refused};

const MILLISECOND: Duration = Duration::from_millis(1);

fn throttled(at: Instant) -> Outcome {
    Outcome::new(at, at).with_throttled(1)
}

#[test]
fn a_worker_pauses_for_the_interval_and_its_entries_do_not_rest_as_well() {
    let strategy = Responsive::published();
    assert_eq!(strategy.cooldown(), Duration::ZERO);
    strategy.observe(&throttled(Instant::now()));
    assert_eq!(strategy.cooldown(), MILLISECOND * 500);
    assert_eq!(strategy.delay(Retry::FIRST), Duration::ZERO);
}

#[test]
fn a_reset_takes_the_interval_away() {
    let start = Instant::now();
    let strategy = Responsive::published();
    strategy.observe(&throttled(start));
    strategy.reset();
    assert_eq!(strategy.interval(), Duration::ZERO);
    assert_eq!(strategy.cooldown(), Duration::ZERO);
    assert_eq!(strategy.metrics().times_up, 1);
}

#[test]
fn a_shared_strategy_can_be_looked_at_while_it_is_in_use() {
    let kept = Arc::new(Responsive::default());
    let used: Arc<dyn BackoffStrategy> = kept.clone();
    let start = Instant::now();
    for _ in 0..5 {
        used.pace().unwrap().observe(&throttled(start));
    }
    assert_eq!(kept.interval(), Duration::from_micros(100));
    assert_eq!(kept.metrics().times_up, 1);
}

#[test]
fn the_same_seed_takes_the_same_steps() {
    let start = Instant::now();
    let steps = |seed| -> Vec<_> {
        let strategy = Responsive::published().seed(seed);
        (0..10)
            .map(|at| {
                strategy.observe(&throttled(start + MILLISECOND * at));
                strategy.interval()
            })
            .collect()
    };
    assert_eq!(steps(1), steps(1));
    assert_ne!(steps(1), steps(2));
}

#[test]
fn options_that_cannot_work_are_refused() {
    let given = Responsive::default;
    assert_refused("initial interval", move || given().initial_interval(Duration::ZERO));
    assert_refused("down threshold", move || given().down_threshold(0));
    for wrong in [0.99, f64::NAN, f64::INFINITY] {
        assert_refused("up multiplier", move || given().up_multiplier(wrong));
    }
    for wrong in [-0.5, 0.0, 1.0, f64::NAN, f64::INFINITY] {
        assert_refused("down multiplier", move || given().down_multiplier(wrong));
    }
    for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert_refused("randomization factor", move || given().randomization_factor(wrong));
    }
    let _ = given().randomization_factor(1.0).randomization_factor(0.0);
}

prop_compose! {
    fn any_responsive()(
        shared: bool,
        initial in any_delay(),
        max in any_delay(),
        up in 1.0..1e9,
        down in 0.001..0.999,
        threshold in 1..5_u32,
        factor in 0.0..=1.0,
        max_randomization in any_delay(),
    ) -> Responsive {
        let strategy = if shared { Responsive::default() } else { Responsive::published() };
        strategy
            .initial_interval(initial.max(Duration::from_nanos(1)))
            .max_interval(max)
            .up_multiplier(up)
            .down_multiplier(down)
            .down_threshold(threshold)
            .randomization_factor(factor)
            .max_randomization(max_randomization)
    }
}

prop_compose! {
    fn any_outcome(start: Instant)(
        sent in 0..1000_u32, took in 0..1000_u32, counts in prop::array::uniform4(0..3_usize),
    ) -> Outcome {
        let sent_at = start + MILLISECOND * sent;
        Outcome::new(sent_at, sent_at + MILLISECOND * took)
            .with_accepted(counts[0])
            .with_throttled(counts[1])
            .with_failed(counts[2])
            .with_refused(counts[0] + 1)
    }
}

proptest! {
    #[test]
    fn no_history_leads_beyond_the_longest_interval(
        strategy in any_responsive(),
        history in prop::collection::vec(any_outcome(Instant::now()), 0..100),
    ) {
        let longest = strategy.rules.max.max(strategy.rules.initial);
        for outcome in history {
            strategy.observe(&outcome);
            prop_assert!(strategy.interval() <= longest);
            prop_assert!(strategy.cooldown() <= longest);
        }
    }
}

#[test]
fn shared_calls_leave_one_interval_after_the_other_until_a_reset() {
    let start = Instant::now();
    let strategy = Responsive::default();
    (0..5).for_each(|_| strategy.observe(&throttled(start)));
    let interval = strategy.interval();
    let call = Waiter::new(25);
    let mut next = start;
    // A call that leaves a moment late costs no time.
    for late in [0, 0, 1, 1, 0].map(Duration::from_micros) {
        assert_eq!(strategy.admit(next, &call), Admission::Go(25));
        strategy.depart(next + late, 25);
        next += interval;
        assert_eq!(strategy.admit(start, &call), Admission::WaitUntil(next));
    }
    // Time without calls is not made up for.
    let later = next + Duration::from_secs(1);
    strategy.depart(later, 25);
    assert_eq!(strategy.admit(later, &call), Admission::WaitUntil(later + interval));
    strategy.reset();
    assert_eq!((strategy.interval(), strategy.metrics().times_up), (Duration::ZERO, 1));
    assert_eq!(strategy.admit(later, &call), Admission::Go(25));
}
