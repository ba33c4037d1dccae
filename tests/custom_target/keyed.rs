//! A target whose entries have partition keys, and a strategy that paces some of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_batch_delivery::backoff::details::{KeyOutcome, KeyPace, PaceDetails};
use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Outcome, Pace, Retry};
use aws_batch_delivery::targets::{Answer, Limits, Verdict};

use crate::support::scripted::{Calls, Scripted, throttle};

/// The entries of a key are numbered from this many times the key on.
pub(crate) const KEY: usize = 1_000;

/// Bytes of each entry.
pub(crate) const SIZE: usize = 10;

pub(crate) fn key_of(entry: usize) -> u64 {
    (entry / KEY) as u64
}

/// The entries of these keys, in this order.
pub(crate) fn entries(keys: impl IntoIterator<Item = u64>) -> Vec<usize> {
    let mut next = BTreeMap::new();
    let numbered = keys.into_iter().map(|key| {
        let number = next.entry(key).or_insert(usize::try_from(key).unwrap() * KEY);
        *number += 1;
        *number
    });
    numbered.collect()
}

pub(crate) fn keyed(
    per_call: usize,
    answer: impl Fn(usize, &[usize]) -> Answer + Send + Sync + 'static,
) -> (Scripted, Calls) {
    let (mut target, calls) = Scripted::new(Limits::new(per_call, 1_000), |_| SIZE, answer);
    target.partition_key = |entry| Some(key_of(entry));
    (target, calls)
}

/// Throttles entries for which `is_throttled` holds and accepts all others.
pub(crate) fn throttling(chunk: &[usize], mut is_throttled: impl FnMut(usize) -> bool) -> Answer {
    let mut verdict = |entry: &usize| {
        if is_throttled(*entry) {
            throttle()
        } else {
            Verdict::Accepted
        }
    };
    Answer::Each(chunk.iter().map(&mut verdict).collect())
}

/// Throttles entries of the key 0 in the first call alone.
pub(crate) fn throttling_at_first(number: usize, chunk: &[usize]) -> Answer {
    throttling(chunk, |entry| number == 1 && key_of(entry) == 0)
}

/// Lets the entries of some keys leave one after the other, from their first throttle on.
pub(crate) struct Keyed {
    keys: HashSet<u64>,
    /// Entries of such a key that may leave together, and the time for each of them.
    most: usize,
    gap: Duration,
    delay: Duration,
    pub(crate) state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) hot: HashMap<u64, Instant>,
    pub(crate) next: HashMap<u64, Instant>,
    pub(crate) departed: Vec<(u64, Instant, usize)>,
    pub(crate) first_attempts: HashMap<u64, (usize, usize)>,
    /// What the pace of all observes.
    pub(crate) outcomes: Vec<Outcome>,
}

impl Keyed {
    pub(crate) fn new(keys: impl IntoIterator<Item = u64>, most: usize, gap: Duration) -> Arc<Self> {
        Self::with_delay(keys, most, gap, Duration::from_millis(5))
    }

    pub(crate) fn with_delay(
        keys: impl IntoIterator<Item = u64>,
        most: usize,
        gap: Duration,
        delay: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            keys: keys.into_iter().collect(),
            most,
            gap,
            delay,
            state: Mutex::default(),
        })
    }
}

impl BackoffStrategy for Keyed {
    fn delay(&self, _: Retry) -> Duration {
        self.delay
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Keyed {
    fn observe(&self, outcome: &Outcome) {
        self.state.lock().unwrap().outcomes.push(*outcome);
    }

    fn reset(&self) {
        self.state.lock().unwrap().next.clear();
    }

    fn details(&self) -> Option<&dyn PaceDetails> {
        Some(self)
    }
}

impl PaceDetails for Keyed {
    fn key_pace(&self) -> Option<&dyn KeyPace> {
        Some(self)
    }
}

impl KeyPace for Keyed {
    fn observe(&self, _: Instant, answered_at: Instant, keys: &mut [KeyOutcome]) {
        let mut state = self.state.lock().unwrap();
        for key in keys {
            let attempts = state.first_attempts.entry(key.key).or_default();
            attempts.0 += key.first_attempts.0;
            attempts.1 += key.first_attempts.1;
            if self.keys.contains(&key.key) && key.throttled > 0 {
                state.hot.entry(key.key).or_insert(answered_at);
            }
            key.is_hot = state.hot.contains_key(&key.key);
        }
    }

    fn is_idle(&self) -> bool {
        self.state.lock().unwrap().hot.is_empty()
    }

    fn is_hot(&self, key: u64) -> bool {
        self.state.lock().unwrap().hot.contains_key(&key)
    }

    fn admit(&self, now: Instant, key: u64, wanted: usize) -> Admission {
        assert!(wanted > 0, "it is asked about a key without entries");
        match self.state.lock().unwrap().next.get(&key) {
            Some(next) if *next > now => Admission::WaitUntil(*next),
            _ => Admission::Go(wanted.min(self.most)),
        }
    }

    fn depart(&self, now: Instant, key: u64, entries: usize) {
        let gap = self.gap * u32::try_from(entries).unwrap();
        let mut state = self.state.lock().unwrap();
        state.departed.push((key, now, entries));
        state.next.insert(key, now + gap);
    }
}
