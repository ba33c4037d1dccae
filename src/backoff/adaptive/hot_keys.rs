//! A pace for each hot partition key.
//!
//! A partition takes 1,000 write units a second whatever the table has left (Amazon DynamoDB Developer Guide, "Designing
//! partition keys"). Throttles of a key that asks for more say nothing of the table: the key is paced by itself, by a
//! [`Pacer`] of its own, and the table's pace does not hear of them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tracing::info;

use super::super::jitter::Jitter;
use super::count::reckoned;
use super::pacer::Pacer;
use crate::backoff::{Admission, KeyOutcome, Outcome, Waiter};
use crate::events::PACE;

/// The counts of a key, and of all others, fall to a third in this time.
const MEMORY: f64 = 1.0;

/// Rejections that single out a key.
const ENOUGH: f64 = 4.0;

/// The share of a key's entries that are rejected, compared with all others: so many times as large, and so much more.
const TIMES: f64 = 2.0;
const MORE: f64 = 0.1;

/// A key is hot only if its rejections exceed those expected from the share of all other entries by this many standard deviations. With
/// fewer, random rejections make keys hot, which then wait at a pace of their own.
const DEVIATIONS: f64 = 3.5;

/// Counted in addition to the other entries, so that the expected share is not 0 while there are few of them.
const ASSUMED: Count = Count {
    sent: 4.0,
    rejected: 1.0,
};

/// Keys with rejections that are remembered. Beyond that the oldest are forgotten: a key that is seen once is never hot.
const REMEMBERED: usize = 1_000;

/// A key of which nothing was rejected for so long is not hot any more: longer than the longest period of its pace.
const COOLED: Duration = Duration::from_secs(10);

/// The least time over which the rate of a new hot key is reckoned, in seconds.
const LEAST_SPAN: f64 = 0.02;

/// With fewer accepted entries than this, the rate of a new hot key is not known, and its pace begins with a search. A rate of none would
/// keep the key at one entry a second.
const WORTH: f64 = 4.0;

/// Entries sent for the first time, and how many of them were rejected. Both fade.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    sent: f64,
    rejected: f64,
}

impl Count {
    fn add(&mut self, sent: f64, rejected: f64) {
        self.sent += sent;
        self.rejected += rejected;
    }

    fn fade(&mut self, weight: f64) {
        self.sent *= weight;
        self.rejected *= weight;
    }
}

/// A key of which something was rejected, and that is not hot.
#[derive(Debug)]
struct Suspect {
    since: Instant,
    heard_at: Instant,
    count: Count,
}

/// A hot key.
#[derive(Debug)]
struct Hot {
    /// Identifies the key in the log, which does not contain its value.
    number: u64,
    pacer: Pacer,
    rejected_at: Instant,
}

/// The hot keys of a table, and those that may become hot.
#[derive(Debug, Default)]
pub(super) struct HotKeys {
    hot: HashMap<u64, Hot>,
    suspects: HashMap<u64, Suspect>,
    all: Count,
    heard_at: Option<Instant>,
    /// The number of keys that have become hot so far.
    numbers: u64,
}

impl HotKeys {
    pub(super) fn len(&self) -> usize {
        self.hot.len()
    }

    /// Whether there is anything to remember of the keys of an answer without rejections.
    pub(super) fn is_idle(&self) -> bool {
        self.hot.is_empty() && self.suspects.is_empty()
    }

    pub(super) fn is_hot(&self, key: u64) -> bool {
        self.hot.contains_key(&key)
    }

    /// Whether so many entries of the key may leave.
    pub(super) fn admit(&mut self, now: Instant, key: u64, wanted: usize) -> Admission {
        if self.hot.get(&key).is_some_and(|hot| hot.has_cooled(now)) {
            self.cool(|hot| hot.has_cooled(now));
        }
        match self.hot.get_mut(&key) {
            Some(hot) => hot.pacer.admit(now, Waiter::new(wanted).with_more(true)),
            None => Admission::Go(wanted),
        }
    }

