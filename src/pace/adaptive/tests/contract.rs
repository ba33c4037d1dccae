//! What callers of the strategy rely on, whatever its figures are.

use std::time::{Duration, Instant};

use super::super::Adaptive;
use super::first_attempts;
use crate::pace::{Admission, BackoffStrategy, KeyPace, Outcome, Pace, PaceDetails, PaceState, Retry, Waiter};

const TRIP: Duration = Duration::from_millis(10);

#[test]
fn nothing_is_in_flight_and_no_key_is_hot() {
    let snapshot = Adaptive::default().snapshot();
    assert_eq!((snapshot.in_flight, snapshot.hot_keys), (0, 0));
}

#[test]
fn the_first_retry_leaves_at_once_and_the_next_one_rests() {
    let strategy = Adaptive::default();
    assert_eq!(strategy.delay(Retry::FIRST), Duration::ZERO);
    assert!(strategy.delay(Retry::new(2, None)) > Duration::ZERO);
}

/// A strategy to which the key 7 is hot, and the present.
fn with_a_hot_key() -> (Adaptive, Instant) {
    let strategy = Adaptive::default().seed(1);
    let start = Instant::now();
    assert!(strategy.is_idle());
    let mut keys = [first_attempts(7, 20, 15), first_attempts(8, 20, 0)];
    KeyPace::observe(&strategy, start, start + TRIP, &mut keys);
    assert_eq!(keys.map(|key| key.is_hot), [true, false]);
    (strategy, start + TRIP)
}

#[test]
fn a_hot_key_waits_as_long_as_its_entries_take_and_other_keys_do_not() {
    let (strategy, start) = with_a_hot_key();
    assert!(!strategy.is_idle() && strategy.is_hot(7) && !strategy.is_hot(8));
    assert_eq!(strategy.snapshot().hot_keys, 1);
    let (mut now, mut sent) = (start, 0);
    while now < start + Duration::from_millis(500) {
        assert_eq!(KeyPace::admit(&strategy, now, 8, 25), Admission::Go(25));
        match KeyPace::admit(&strategy, now, 7, 25) {
            Admission::Go(entries) => {
                KeyPace::depart(&strategy, now, 7, entries);
                sent += entries;
            }
            Admission::WaitUntil(until) => now = until,
        }
    }
    // Five entries were accepted in 10 ms.
    assert!((100..=300).contains(&sent), "{sent} entries in half a second");
}

#[test]
fn throttles_keep_a_key_hot_and_ten_seconds_without_end_that() {
    let (strategy, start) = with_a_hot_key();
    for second in 1..20 {
        let now = start + Duration::from_secs(second);
        KeyPace::observe(&strategy, now, now + TRIP, &mut [first_attempts(7, 10, 1)]);
    }
    let mut now = start + Duration::from_secs(25);
    KeyPace::observe(&strategy, now, now + TRIP, &mut [first_attempts(7, 10, 0)]);
    assert!(strategy.is_hot(7));
    now += Duration::from_secs(5);
    KeyPace::observe(&strategy, now, now + TRIP, &mut [first_attempts(8, 10, 0)]);
    assert!(!strategy.is_hot(7) && strategy.is_idle());
    assert_eq!(strategy.snapshot().hot_keys, 0);
}

#[test]
fn throttles_of_a_key_fade_and_so_does_what_others_had_accepted() {
    let strategy = Adaptive::default().seed(1);
    let start = Instant::now();
    // Three throttles of a key, half a minute apart, single it out no more than one.
    for round in 0..10 {
        let now = start + round * Duration::from_secs(30);
        let mut keys = [first_attempts(7, 3, 3), first_attempts(8, 20, 0)];
        KeyPace::observe(&strategy, now, now + TRIP, &mut keys);
        assert_eq!(keys.map(|key| key.is_hot), [false, false], "round {round}");
    }
    // Within a second they do.
    let now = start + Duration::from_secs(400);
    let hot = (0..3).any(|call: u32| {
        let now = now + call * TRIP;
        let mut keys = [first_attempts(7, 3, 3), first_attempts(8, 20, 0)];
        KeyPace::observe(&strategy, now, now + TRIP, &mut keys);
        keys[0].is_hot
    });
    assert!(hot);
}

#[test]
fn a_reset_forgets_hot_keys_and_what_was_measured() {
    let (strategy, now) = with_a_hot_key();
    Pace::depart(&strategy, now, 25);
    strategy.reset();
    assert!(strategy.is_idle() && !strategy.is_hot(7));
    let snapshot = strategy.snapshot();
    assert_eq!(
        (snapshot.hot_keys, snapshot.in_flight, snapshot.capacity),
        (0, 25, None)
    );
}

