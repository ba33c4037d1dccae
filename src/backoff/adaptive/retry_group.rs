//! Retries of entries that are rejected for reasons of their own: a group with a pace of its own.

use super::answer::Answer;
use super::retries::Retries;

/// Entries a second at first.
const FIRST: f64 = 10.0;

/// The lowest pace, as a share of the capacity, and in entries a second: what asking for nothing may cost.
const LEAST_SHARE: f64 = 0.004;
const LEAST: f64 = 0.5;

/// The highest pace, as a share of the capacity: the rest is for fresh entries, since retries go first.
const MOST_SHARE: f64 = 0.5;

/// By how much an accepted retry raises the pace, and a rejected one lowers it. They balance where one of seven is rejected.
const RAISE: f64 = 1.05;
const LOWER: f64 = 0.75;

/// One call raises it at most by this.
const MOST: f64 = 2.0;

/// Unused turns are kept for so long, in seconds.
const BURST: f64 = 0.1;

/// The longest time until an entry asks again, in seconds; the shortest is half of it. When none had to wait for so long, there
/// is no group any more.
const PATIENCE: f64 = 1.0;

/// The golden ratio, without its whole part.
const GOLDEN: f64 = 0.618_033_988_75;

/// Retries are judged by calls of whose fresh entries at most this share was rejected.
const FEW_REJECTED: f64 = 0.25;

/// Finds out whether retries are rejected for reasons of their own, and paces them by themselves as long as they are.
#[derive(Debug, Default)]
pub(super) struct RetryGroup {
    retries: Retries,
    /// Entries a second; `None` as long as retries fare as all entries do.
    pace: Option<f64>,
    /// When an entry had to wait last.
    held_at: f64,
    turns: f64,
    reckoned_at: f64,
    /// Spreads the moments at which entries ask again.
    spread: f64,
}

impl RetryGroup {
    /// Retries are paced by themselves.
    pub(super) fn is_active(&self) -> bool {
        self.pace.is_some()
    }

    /// How long an entry has to wait until it asks again for its turn, in seconds.
    pub(super) fn hold(&mut self, now: f64) -> f64 {
        let Some(pace) = self.pace else {
            return 0.0;
        };
        let earned = pace * (now - self.reckoned_at).max(0.0);
        self.turns = (self.turns + earned).min((pace * BURST).max(1.0));
        self.reckoned_at = now;
        if self.turns >= 1.0 {
            self.turns -= 1.0;
            return 0.0;
        }
        self.held_at = now;
        // Not all at the same time: steps of the golden ratio are spread evenly.
        self.spread = (self.spread + GOLDEN).fract();
        PATIENCE * f64::midpoint(1.0, self.spread)
    }

    /// Whether retries fare as fresh entries do, so that it is mere chance which entries are rejected again.
    pub(super) fn are_unlucky(&self) -> bool {
        self.retries.are_unlucky()
    }

    /// Retries that are rejected while the fresh entries of the same calls are accepted have reasons of their own.
    pub(super) fn hear(&mut self, answer: &Answer, capacity: f64) {
        let (fresh, retries) = answer.fresh_and_retries();
        self.retries.hear(fresh, retries);
        let Some(pace) = self.pace else {
            if self.retries.are_at_fault() {
                self.begin(answer.now);
            }
            return;
        };
        if answer.now - self.held_at > PATIENCE {
            self.pace = None;
        } else if fresh.1 <= FEW_REJECTED * fresh.0 {
            let factor = RAISE.powf(retries.0 - retries.1).min(MOST) * LOWER.powf(retries.1);
            let least = LEAST.max(LEAST_SHARE * capacity);
            self.pace = Some((pace * factor).min(MOST_SHARE * capacity).max(least));
        }
    }

