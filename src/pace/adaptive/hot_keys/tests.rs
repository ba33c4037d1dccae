use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::super::tests::{assert_about, first_attempts};
use super::*;
use crate::pace::PaceState;

/// Calls of this many entries of each key, ten milliseconds apart; of the first key this many are throttled.
struct Calls {
    keys: HotKeys,
    jitter: Jitter,
    now: Instant,
}

impl Calls {
    fn new() -> Self {
        Self::sharing(1.0)
    }

    fn sharing(share: f64) -> Self {
        Self {
            keys: HotKeys::new(share),
            jitter: Jitter::seeded(1),
            now: Instant::now(),
        }
    }

    /// Whether the throttles of each key are its own.
    fn call(&mut self, keys: &[(u64, usize, usize)]) -> Vec<bool> {
        let sent_at = self.now;
        self.now += Duration::from_millis(10);
        let mut outcomes: Vec<KeyOutcome> = keys
            .iter()
            .map(|(key, sent, throttled)| first_attempts(*key, *sent, *throttled))
            .collect();
        self.keys.observe(sent_at, self.now, &mut outcomes, &self.jitter);
        outcomes.iter().map(|outcome| outcome.is_hot).collect()
    }
}

#[test]
fn a_key_that_is_rejected_while_others_are_accepted_is_hot() {
    let mut calls = Calls::new();
    assert_eq!(calls.call(&[(1, 15, 0), (2, 10, 0)]), [false, false]);
    assert_eq!(calls.call(&[(1, 15, 2), (2, 10, 0)]), [false, false]);
    assert_eq!(calls.call(&[(1, 15, 8), (2, 10, 0)]), [true, false]);
    assert!(calls.keys.is_hot(1) && !calls.keys.is_hot(2));
}

#[test]
fn a_hot_key_takes_no_more_than_the_share_of_its_partition() {
    let leaves_in_a_fifth_of_a_second = |share| {
        let mut calls = Calls::sharing(share);
        calls.call(&[(1, 20, 10), (2, 100, 0)]);
        let start = calls.now;
        let leaves = |milli| {
            let now = start + Duration::from_millis(milli);
            match calls.keys.admit(now, 1, 1) {
                Admission::Go(_) => {
                    calls.keys.depart(now, 1, 1);
                    true
                }
                Admission::WaitUntil(_) => false,
            }
        };
        (0..200).map(leaves).filter(|leaves| *leaves).count()
    };
    let [all, half] = [1.0, 0.5].map(leaves_in_a_fifth_of_a_second);
    assert!(all > 60 && half * 10 <= all * 6, "{half} instead of {all}");
}

#[test]
fn a_key_that_was_never_rejected_is_not_remembered() {
    let mut calls = Calls::new();
    calls.call(&[(1, 15, 0), (2, 10, 0)]);
    assert!(calls.keys.is_idle());
    calls.call(&[(1, 15, 1), (2, 10, 0)]);
    assert!(!calls.keys.is_idle());
}

#[test]
fn a_table_that_rejects_all_keys_alike_makes_none_of_them_hot() {
    let mut calls = Calls::new();
    for _ in 0..100 {
        assert_eq!(calls.call(&[(1, 12, 4), (2, 13, 4)]), [false, false]);
    }
}

#[test]
fn chance_seldom_makes_a_key_hot_however_few_keys_there_are() {
    let mut random = SmallRng::seed_from_u64(1);
    let mut becomes_hot = || {
        let mut calls = Calls::new();
        (0..1_000).any(|call| {
            let is_rejected = random.random_bool(0.26);
            calls.call(&[(call % 3, 1, usize::from(is_rejected))]) == [true]
        })
    };
    let loads = (0..1_000).filter(|_| becomes_hot()).count();
    // About 230, and more than 400 if a share twice that of the others were enough.
    assert!(loads <= 260, "{loads} of 1,000 loads have a hot key");
}

#[test]
fn one_entry_that_is_rejected_again_and_again_makes_no_key_hot() {
    let mut calls = Calls::new();
    calls.call(&[(1, 1, 1), (2, 24, 0)]);
    let again = KeyOutcome {
        fresh: 0,
        fresh_throttled: 0,
        first_attempts: (0, 0),
        ..first_attempts(1, 1, 1)
    };
    for _ in 0..20 {
        calls.keys.observe(
            calls.now,
            calls.now,
            &mut [again, first_attempts(2, 24, 0)],
            &calls.jitter,
        );
    }
    assert!(!calls.keys.is_hot(1));
}

