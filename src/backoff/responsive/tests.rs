//! The interval as a strategy: its options, its answers and its bounds.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::backoff::testing::any_delay;

const MILLISECOND: Duration = Duration::from_millis(1);

fn throttled(at: Instant) -> Outcome {
    Outcome::new(at, at).with_throttled(1)
}

fn waiter(idle_since: Option<Instant>) -> Waiter {
    Waiter {
        entries: 25,
        idle_since,
    }
}

#[test]
fn a_waiter_goes_when_the_interval_has_passed_since_its_last_answer() {
    let start = Instant::now();
    let strategy = Responsive::default();
    let idle = waiter(Some(start));
    assert_eq!(strategy.admit(start, &idle), Admission::Go(25));
    strategy.observe(&throttled(start));
    let until = start + MILLISECOND * 500;
    let until_almost = start + MILLISECOND * 499;
    assert_eq!(strategy.admit(start, &idle), Admission::WaitUntil(until));
    assert_eq!(strategy.admit(until_almost, &idle), Admission::WaitUntil(until));
    assert_eq!(strategy.admit(until, &idle), Admission::Go(25));
    assert_eq!(strategy.rest(Retry::FIRST), Duration::ZERO);
}

#[test]
fn a_waiter_that_has_not_called_yet_goes_at_once() {
    let start = Instant::now();
    let strategy = Responsive::default();
    strategy.observe(&throttled(start));
    assert_eq!(strategy.admit(start, &waiter(None)), Admission::Go(25));
}

#[test]
fn a_reset_takes_the_interval_away() {
    let start = Instant::now();
    let strategy = Responsive::default();
    strategy.observe(&throttled(start));
    strategy.reset();
    assert_eq!(strategy.interval(), Duration::ZERO);
    assert_eq!(strategy.admit(start, &waiter(Some(start))), Admission::Go(25));
    assert_eq!(strategy.metrics().times_up, 1);
}

#[test]
fn a_shared_strategy_can_be_looked_at_while_it_is_in_use() {
    let kept = Arc::new(Responsive::brisk());
    let used: Arc<dyn BackoffStrategy> = kept.clone();
    used.observe(&throttled(Instant::now()));
    assert_eq!(kept.interval(), MILLISECOND * 10);
    assert_eq!(kept.metrics().sleeps, 1);
}

#[test]
fn the_brisk_pace_stays_below_five_seconds() {
    let start = Instant::now();
    let strategy = Responsive::brisk();
    for at in 0..100 {
        strategy.observe(&throttled(start + MILLISECOND * at));
    }
    // The last step may have been randomized down by 0.3 from 1.5 times the longest, which is still the longest.
    assert_eq!(strategy.interval(), Duration::from_secs(5));
}

#[test]
fn the_same_seed_takes_the_same_steps() {
    let start = Instant::now();
    let steps = |seed| -> Vec<_> {
        let strategy = Responsive::default().seed(seed);
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
    let refused = |result: Result<Responsive, InvalidOption>| result.unwrap_err().option();
    let given = Responsive::default;
    assert_eq!(refused(given().initial_interval(Duration::ZERO)), "initial interval");
    assert_eq!(refused(given().down_threshold(0)), "down threshold");
    for wrong in [0.99, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(given().up_multiplier(wrong)), "up multiplier");
    }
    for wrong in [-0.5, 0.0, 1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(given().down_multiplier(wrong)), "down multiplier");
    }
    for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(given().randomization_factor(wrong)), "randomization factor");
    }
    assert!(
        given()
            .randomization_factor(1.0)
            .unwrap()
            .randomization_factor(0.0)
            .is_ok()
    );
}

prop_compose! {
    fn any_responsive()(
        coordinated: bool,
        initial in any_delay(),
        max in any_delay(),
        up in 1.0..1e9,
        down in 0.001..0.999,
        threshold in 1..5_u32,
        factor in 0.0..=1.0,
        max_randomization in any_delay(),
    ) -> Responsive {
        let strategy = if coordinated { Responsive::default() } else { Responsive::uncoordinated() };
        strategy
            .initial_interval(initial.max(Duration::from_nanos(1))).unwrap()
            .max_interval(max)
            .up_multiplier(up).unwrap()
            .down_multiplier(down).unwrap()
            .down_threshold(threshold).unwrap()
            .randomization_factor(factor).unwrap()
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
        let now = Instant::now();
        for outcome in history {
            strategy.observe(&outcome);
            prop_assert!(strategy.interval() <= longest);
            let answer = strategy.admit(now, &waiter(Some(outcome.answered_at)));
            prop_assert!(matches!(answer, Admission::Go(25)) || matches!(answer, Admission::WaitUntil(until) if until > now));
        }
    }
}
