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

    fn without(self, other: Self) -> Self {
        Self {
            sent: (self.sent - other.sent).max(0.0),
            rejected: (self.rejected - other.rejected).max(0.0),
        }
    }

    /// Whether far more is rejected than of the others.
    fn is_singled_out_of(self, others: Self) -> bool {
        let usual = others.rejected / others.sent.max(1.0);
        let likely = (others.rejected + ASSUMED.rejected) / (others.sent + ASSUMED.sent);
        let chance = DEVIATIONS * (self.sent * likely * (1.0 - likely)).max(0.0).sqrt();
        self.rejected >= ENOUGH
            && self.rejected >= self.sent * (TIMES * usual + MORE)
            && self.rejected >= self.sent * likely + chance
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

    /// Gives the key a pace of its own if far more of it is rejected than of the others.
    fn becomes_hot(&mut self, sent_at: Instant, now: Instant, key: &KeyOutcome, jitter: &Jitter) -> bool {
        let Some(suspect) = self.suspects.get(&key.key) else {
            return false;
        };
        let count = suspect.count;
        if !count.is_singled_out_of(self.all.without(count)) {
            return false;
        }
        let seconds = now.saturating_duration_since(suspect.since.min(sent_at)).as_secs_f64();
        let accepted = count.sent - count.rejected;
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
        self.all = self.all.without(count);
        self.hot.insert(key.key, hot);
        true
    }

    fn forget(&mut self, now: Instant) {
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
mod tests;