#[test]
fn a_call_of_many_keys_that_is_throttled_as_a_whole_blames_none_of_them() {
    let mut calls = Calls::new();
    for _ in 0..20 {
        assert_eq!(calls.call(&[(1, 12, 12), (2, 13, 13)]), [false, false]);
    }
    assert!(calls.keys.is_idle());
}

#[test]
fn a_hot_key_waits_for_its_own_pace_and_others_do_not() {
    let mut calls = Calls::new();
    calls.call(&[(1, 25, 20), (2, 10, 0)]);
    let mut sent = 0;
    for _ in 0..100 {
        if let Admission::Go(entries) = calls.keys.admit(calls.now, 1, 25) {
            calls.keys.depart(calls.now, 1, entries);
            sent += entries;
        }
        assert_eq!(calls.keys.admit(calls.now, 2, 25), Admission::Go(25));
        calls.now += Duration::from_millis(1);
    }
    // Five entries were accepted in ten milliseconds.
    assert!((20..=100).contains(&sent), "{sent} entries in a tenth of a second");
}

#[test]
fn a_hot_key_of_which_nothing_was_accepted_yet_finds_its_pace_within_a_second() {
    let mut calls = Calls::new();
    calls.call(&[(2, 10, 0)]);
    assert_eq!(calls.call(&[(1, 25, 25)]), [true]);
    let (mut accepted, mut unused) = (0, 0);
    for _ in 0..100 {
        // Its partition takes ten entries in ten milliseconds.
        unused += 10;
        match calls.keys.admit(calls.now, 1, 25) {
            Admission::Go(entries) => {
                calls.keys.depart(calls.now, 1, entries);
                let taken = entries.min(unused);
                accepted += taken;
                unused -= taken;
                calls.call(&[(1, entries, entries - taken)]);
            }
            Admission::WaitUntil(_) => calls.now += Duration::from_millis(10),
        }
    }
    assert!(accepted > 100, "{accepted} entries in a second");
}

#[test]
fn a_key_of_which_nothing_is_rejected_for_long_is_not_hot_any_more() {
    let mut calls = Calls::new();
    calls.call(&[(1, 25, 20), (2, 10, 0)]);
    calls.now += Duration::from_secs_f64(MEMORY + 1.0);
    assert_eq!(calls.keys.admit(calls.now, 1, 25), Admission::Go(25));
    assert!(!calls.keys.is_hot(1));
}

#[test]
fn keys_that_are_seen_once_take_no_memory_for_long() {
    let mut calls = Calls::new();
    for key in 0..100_000 {
        calls.call(&[(key, 1, 1), (u64::MAX, 24, 0)]);
    }
    assert!(calls.keys.suspects.len() <= MAX_SUSPECTS + 1);
}

#[test]
fn a_key_is_singled_out_by_rejections_that_are_many_and_far_more_than_those_of_others() {
    let is_hot = |rejected, sent, others: (f64, f64)| {
        is_singled_out(Trials::new(sent, rejected), Trials::new(others.1, others.0))
    };
    // At least four.
    assert!(is_hot(4.0, 4.0, (0.0, 1000.0)) && !is_hot(3.9, 3.9, (0.0, 1000.0)));
    // A twentieth of the others, as five of a hundred with those assumed: 1 of 20 is expected, and 3.41 more by chance.
    assert!(is_hot(4.42, 20.0, (4.0, 96.0)) && !is_hot(4.41, 20.0, (4.0, 96.0)));
    assert!(!is_hot(4.0, 4.0, (0.0, 0.0)) && is_hot(5.0, 5.0, (0.0, 0.0)));
}

