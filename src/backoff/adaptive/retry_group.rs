//! Retries of entries that are rejected for reasons of their own: a group with a pace of its own.

/// Entries a second at first.
const FIRST: f64 = 10.0;

/// The lowest pace, as a share of the capacity, and in entries a second: what asking for nothing may cost.
const LEAST_SHARE: f64 = 0.004;
const LEAST: f64 = 0.5;

/// Entries that rest when it begins go freely for so long, in seconds: most of them are no part of it.
const GRACE: f64 = 0.2;

/// By how much an accepted retry raises the pace, and a rejected one lowers it. They balance where one of seven is rejected.
/// While none is, the pace leaves all bounds after the time in which twenty are sent at first.
const RAISE: f64 = 1.05;
const LOWER: f64 = 0.75;

/// One call raises it at most by this.
const MOST: f64 = 2.0;

/// One burst of unused turns, in seconds.
const BURST: f64 = 0.1;

/// The longest time until an entry asks again, in seconds: the pace may have risen.
const PATIENCE: f64 = 1.0;

/// The golden ratio, without its whole part.
const GOLDEN: f64 = 0.618_033_988_75;

/// The group ends when its pace is this part of the capacity: it holds nothing up any more.
const ENDS: f64 = 0.5;

/// The paced group.
#[derive(Debug, Default)]
pub(super) struct RetryGroup {
    /// Entries a second; `None` as long as retries fare as all entries do.
    pace: Option<f64>,
    begun_at: f64,
    turns: f64,
    reckoned_at: f64,
    /// Until when turns have been promised.
    promised_until: f64,
    /// Turns of entries that were rejected for the pace.
    given: f64,
    /// Spreads the others.
    spread: f64,
}

impl RetryGroup {
    pub(super) fn is_active(&self) -> bool {
        self.pace.is_some()
    }

    pub(super) fn begin(&mut self, now: f64) {
        *self = Self {
            pace: Some(FIRST),
            begun_at: now,
            reckoned_at: now,
            ..Self::default()
        };
    }

    /// So many of the entries that were just rejected are no part of it: they ask next, and need not wait.
    pub(super) fn give(&mut self, turns: f64) {
        self.given = turns;
    }

    /// Whether there are such turns.
    pub(super) fn gives(&self) -> bool {
        self.given >= 1.0
    }

    /// How long an entry has to wait for its turn, in seconds.
    pub(super) fn hold(&mut self, now: f64) -> f64 {
        let Some(pace) = self.pace.filter(|_| now >= self.begun_at + GRACE) else {
            return 0.0;
        };
        if self.gives() {
            self.given -= 1.0;
            return 0.0;
        }
        let earned = pace * (now - self.reckoned_at).max(0.0);
        self.turns = (self.turns + earned).min((pace * BURST).max(1.0));
        self.reckoned_at = now;
        if self.turns >= 1.0 {
            self.turns -= 1.0;
            return 0.0;
        }
        let turn = self.promised_until.max(now) + 1.0 / pace;
        if turn <= now + PATIENCE {
            self.promised_until = turn;
            return turn - now;
        }
        // Not all at the same time: steps of the golden ratio are spread evenly.
        self.spread = (self.spread + GOLDEN).fract();
        PATIENCE * f64::midpoint(1.0, self.spread)
    }

    /// Hears what became of retries.
    pub(super) fn hear(&mut self, sent: f64, rejected: f64, capacity: f64) {
        let Some(pace) = self.pace.filter(|_| sent > 0.0) else {
            return;
        };
        let accepted = sent - rejected;
        let factor = RAISE.powf(accepted).min(MOST) * LOWER.powf(rejected);
        let pace = (pace * factor).max(LEAST.max(LEAST_SHARE * capacity));
        self.pace = (pace < ENDS * capacity).then_some(pace);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries that go within so many seconds, of 200 that ask whenever they are told to.
    fn turns(group: &mut RetryGroup, from: f64, seconds: f64) -> f64 {
        let mut entries = vec![from; 200];
        let mut turns = 0.0;
        for tick in 0..1000 {
            let now = from + seconds * f64::from(tick) / 1000.0;
            for entry in entries.iter_mut().filter(|entry| **entry <= now) {
                let hold = group.hold(now);
                turns += f64::from(u8::from(hold <= 0.0));
                *entry = now + if hold > 0.0 { hold } else { 1.0 };
            }
        }
        turns
    }

    #[test]
    fn nobody_is_held_as_long_as_retries_fare_as_all_entries_do() {
        let mut group = RetryGroup::default();
        group.hear(25.0, 25.0, 1000.0);
        assert!(!group.is_active() && group.hold(1.0) <= 0.0);
    }

    #[test]
    fn however_many_wait_they_go_at_the_pace() {
        let mut group = RetryGroup::default();
        group.begin(0.0);
        let turns = turns(&mut group, GRACE, 10.0);
        assert!((90.0..=105.0).contains(&turns), "{turns}");
    }

    #[test]
    fn a_group_that_is_always_rejected_asks_now_and_then() {
        let mut group = RetryGroup::default();
        group.begin(0.0);
        (0..100).for_each(|_| group.hear(1.0, 1.0, 1000.0));
        let turns = turns(&mut group, GRACE, 10.0);
        assert!((38.0..=43.0).contains(&turns), "{turns}");
    }

    #[test]
    fn the_pace_settles_above_what_the_group_is_given() {
        let mut group = RetryGroup::default();
        group.begin(0.0);
        let mut entries = [GRACE; 200];
        let (mut sent, mut accepted) = (0.0, 0.0);
        for tick in 0..30_000 {
            let now = GRACE + 0.01 * f64::from(tick);
            for entry in entries.iter_mut().filter(|entry| **entry <= now) {
                let hold = group.hold(now);
                if hold <= 0.0 {
                    let is_accepted = accepted + 1.0 <= 30.0 * (now + 0.1);
                    accepted += f64::from(u8::from(is_accepted));
                    sent += 1.0;
                    group.hear(1.0, f64::from(u8::from(!is_accepted)), 1000.0);
                }
                *entry = now + if hold > 0.0 { hold } else { 1.0 };
            }
        }
        assert!(accepted > 0.9 * 9000.0 && sent < 1.3 * accepted, "{accepted} of {sent}");
    }

    #[test]
    fn it_ends_soon_after_its_entries_are_accepted_again() {
        let mut group = RetryGroup::default();
        group.begin(0.0);
        (0..100).for_each(|_| group.hear(1.0, 1.0, 1000.0));
        let retries = (0..100).take_while(|_| {
            group.hear(1.0, 0.0, 1000.0);
            group.is_active()
        });
        assert!((1..120).contains(&retries.count()));
    }

    #[test]
    fn who_is_no_part_of_it_does_not_wait() {
        let mut group = RetryGroup::default();
        group.begin(0.0);
        while group.hold(GRACE) <= 0.0 {}
        group.give(3.0);
        let free = (0..10).take_while(|_| group.hold(GRACE) <= 0.0);
        assert_eq!(free.count(), 3);
    }
}