#[test]
fn a_snapshot_counts_what_is_in_flight_and_tells_since_when_its_state_lasts() {
    let strategy = Adaptive::default();
    let start = Instant::now();
    assert_eq!(strategy.snapshot().since, None);
    Pace::admit(&strategy, start, &Waiter::new(25));
    assert_eq!(strategy.snapshot().since, Some(start));
    for calls in 1..=4 {
        Pace::depart(&strategy, start, 25);
        assert_eq!(strategy.snapshot().in_flight, 25 * calls);
    }
    let answered_at = start + TRIP;
    for (left, outcome) in [
        (75, Outcome::new(start, answered_at).with_accepted(25).with_fresh(25, 0)),
        (50, Outcome::new(start, answered_at).with_failed(25).with_fresh(25, 0)),
        (25, Outcome::new(start, answered_at).with_refused(25).with_fresh(25, 0)),
    ] {
        Pace::observe(&strategy, &outcome);
        assert_eq!(strategy.snapshot().in_flight, left);
        assert_eq!(strategy.snapshot().since, Some(start));
    }
    let reset_at = start + 5 * TRIP;
    Pace::admit(&strategy, reset_at, &Waiter::new(25));
    strategy.reset();
    assert_eq!(strategy.snapshot().since, Some(reset_at));
}

#[test]
fn units_are_counted_unless_entries_are() {
    assert!(Adaptive::default().counts_units());
    assert!(!Adaptive::default().by_write_units(false).counts_units());
}

/// Calls with 20 fresh entries and five retries, of which this many of each are throttled, 10 ms apart.
fn observe(strategy: &Adaptive, start: Instant, calls: u32, throttled: (usize, usize)) -> Instant {
    for call in 0..calls {
        let now = start + call * TRIP;
        Pace::depart(strategy, now, 25);
        let (fresh, retries) = throttled;
        let outcome = Outcome::new(now, now + TRIP)
            .with_accepted(25 - fresh - retries)
            .with_throttled(fresh + retries)
            .with_fresh(20, fresh);
        Pace::observe(strategy, &outcome);
    }
    start + calls * TRIP
}

#[test]
fn retries_that_fail_while_fresh_entries_do_not_are_held_until_none_waits_and_cost_no_pace() {
    let strategy = Adaptive::default().initial_rate(2500.0).seed(1);
    let start = Instant::now();
    Pace::admit(&strategy, start, &Waiter::new(25));
    let now = observe(&strategy, start, 20, (0, 0));
    assert_eq!(strategy.extra_delay(now), Duration::ZERO);
    assert_eq!(strategy.delay(Retry::FIRST), Duration::ZERO);
    let before = strategy.snapshot();
    let now = observe(&strategy, now, 100, (0, 5));
    let holds = (0..50)
        .map(|_| strategy.extra_delay(now))
        .filter(|hold| !hold.is_zero());
    let holds: Vec<Duration> = holds.collect();
    assert!(holds.len() > 40, "{holds:?}");
    let range = Duration::from_millis(500)..=Duration::from_secs(1);
    assert!(holds.iter().all(|hold| range.contains(hold)), "{holds:?}");
    assert!(strategy.delay(Retry::FIRST) > Duration::ZERO);
    let after = strategy.snapshot();
    assert_eq!((after.state, after.reason), (before.state, before.reason));
    assert!(after.capacity >= before.capacity.map(|rate| 0.9 * rate), "{after:?}");
    // When no entry had to wait for more than a second, it is over.
    let now = observe(&strategy, now, 200, (0, 0));
    assert_eq!(strategy.extra_delay(now), Duration::ZERO);
    assert_eq!(strategy.delay(Retry::FIRST), Duration::ZERO);
}

#[test]
fn attempts_in_an_outage_pay_off_nothing_of_the_highest_rate() {
    let strategy = Adaptive::default().initial_rate(10.0).max_rate(10.0).seed(1);
    let start = Instant::now();
    Pace::admit(&strategy, start, &Waiter::new(400));
    // Half a minute and more of the highest rate, for which nothing is given back.
    Pace::depart(&strategy, start, 400);
    Pace::observe(&strategy, &Outcome::new(start, start + TRIP).with_failed(400));
    let throttled = |at: Instant| {
        Pace::depart(&strategy, at, 100);
        let outcome = Outcome::new(at, at + TRIP).with_throttled(100).with_fresh(100, 100);
        Pace::observe(&strategy, &outcome);
    };
    (1..=4).for_each(|call| throttled(start + call * TRIP));
    assert_eq!(strategy.snapshot().state, PaceState::Outage);
    (1..=9).for_each(|second| throttled(start + Duration::from_secs(second)));
    let recovered_at = start + Duration::from_secs(10);
    Pace::depart(&strategy, recovered_at, 1);
    Pace::observe(
        &strategy,
        &Outcome::new(recovered_at, recovered_at + TRIP).with_accepted(1),
    );
    assert_ne!(strategy.snapshot().state, PaceState::Outage);
    let leaves = |second| {
        matches!(
            Pace::admit(&strategy, start + Duration::from_secs(second), &Waiter::new(1)),
            Admission::Go(_)
        )
    };
    assert!((11..40).all(|second| !leaves(second)) && (41..60).any(leaves));
}
