use super::super::tests::{answer_to, assert_about};
use super::*;
use crate::backoff::testing::retry;

/// An answer at a moment: fresh entries and retries, and how many of each were rejected.
fn answer(now: f64, fresh: (f64, f64), retries: (f64, f64)) -> Observation {
    answer_to(now, Trials::new(fresh.0, fresh.1), Trials::new(retries.0, retries.1))
}

fn is_singled_out(fresh: (f64, f64), retries: (f64, f64)) -> bool {
    RetryPace::are_singled_out(&answer(0.0, fresh, retries))
}

#[test]
fn retries_rest_ever_longer() {
    let jitter = Jitter::seeded(1);
    for (number, millis) in [(1, 50), (2, 50), (3, 100), (8, 3200), (9, 5000), (u32::MAX, 5000)] {
        let delay = retry_delay(retry(number, None), &jitter);
        let longest = Duration::from_millis(millis);
        assert!(longest / 2 <= delay && delay <= longest, "{number}: {delay:?}");
    }
}

#[test]
fn a_previous_delay_of_any_length_is_no_panic() {
    let delay = retry_delay(retry(9, Some(Duration::MAX)), &Jitter::seeded(1));
    assert!(delay <= MAX_DELAY, "{delay:?}");
}

#[test]
fn retries_that_are_rejected_like_all_entries_do_not_fail_on_their_own() {
    let mut retries = RetryPace::default();
    (0..100).for_each(|_| retries.compare(Trials::new(20.0, 6.0), Trials::new(10.0, 3.0)));
    assert!(!retries.fail_on_their_own());
}

#[test]
fn retries_fail_on_their_own_if_fresh_entries_of_the_same_calls_are_accepted() {
    let mut retries = RetryPace::default();
    (0..10).for_each(|_| retries.compare(Trials::new(25.0, 1.0), Trials::new(2.0, 2.0)));
    assert!(retries.fail_on_their_own());
    retries.start_pace(0.0, 1000.0);
    assert!(!retries.fail_on_their_own());
}

#[test]
fn few_retries_that_are_all_rejected_while_no_fresh_entry_is_are_singled_out() {
    assert!(!is_singled_out((24.0, 0.0), (1.0, 0.0)));
    assert!(!is_singled_out((4.0, 0.0), (1.0, 1.0)));
    assert!(!is_singled_out((15.0, 0.0), (10.0, 1.0)));
    assert!(!is_singled_out((23.0, 1.0), (2.0, 2.0)));
    assert!(is_singled_out((23.0, 0.0), (2.0, 2.0)));
}

#[test]
fn retries_without_fresh_entries_for_comparison_prove_nothing() {
    let mut retries = RetryPace::default();
    (0..100).for_each(|_| retries.compare(Trials::new(0.0, 0.0), Trials::new(1.0, 1.0)));
    (0..100).for_each(|_| retries.compare(Trials::new(20.0, 20.0), Trials::new(5.0, 5.0)));
    assert!(!retries.fail_on_their_own());
}

#[test]
fn as_many_rejected_retries_are_expected_as_of_all_entries_of_their_calls() {
    let mut retries = RetryPace::default();
    retries.compare(Trials::new(20.0, 6.0), Trials::new(10.0, 3.0));
    assert_about(retries.mixed.sent, 10.0);
    assert_about(retries.mixed.rejected, 3.0);
    assert_about(retries.expected, 3.0);
    assert_about(retries.variance, SPREAD * 100.0 * 0.3 * 0.7);
    // A fifteenth of what was observed before is forgotten.
    retries.compare(Trials::new(10.0, 0.0), Trials::new(10.0, 8.0));
    let kept = 1.0 - 10.0 / MAX_MIXED;
    assert_about(retries.mixed.sent, kept * 10.0 + 10.0);
    assert_about(retries.mixed.rejected, kept * 3.0 + 8.0);
    assert_about(retries.expected, kept * 3.0 + 4.0);
    let variance = kept * SPREAD * 100.0 * 0.3 * 0.7 + SPREAD * 100.0 * 0.4 * 0.6;
    assert_about(retries.variance, variance);
    // Calls of either alone are not compared.
    retries.compare(Trials::new(10.0, 5.0), Trials::new(0.0, 0.0));
    retries.compare(Trials::new(0.0, 0.0), Trials::new(10.0, 5.0));
    assert_about(retries.expected, kept * 3.0 + 4.0);
}

#[test]
fn retries_fail_on_their_own_if_most_of_them_are_rejected_and_that_not_by_chance() {
    let fail = |sent, rejected, expected| {
        let retries = RetryPace {
            mixed: Trials::new(sent, rejected),
            expected,
            variance: 4.0,
            ..RetryPace::default()
        };
        retries.fail_on_their_own()
    };
    // One and three and a half deviations more than expected.
    assert!(fail(20.0, 12.0, 3.9) && !fail(20.0, 12.0, 4.1));
    assert!(!fail(20.0, 10.0, 0.0) && fail(20.0, 10.1, 0.0));
}

#[test]
fn rejected_retries_are_singled_out_where_chance_brings_that_about_seldom() {
    // One of 21 places, and one of 19.
    assert!(is_singled_out((20.0, 0.0), (1.0, 1.0)) && !is_singled_out((18.0, 0.0), (1.0, 1.0)));
    assert!(is_singled_out((18.0, 0.0), (3.0, 3.0)) && !is_singled_out((18.0, 0.0), (3.0, 2.0)));
    assert!(!is_singled_out((25.0, 0.0), (0.0, 0.0)));
}