    fn begin(&mut self, now: f64) {
        self.retries.acquit();
        self.pace = Some(FIRST);
        self.held_at = now;
        self.turns = 0.0;
        self.reckoned_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::assert_about;
    use super::*;

    /// An answer at a moment: fresh entries and retries, and how many of each were rejected.
    fn answer(now: f64, fresh: (f64, f64), retries: (f64, f64)) -> Answer {
        let (sent, rejected) = (fresh.0 + retries.0, fresh.1 + retries.1);
        Answer {
            sent_at: now,
            seen_at: now,
            now,
            sent,
            accepted: sent - rejected,
            rejected,
            fresh: fresh.0,
            fresh_rejected: fresh.1,
        }
    }

    /// A group that has just begun, as retries are rejected and fresh entries are not.
    fn begun() -> RetryGroup {
        let mut group = RetryGroup::default();
        while !group.is_active() {
            group.hear(&answer(0.0, (25.0, 1.0), (2.0, 2.0)), 1000.0);
        }
        group
    }

    /// Entries that go within so many seconds, of 200 that ask whenever they are told to.
    fn turns(group: &mut RetryGroup, seconds: f64) -> f64 {
        let mut entries = vec![0.0; 200];
        let mut turns = 0.0;
        for tick in 0..1000 {
            let now = seconds * f64::from(tick) / 1000.0;
            for entry in entries.iter_mut().filter(|entry| **entry <= now) {
                let hold = group.hold(now);
                turns += f64::from(u8::from(hold <= 0.0));
                *entry = now + if hold > 0.0 { hold } else { 1.0 };
            }
        }
        turns
    }

    #[test]
    fn no_entry_is_held_as_long_as_retries_fare_as_all_entries_do() {
        let mut group = RetryGroup::default();
        for _ in 0..100 {
            group.hear(&answer(0.0, (20.0, 10.0), (10.0, 5.0)), 1000.0);
        }
        assert!(!group.is_active() && group.hold(1.0) <= 0.0);
    }

    #[test]
    fn however_many_wait_they_go_at_the_pace() {
        let turns = turns(&mut begun(), 10.0);
        assert!((85.0..=105.0).contains(&turns), "{turns}");
    }

    #[test]
    fn a_group_that_is_always_rejected_asks_now_and_then() {
        let mut group = begun();
        for _ in 0..100 {
            group.hear(&answer(0.0, (25.0, 0.0), (1.0, 1.0)), 1000.0);
        }
        let turns = turns(&mut group, 10.0);
        assert!((34.0..=43.0).contains(&turns), "{turns}");
    }

    #[test]
    fn the_pace_settles_above_what_the_group_is_given() {
        let mut group = begun();
        let mut entries = [0.0; 200];
        let (mut sent, mut accepted) = (0.0, 0.0);
        for tick in 0..30_000 {
            let now = 0.01 * f64::from(tick);
            for entry in entries.iter_mut().filter(|entry| **entry <= now) {
                let hold = group.hold(now);
                if hold <= 0.0 {
                    let is_accepted = accepted + 1.0 <= 30.0 * (now + 0.1);
                    accepted += f64::from(u8::from(is_accepted));
                    sent += 1.0;
                    let rejected = f64::from(u8::from(!is_accepted));
                    group.hear(&answer(now, (24.0, 0.0), (1.0, rejected)), 1000.0);
                }
                *entry = now + if hold > 0.0 { hold } else { 1.0 };
            }
        }
        assert!(
            accepted > 0.85 * 9000.0 && sent < 1.35 * accepted,
            "{accepted} of {sent}"
        );
    }

    #[test]
    fn it_takes_half_of_the_capacity_at_most_so_that_fresh_entries_go_on() {
        let mut group = begun();
        for _ in 0..1000 {
            group.hear(&answer(0.0, (24.0, 0.0), (1.0, 0.0)), 1000.0);
        }
        assert!(group.pace.is_some_and(|pace| (pace - 500.0).abs() < 1e-9));
    }

    #[test]
    fn it_ends_when_no_entry_has_had_to_wait_for_a_second() {
        let mut group = begun();
        while group.hold(0.9) <= 0.0 {}
        group.hear(&answer(1.8, (25.0, 0.0), (0.0, 0.0)), 1000.0);
        assert!(group.is_active(), "entries wait");
        group.hear(&answer(2.0, (25.0, 0.0), (0.0, 0.0)), 1000.0);
        assert!(!group.is_active());
    }

    #[test]
    fn an_accepted_retry_raises_the_pace_and_a_rejected_one_lowers_it_within_bounds() {
        let pace_after = |fresh, retries, capacity| {
            let mut group = begun();
            group.hear(&answer(0.0, fresh, retries), capacity);
            group.pace.unwrap()
        };
        assert_about(pace_after((20.0, 0.0), (3.0, 0.0), 1000.0), FIRST * 1.05_f64.powi(3));
        assert_about(
            pace_after((20.0, 0.0), (3.0, 1.0), 1000.0),
            FIRST * 1.05_f64.powi(2) * 0.75,
        );
        assert_about(pace_after((20.0, 0.0), (20.0, 0.0), 1000.0), 2.0 * FIRST);
        assert_about(pace_after((20.0, 0.0), (20.0, 20.0), 1000.0), 4.0);
        assert_about(pace_after((20.0, 0.0), (20.0, 20.0), 100.0), 0.5);
        assert_about(pace_after((20.0, 0.0), (3.0, 0.0), 10.0), 5.0);
        // A call of which many fresh entries are rejected as well says nothing.
        assert_about(pace_after((20.0, 5.0), (3.0, 3.0), 1000.0), FIRST * 0.75_f64.powi(3));
        assert_about(pace_after((20.0, 6.0), (3.0, 3.0), 1000.0), FIRST);
    }

    #[test]
    fn turns_that_were_not_used_are_kept_for_a_tenth_of_a_second() {
        let mut group = begun();
        group.pace = Some(50.0);
        let at_once = (0..20).filter(|_| group.hold(10.0) <= 0.0).count();
        assert_eq!(at_once, 5);
        assert_eq!((0..20).filter(|_| group.hold(10.041) <= 0.0).count(), 2);
    }
}