    pub(super) fn depart(&mut self, now: Instant, key: u64, entries: usize) {
        if let Some(hot) = self.hot.get_mut(&key) {
            hot.pacer.depart(now, entries);
        }
    }

    /// Hears what a call came to, key by key, and marks the keys whose rejections are their own.
    pub(super) fn observe(&mut self, sent_at: Instant, now: Instant, keys: &mut [KeyOutcome], jitter: &Jitter) {
        let passed = self
            .heard_at
            .map_or(0.0, |at| now.saturating_duration_since(at).as_secs_f64());
        self.heard_at = Some(now);
        self.all.fade((-passed / MEMORY).exp());
        let is_whole = keys.iter().all(|key| key.throttled == key.sent);
        let is_mixed = keys.len() > 1;
        for key in keys.iter_mut() {
            if let Some(hot) = self.hot.get_mut(&key.key) {
                hot.hear(sent_at, now, key, jitter);
                key.is_hot = true;
            } else {
                let (sent, rejected) = key.first_attempts;
                self.all.add(reckoned(sent), reckoned(rejected));
            }
        }
        // A call of many keys that is throttled as a whole says nothing of any of them.
        if !(is_whole && is_mixed) {
            for key in keys.iter_mut().filter(|key| !key.is_hot) {
                self.suspect(now, key);
                key.is_hot = self.becomes_hot(sent_at, now, key, jitter);
            }
        }
        self.forget(now);
    }

    fn suspect(&mut self, now: Instant, key: &KeyOutcome) {
        let (sent, rejected) = key.first_attempts;
        if rejected == 0 && !self.suspects.contains_key(&key.key) {
            return;
        }
        let suspect = self.suspects.entry(key.key).or_insert(Suspect {
            since: now,
            heard_at: now,
            count: Count::default(),
        });
        let passed = now.saturating_duration_since(suspect.heard_at).as_secs_f64();
        suspect.heard_at = now;
        suspect.count.fade((-passed / MEMORY).exp());
        suspect.count.add(reckoned(sent), reckoned(rejected));
    }

    /// Whether far more is rejected of the key than of the others.
    fn becomes_hot(&mut self, sent_at: Instant, now: Instant, key: &KeyOutcome, jitter: &Jitter) -> bool {
        let Some(suspect) = self.suspects.get(&key.key) else {
            return false;
        };
        let Count { sent, rejected } = suspect.count;
        let others_rejected = (self.all.rejected - rejected).max(0.0);
        let others_sent = (self.all.sent - sent).max(0.0);
        let others = others_rejected / others_sent.max(1.0);
        let likely = (others_rejected + ASSUMED.rejected) / (others_sent + ASSUMED.sent);
        let chance = DEVIATIONS * (sent * likely * (1.0 - likely)).max(0.0).sqrt();
        if rejected < ENOUGH || rejected / sent < TIMES * others + MORE || rejected < sent * likely + chance {
            return false;
        }
        let seconds = now.saturating_duration_since(suspect.since.min(sent_at)).as_secs_f64();
        let accepted = sent - rejected;
        let rate = (accepted >= WORTH).then(|| accepted / seconds.max(LEAST_SPAN));
        self.numbers += 1;
        let mut hot = Hot {
            number: self.numbers,
            pacer: Pacer::of_hot_key(self.numbers, rate),
            rejected_at: now,
        };
        info!(target: PACE, hot_key = hot.number, hot_keys = self.hot.len() + 1, rate, "a partition key is hot");
        hot.hear(sent_at, now, key, jitter);
        self.suspects.remove(&key.key);
        self.all.add(-sent, -rejected);
        self.hot.insert(key.key, hot);
        true
    }

    fn forget(&mut self, now: Instant) {
        self.all.sent = self.all.sent.max(0.0);
        self.all.rejected = self.all.rejected.max(0.0);
        if self.suspects.len() > REMEMBERED {
            self.suspects
                .retain(|_, suspect| now.saturating_duration_since(suspect.heard_at).as_secs_f64() < MEMORY);
            if self.suspects.len() > REMEMBERED {
                self.suspects.clear();
            }
        }
        self.cool(|hot| hot.has_cooled(now));
    }