/// Retries that have just got a pace, as they are rejected and fresh entries are not.
fn paced() -> RetryPace {
    let mut retries = RetryPace::default();
    while !retries.are_paced() {
        retries.observe(&answer(0.0, (25.0, 1.0), (2.0, 2.0)), 1000.0);
    }
    retries
}

/// Entries that go within this many seconds, of 200 that ask whenever they may.
fn turns(retries: &mut RetryPace, seconds: f64) -> f64 {
    let mut entries = vec![0.0; 200];
    let mut turns = 0.0;
    for tick in 0..1000 {
        let now = seconds * f64::from(tick) / 1000.0;
        for entry in entries.iter_mut().filter(|entry| **entry <= now) {
            let wait = retries.wait(now);
            turns += f64::from(u8::from(wait <= 0.0));
            *entry = now + if wait > 0.0 { wait } else { 1.0 };
        }
    }
    turns
}

#[test]
fn no_entry_waits_as_long_as_retries_are_rejected_like_all_entries() {
    let mut retries = RetryPace::default();
    for _ in 0..100 {
        retries.observe(&answer(0.0, (20.0, 10.0), (10.0, 5.0)), 1000.0);
    }
    assert!(!retries.are_paced() && retries.wait(1.0) <= 0.0);
}

#[test]
fn however_many_wait_they_go_at_the_pace() {
    let turns = turns(&mut paced(), 10.0);
    assert!((34.0..=43.0).contains(&turns), "{turns}");
}

#[test]
fn retries_that_are_always_rejected_leave_now_and_then() {
    let mut retries = paced();
    for _ in 0..100 {
        retries.observe(&answer(0.0, (25.0, 0.0), (1.0, 1.0)), 1000.0);
    }
    let turns = turns(&mut retries, 10.0);
    assert!((34.0..=43.0).contains(&turns), "{turns}");
}

#[test]
fn the_pace_settles_above_what_is_accepted() {
    let mut retries = paced();
    let mut entries = [0.0; 200];
    let (mut sent, mut accepted) = (0.0, 0.0);
    for tick in 0..30_000 {
        let now = 0.01 * f64::from(tick);
        for entry in entries.iter_mut().filter(|entry| **entry <= now) {
            let wait = retries.wait(now);
            if wait <= 0.0 {
                let is_accepted = accepted + 1.0 <= 30.0 * (now + 0.1);
                accepted += f64::from(u8::from(is_accepted));
                sent += 1.0;
                let rejected = f64::from(u8::from(!is_accepted));
                retries.observe(&answer(now, (24.0, 0.0), (1.0, rejected)), 1000.0);
            }
            *entry = now + if wait > 0.0 { wait } else { 1.0 };
        }
    }
    assert!(
        accepted > 0.85 * 9000.0 && sent < 1.35 * accepted,
        "{accepted} of {sent}"
    );
}

#[test]
fn it_takes_half_of_the_capacity_at_most_so_that_fresh_entries_go_on() {
    let mut retries = paced();
    for _ in 0..1000 {
        retries.observe(&answer(0.0, (24.0, 0.0), (1.0, 0.0)), 1000.0);
    }
    assert!(retries.pace.is_some_and(|pace| (pace - 500.0).abs() < 1e-9));
}

#[test]
fn it_ends_when_no_entry_has_had_to_wait_for_a_second() {
    let mut retries = paced();
    while retries.wait(0.9) <= 0.0 {}
    retries.observe(&answer(1.8, (25.0, 0.0), (0.0, 0.0)), 1000.0);
    assert!(retries.are_paced(), "entries wait");
    retries.observe(&answer(2.0, (25.0, 0.0), (0.0, 0.0)), 1000.0);
    assert!(!retries.are_paced());
}

#[test]
fn an_accepted_retry_raises_the_pace_and_a_rejected_one_lowers_it_within_bounds() {
    let pace_after = |fresh, again, capacity| {
        let mut retries = paced();
        retries.observe(&answer(0.0, fresh, again), capacity);
        retries.pace.unwrap()
    };
    // The first pace is 0.4% of the capacity.
    assert_about(pace_after((20.0, 0.0), (3.0, 0.0), 500.0), 4.0 * 1.05_f64.powi(3));
    assert_about(
        pace_after((20.0, 0.0), (3.0, 1.0), 500.0),
        4.0 * 1.05_f64.powi(2) * 0.75,
    );
    assert_about(pace_after((20.0, 0.0), (20.0, 0.0), 500.0), 8.0);
    assert_about(pace_after((20.0, 0.0), (20.0, 20.0), 500.0), 2.0);
    assert_about(pace_after((20.0, 0.0), (20.0, 20.0), 100.0), 0.5);
    assert_about(pace_after((20.0, 0.0), (3.0, 0.0), 6.0), 3.0);
}

#[test]
fn turns_that_were_not_used_are_kept_for_a_fiftieth_of_a_second() {
    let mut retries = paced();
    retries.pace = Some(250.0);
    let at_once = (0..20).filter(|_| retries.wait(10.0) <= 0.0).count();
    assert_eq!(at_once, 5);
    assert_eq!((0..20).filter(|_| retries.wait(10.009) <= 0.0).count(), 2);
}