#[test]
fn what_is_known_of_all_keys_falls_to_a_third_in_ten_seconds_and_has_no_share_of_a_hot_key() {
    let mut calls = Calls::new();
    calls.call(&[(1, 15, 3), (2, 10, 0)]);
    assert_about(calls.keys.all.trials.sent, 25.0);
    assert_about(calls.keys.all.trials.rejected, 3.0);
    calls.now += Duration::from_millis(9990);
    calls.call(&[(2, 10, 1)]);
    let kept = (-1.0_f64).exp();
    assert_about(calls.keys.all.trials.sent, 25.0 * kept + 10.0);
    assert_about(calls.keys.all.trials.rejected, 3.0 * kept + 1.0);
    calls.now += Duration::from_millis(9990);
    assert_eq!(calls.call(&[(1, 25, 24)]), [true]);
    assert_about(calls.keys.all.trials.sent, (10.0 * kept + 10.0) * kept);
    assert_about(calls.keys.all.trials.rejected, kept);
}

#[test]
fn a_hot_key_begins_with_what_was_accepted_of_it_since_its_first_rejection() {
    let mut calls = Calls::new();
    calls.call(&[(1, 10, 1), (2, 100, 0)]);
    calls.now += Duration::from_millis(90);
    assert_eq!(calls.call(&[(1, 10, 8), (2, 100, 0)]), [true, false]);
    let kept = (-0.01_f64).exp();
    let capacity = calls.keys.hot[&1].pacer.snapshot(calls.now, 0).capacity.unwrap();
    assert_about(capacity, (9.0 * kept + 2.0) / (10.0 * (1.0 - (-0.01_f64).exp())));
}

#[test]
fn a_key_is_compared_with_what_became_of_the_others_in_the_same_time() {
    let mut calls = Calls::new();
    for _ in 0..100 {
        calls.call(&[(1, 5, 0), (2, 20, 0)]);
    }
    // The table has no capacity left: half of each key is rejected.
    for _ in 0..10 {
        assert_eq!(calls.call(&[(1, 5, 2), (2, 20, 10)]), [false, false]);
    }
}

#[test]
fn hot_keys_that_share_a_partition_neither_search_nor_probe_nor_take_each_others_use_for_a_loss() {
    let mut calls = Calls::new();
    calls.call(&[(1, 25, 20), (2, 100, 0)]);
    for call in 0..1_000_usize {
        let Admission::Go(entries) = calls.keys.admit(calls.now, 1, 25) else {
            calls.now += Duration::from_millis(10);
            continue;
        };
        calls.keys.depart(calls.now, 1, entries);
        // Whatever its pace, other keys leave it two of three entries.
        calls.call(&[(1, entries, (entries + call % 3) / 3)]);
        let snapshot = calls.keys.hot[&1].pacer.snapshot(calls.now, 0);
        assert!(
            matches!(snapshot.state, PaceState::Steady | PaceState::Outage),
            "{snapshot:?}"
        );
    }
}

#[test]
fn of_a_thousand_keys_with_rejections_those_of_the_last_seconds_are_remembered() {
    let mut calls = Calls::new();
    for key in 0..1000 {
        if key == 400 {
            calls.now += Duration::from_secs(10);
        }
        let now = calls.now;
        let mut one = [first_attempts(key, 1, 1)];
        calls.keys.observe(now, now, &mut one, &calls.jitter);
    }
    assert_eq!(calls.keys.suspects.len(), 1000);
    let now = calls.now;
    calls
        .keys
        .observe(now, now, &mut [first_attempts(1000, 1, 1)], &calls.jitter);
    assert_eq!(calls.keys.suspects.len(), 601);
    assert!(calls.keys.suspects.contains_key(&400) && !calls.keys.suspects.contains_key(&399));
}

#[test]
fn entries_of_a_hot_key_that_fail_are_in_flight_no_more_and_keys_have_numbers_of_their_own_after_a_reset() {
    let mut calls = Calls::new();
    calls.call(&[(1, 25, 20), (2, 100, 0)]);
    assert_eq!(calls.keys.hot[&1].number, 1);
    for _ in 0..2 {
        calls.keys.depart(calls.now, 1, 25);
    }
    let failed = KeyOutcome {
        accepted: 10,
        ..first_attempts(1, 25, 5)
    };
    calls.keys.observe(calls.now, calls.now, &mut [failed], &calls.jitter);
    assert_eq!(calls.keys.hot[&1].pacer.snapshot(calls.now, 0).in_flight, 25);
    calls.keys.reset();
    assert!(calls.keys.is_idle());
    calls.call(&[(3, 25, 20), (2, 100, 0)]);
    assert_eq!(calls.keys.hot[&3].number, 2);
}
