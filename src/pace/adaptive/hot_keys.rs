//! A pace for each hot partition key.
//!
//! A partition accepts 1,000 write units a second whatever the table has left (Amazon DynamoDB Developer Guide, "Designing partition
//! keys"). Throttles of a key that asks for more say nothing about the table: the key has a [`Pacer`] of its own, and that of the table
//! does not observe them.

use std::collections::HashMap;
use std::time::Instant;

use tracing::info;

use super::evidence::{Trials, chance, variance};
use super::pacer::Pacer;
use crate::events::PACE;
use crate::jitter::Jitter;
use crate::pace::meter::to_f64;
use crate::pace::{Admission, KeyOutcome, Outcome, Waiter};

/// The counts of a key, and of all others, fade to a third in this many seconds: some congestion signals of the pace of all, each of which
/// costs a key that is slightly too fast only an entry or two. A key of which nothing was rejected for this long is no longer hot.
const MEMORY: f64 = 10.0;

/// Rejections that single out a key, at least.
const MIN_REJECTIONS: f64 = 4.0;

/// Counted in addition to the other entries, so that the expected share is not 0 while there are few of them.
const ASSUMED: Trials = Trials::new(4.0, 1.0);

/// Keys with rejections that are remembered. Beyond that those of which nothing came for a while are forgotten, or all: a key that
/// is seen once is never hot.
const MAX_SUSPECTS: usize = 1_000;

/// The least time over which the rate of a new hot key is measured, in seconds.
const MIN_SPAN: f64 = 0.02;

/// A new hot key begins with the rate of at least this many accepted entries. A rate of none would keep it at one entry a second.
const MIN_ACCEPTED: f64 = 4.0;

/// Entries that were sent for the first time. Older ones fade.
#[derive(Debug, Clone, Copy, Default)]
struct FadingCounts {
    trials: Trials,
    observed_at: Option<Instant>,
}

impl FadingCounts {
    fn fade(&mut self, now: Instant) {
        let seconds = self.observed_at.map_or(0.0, |at| seconds_between(at, now));
        self.observed_at = Some(now);
        self.trials = self.trials.weighted((-seconds / MEMORY).exp());
    }

    fn add(&mut self, key: &KeyOutcome) {
        self.trials = self.trials.plus(first_attempts(key));
    }
}