    /// Ends the pace of hot keys, and logs it.
    fn cool(&mut self, has_cooled: impl Fn(&Hot) -> bool) {
        let mut hot_keys = self.hot.len();
        for (_, hot) in self.hot.extract_if(|_, hot| has_cooled(hot)) {
            hot_keys -= 1;
            info!(target: PACE, hot_key = hot.number, hot_keys, "a partition key is not hot any more");
        }
    }

    /// Forgets all keys. Numbers continue, so that each one identifies one key.
    pub(super) fn reset(&mut self) {
        self.cool(|_| true);
        *self = Self {
            numbers: self.numbers,
            ..Self::default()
        };
    }
}

impl Hot {
    fn has_cooled(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.rejected_at) > COOLED
    }

    fn hear(&mut self, sent_at: Instant, now: Instant, key: &KeyOutcome, jitter: &Jitter) {
        if key.throttled > 0 {
            self.rejected_at = now;
        }
        let outcome = Outcome::new(sent_at, now)
            .with_accepted(key.accepted)
            .with_throttled(key.throttled)
            .with_failed(key.sent - key.accepted - key.throttled)
            .with_fresh(key.fresh, key.fresh_throttled);
        self.pacer.observe(&outcome, jitter);
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Calls of so many entries of each key, ten milliseconds apart; of the first key so many are throttled.
    struct Calls {
        keys: HotKeys,
        jitter: Jitter,
        now: Instant,
    }

    impl Calls {
        fn new() -> Self {
            Self {
                keys: HotKeys::default(),
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
                .map(|(key, sent, throttled)| outcome(*key, *sent, *throttled))
                .collect();
            self.keys.observe(sent_at, self.now, &mut outcomes, &self.jitter);
            outcomes.iter().map(|outcome| outcome.is_hot).collect()
        }
    }

    /// Entries of a key that all come for the first time.
    fn outcome(key: u64, sent: usize, throttled: usize) -> KeyOutcome {
        KeyOutcome {
            sent,
            accepted: sent - throttled,
            throttled,
            fresh: sent,
            fresh_throttled: throttled,
            first_attempts: (sent, throttled),
            ..KeyOutcome::new(key)
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
        let loads = (0..100).filter(|_| becomes_hot()).count();
        // 12, and 43 if a share twice that of the others were enough.
        assert!(loads <= 20, "{loads} of 100 loads have a hot key");
    }

    #[test]
    fn one_entry_that_is_rejected_again_and_again_makes_no_key_hot() {
        let mut calls = Calls::new();
        calls.call(&[(1, 1, 1), (2, 24, 0)]);
        let again = KeyOutcome {
            fresh: 0,
            fresh_throttled: 0,
            first_attempts: (0, 0),
            ..outcome(1, 1, 1)
        };
        for _ in 0..20 {
            calls
                .keys
                .observe(calls.now, calls.now, &mut [again, outcome(2, 24, 0)], &calls.jitter);
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
        let mut accepted = 0;
        for _ in 0..100 {
            // Its partition takes ten entries of each call.
            match calls.keys.admit(calls.now, 1, 25) {
                Admission::Go(entries) => {
                    calls.keys.depart(calls.now, 1, entries);
                    accepted += entries.min(10);
                    calls.call(&[(1, entries, entries.saturating_sub(10))]);
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
        calls.now += COOLED + Duration::from_secs(1);
        assert_eq!(calls.keys.admit(calls.now, 1, 25), Admission::Go(25));
        assert!(!calls.keys.is_hot(1));
    }

    #[test]
    fn keys_that_are_seen_once_take_no_memory_for_long() {
        let mut calls = Calls::new();
        for key in 0..100_000 {
            calls.call(&[(key, 1, 1), (u64::MAX, 24, 0)]);
        }
        assert!(calls.keys.suspects.len() <= REMEMBERED + 1);
    }
}