/// A key of which something was rejected, and that is not hot.
#[derive(Debug)]
struct Suspect {
    since: Instant,
    recent: FadingCounts,
    /// All entries before. They are from another time: everything may have been accepted then.
    before: FadingCounts,
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
#[derive(Debug)]
pub(super) struct HotKeys {
    /// The part of what its partition can take that a hot key takes.
    share: f64,
    hot: HashMap<u64, Hot>,
    suspects: HashMap<u64, Suspect>,
    /// All entries but those of hot keys.
    all: FadingCounts,
    /// The number of keys that have become hot so far.
    numbers: u64,
}

impl HotKeys {
    /// Each hot key takes this part of what its partition can take.
    pub(super) fn new(share: f64) -> Self {
        Self {
            share,
            hot: HashMap::new(),
            suspects: HashMap::new(),
            all: FadingCounts::default(),
            numbers: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.hot.len()
    }

    /// Whether no key is hot or has rejections, so that calls without rejections need not be observed.
    pub(super) fn is_idle(&self) -> bool {
        self.hot.is_empty() && self.suspects.is_empty()
    }

    pub(super) fn is_hot(&self, key: u64) -> bool {
        self.hot.contains_key(&key)
    }

    /// Whether this many entries of the key may leave.
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

    /// The result of a call, key by key. Marks the keys whose rejections are their own. Returns whether further keys became hot.
    pub(super) fn observe(&mut self, sent_at: Instant, now: Instant, keys: &mut [KeyOutcome], jitter: &Jitter) -> bool {
        let numbers = self.numbers;
        self.all.fade(now);
        let before = self.all;
        let is_whole = keys.iter().all(|key| key.throttled == key.sent);
        let is_mixed = keys.len() > 1;
        for key in keys.iter_mut() {
            if let Some(hot) = self.hot.get_mut(&key.key) {
                hot.observe(sent_at, now, key, jitter);
                key.is_hot = true;
            } else {
                self.all.add(key);
            }
        }
        // A call of many keys that is throttled as a whole says nothing about any of them.
        if !(is_whole && is_mixed) {
            for key in keys.iter_mut().filter(|key| !key.is_hot) {
                self.suspect(now, key, before);
                key.is_hot = self.becomes_hot(sent_at, now, key, jitter);
            }
        }
        self.forget(now);
        self.numbers > numbers
    }

    fn suspect(&mut self, now: Instant, key: &KeyOutcome, before: FadingCounts) {
        if first_attempts(key).rejected <= 0.0 && !self.suspects.contains_key(&key.key) {
            return;
        }
        let suspect = self.suspects.entry(key.key).or_insert(Suspect {
            since: now,
            recent: FadingCounts::default(),
            before,
        });
        suspect.before.fade(now);
        suspect.recent.fade(now);
        suspect.recent.add(key);
    }

    /// Gives the key a pace of its own if far more of it is rejected than of the others.
    fn becomes_hot(&mut self, sent_at: Instant, now: Instant, key: &KeyOutcome, jitter: &Jitter) -> bool {
        let Some(suspect) = self.suspects.get(&key.key) else {
            return false;
        };
        let trials = suspect.recent.trials;
        let others = without(self.all.trials, trials);
        if !is_singled_out(trials, without(others, suspect.before.trials)) {
            return false;
        }
        let seconds = seconds_between(suspect.since.min(sent_at), now);
        // As much of the time has faded as of the entries.
        let seconds = MEMORY * (1.0 - (-seconds / MEMORY).exp());
        let rate = trials.not_rejected().max(MIN_ACCEPTED) / seconds.max(MIN_SPAN);
        self.numbers += 1;
        let mut hot = Hot {
            number: self.numbers,
            pacer: Pacer::of_hot_key(self.numbers, rate, self.share),
            rejected_at: now,
        };
        info!(target: PACE, hot_key = hot.number, hot_keys = self.hot.len() + 1, rate, "a partition key is hot");
        hot.observe(sent_at, now, key, jitter);
        self.suspects.remove(&key.key);
        self.all.trials = others;
        self.hot.insert(key.key, hot);
        true
    }

    fn forget(&mut self, now: Instant) {
        if self.suspects.len() > MAX_SUSPECTS {
            let is_recent =
                |recent: &FadingCounts| recent.observed_at.is_some_and(|at| seconds_between(at, now) < MEMORY);
            self.suspects.retain(|_, suspect| is_recent(&suspect.recent));
            if self.suspects.len() > MAX_SUSPECTS {
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
            info!(target: PACE, hot_key = hot.number, hot_keys, "a partition key is no longer hot");
        }
    }

    /// Forgets all keys. Numbers continue, so that each one identifies one key.
    pub(super) fn reset(&mut self) {
        self.cool(|_| true);
        *self = Self {
            numbers: self.numbers,
            ..Self::new(self.share)
        };
    }
}

impl Hot {
    fn has_cooled(&self, now: Instant) -> bool {
        seconds_between(self.rejected_at, now) > MEMORY
    }

    fn observe(&mut self, sent_at: Instant, now: Instant, key: &KeyOutcome, jitter: &Jitter) {
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

fn first_attempts(key: &KeyOutcome) -> Trials {
    let (sent, rejected) = key.first_attempts;
    Trials::new(to_f64(sent), to_f64(rejected))
}

/// All trials without these. They may have faded differently.
fn without(all: Trials, these: Trials) -> Trials {
    let left = all.minus(these);
    Trials::new(left.sent.max(0.0), left.rejected.max(0.0))
}

/// Whether more is rejected than of the others, and not by chance.
fn is_singled_out(trials: Trials, others: Trials) -> bool {
    let others_and_assumed = others.plus(ASSUMED);
    let expected = others_and_assumed.rejected / others_and_assumed.sent;
    trials.rejected >= MIN_REJECTIONS
        && trials.rejected >= trials.sent * expected + chance(variance(trials.sent, expected))
}

fn seconds_between(earlier: Instant, later: Instant) -> f64 {
    later.saturating_duration_since(earlier).as_secs_f64()
}

#[cfg(test)]
mod tests;
