//! A pace that follows what the service can accept.
//!
//! # States
//! | from | to | when |
//! |---|---|---|
//! | Searching | Draining | a larger share is rejected than at smaller windows: the knee |
//! | Searching | Steady, and Probing at once | it is stuck: rejections go on, and the window tells nothing |
//! | Draining | Steady | the calls in flight are answered |
//! | Draining | Searching | too little was accepted to tell the capacity |
//! | Draining | Outage | nothing was accepted |
//! | Steady | Probing | rejections are unexpected; a known loss is measured again |
//! | Steady | Searching | rejections are unexpected at a pace too low for a probe |
//! | Steady, Probing | Outage | nothing is accepted any more |
//! | Probing | Steady | it is a loss, the capacity has fallen, that cannot be told, or a hot key explains it |
//! | Outage | Steady | an entry is accepted |
//! | Outage | Searching | an entry is accepted, and there is no estimate |
//! | any | Searching, or Steady at the initial rate | [`reset`](crate::backoff::Pace::reset) |
//!
//! | state | what leaves | until |
//! |---|---|---|
//! | Searching | a window of entries in flight that grows with what is accepted; if the service has announced its throughput, also calls at a quarter of that | a larger share is rejected than at smaller windows (the knee), or rejections go on (stuck) |
//! | Draining | nothing | the calls in flight are answered, for two round trips at most: what was accepted at the knee is the first estimate |
//! | Steady | the pace of the schedule | rejections that it does not explain, a known loss that is to be measured again, or nothing is accepted |
//! | Probing | 60% of what was accepted lately, then 60% of what was accepted at that, and again while the share of rejections falls | it is known whether the rejections depend on the pace, or its time is over |
//! | Outage | single entries, at most 1.25 s apart | anything is accepted |
//!
//! # What raises and lowers the pace
//! The **estimate** is what the service accepts per second. In `Steady` the **schedule** leads the pace from 15% below the estimate to 4%
//! above it within 1.5 s, and then ever faster, up to twice of what was accepted lately.
//!
//! - A **congestion signal**, a rejection in the upper part of the schedule that the baseline loss does not explain, lowers the pace: the schedule
//!   begins again. The service had no capacity left at that moment. So what it accepted since the signal before is what it can accept, at
//!   whatever pace the calls left: that changes the estimate, upwards without limit and downwards by 2% a second at most.
//! - Rejections below the estimate are **unexpected**. If they are more than chance, a probe follows. If they end at its low pace, the
//!   capacity has fallen, and the estimate follows it at once. If they go on at two low paces, they are baseline loss.
//! - The **baseline loss** is the share of calls, and of entries, that is rejected at any pace. It costs no pace, and is measured again by
//!   a probe, two seconds after one has first found it and then every twelve. A loss of up to 5% needs no probe to be found.
//! - Time without a signal raises the pace, as the schedule goes on; that finds a capacity that has grown.
//!
//! Retries that are rejected while fresh entries of the same calls are accepted fail for reasons of their own. They cost no pace, and get
//! one of their own, which each success raises and each rejection lowers.
//!
//! # Hot keys
//! A partition key of which far more is rejected than of all others in the same time gets a pacer of its own, which begins in `Steady` at
//! what was accepted of the key. It neither searches nor probes, but may have an outage: unexpected rejections lower its estimate to what was accepted lately.
//! They depend on the paces of the keys in its partition, and are never a baseline loss. The pacer of all others does not observe them,
//! and forgets the unexpected rejections before. A key stops being hot when nothing of it was rejected for ten seconds.
//!
//! # A smaller pace that was tried
//! A pace without search for a knee, probe and reviews was built and measured beside this one: a search that ends when more is rejected
//! than at smaller windows; then the schedule alone. Rejections in its low part lower the estimate by the share that was rejected, and the
//! least share of three low parts in a row is the baseline loss. It had 1,630 lines and 103 constants instead of 1,990 and 133, and was as
//! good or better with one bucket, with partitions, growth and on most starts (40 partitions of 1,000: 1.4 instead of 6.0% rejected).
//!
//! It broke where a low part has too few calls to tell a loss from a fallen capacity, so that it took rejections for a loss, which then
//! confirmed itself: whole calls rejected at 1,000 entries a second (54% instead of 2.9%), a throughput announced ten times too high (40%
//! instead of 5.2%), eight processes that start together (1.86 instead of 1.47 times the best). Ten percent of random calls at 1,000 a
//! second took 1.31 instead of 1.01 times the best, and other keys beside sorted input by 64 deliveries waited for 5.4 s instead of 1.0 s
//! (99th percentile). A low part that lasts until it has enough calls is a probe again.
//!
//! # Files
//! | file | what it decides |
//! |---|---|
//! | `pacer`, `pacer/states` | when a call may leave; every change of state, all by `Pacer::enter`, which logs them |
//! | `search` | how the window grows, and when the knee is reached |
//! | `estimate` | what the service can accept, from one congestion signal to the next |
//! | `schedule` | the pace from one signal to the next |
//! | `settings` | what the user asked for |
//! | `loss` | whether rejections are explained by the baseline loss |
//! | `probe` | whether rejections depend on the pace |
//! | `retries` | how long an entry waits before a retry; a pace for retries that fail for reasons of their own |
//! | `hot_keys` | which keys are hot |
//! | `flow` | what is in flight and was accepted lately; whether it is an outage |
//! | `outage` | when single entries ask during an outage |
//! | `evidence` | counts, sums of evidence, and what chance explains; the answer to a call as numbers |
//! | `time` | seconds, and a token bucket |

mod estimate;
mod evidence;
mod flow;
mod hot_keys;
mod loss;
mod outage;
mod pacer;
mod probe;
mod retries;
mod schedule;
mod search;
mod settings;
#[cfg(test)]
mod tests;
mod time;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hot_keys::HotKeys;
use pacer::Pacer;
use settings::Settings;

use super::admission::{Admission, Waiter};
use super::contract::{BackoffStrategy, Outcome, Pace, Retry};
use super::details::{KeyOutcome, KeyPace, PaceDetails};
use super::snapshot::PaceSnapshot;
use crate::jitter::Jitter;

/// Paces all workers together by what the service can take, which it measures.
///
/// A rejected entry tells that the service had no capacity left at that moment: a congestion signal. What the service accepts
/// from one signal to the next is what it can take. So the pace is a little below that at first, and then a little above, until
/// the next signal: few rejections, and no time lost, with one worker or a hundred.
///
/// - **Before the first signal** a window of entries in flight grows as long as more is accepted. Where the service tells its
///   throughput, as `DescribeTable` does, calls also leave at a quarter of that until something is rejected.
/// - **A capacity that has changed** is found out within a second or two, in both directions.
/// - **While the service takes nothing** single entries are sent until one is accepted, at most 1.25 s apart.
/// - **Rejections that do not depend on the pace**, of entries or of whole calls, go on when the pace is low for a moment.
///   They are a baseline loss, and cost no pace.
/// - **Hot partition keys**: throttles of a key that asks for more than its partition takes slow that key alone. Its entries wait
///   in a line of their own, and everything else goes on. From the first hot key on a delivery reads up to 30,000 entries or
///   64 MiB ahead, and packs calls from many keys in turns.
/// - **Entries rejected more than once** wait for 25 ms to 5 s. Those that the baseline loss explains wait for 2.5 to 5 ms.
///
/// Units of capacity are what is counted. All clones of the options share one pace; several processes that send to the same
/// table share its capacity about equally, without coordination.
///
/// # When it is slow
/// [`snapshot`](Self::snapshot) tells the state and the reason, and [`events::PACE`](crate::events::PACE) logs every change.
///
/// | state | meaning | what helps |
/// |---|---|---|
/// | `Searching` | nothing was rejected so far, or too little is known | more [`concurrency`](crate::DeliveryOptions::concurrency) |
/// | `Steady` | the pace is about `capacity` | more capacity of the service |
/// | `Steady`, `hot_keys` above 0 | some keys ask for more than their partitions take | partition keys that spread |
/// | `Probing` | rejections came unexpectedly, or the loss is measured again | it is over within seconds |
/// | `Outage` | the service takes nothing | look at the service |
///
/// # Weak spots
/// At a round trip of 80 ms, or as a burst ends, 1 to 3% of the entries are rejected. While a whole partition is out whose keys
/// are each seen once, every entry of it is tried once. Hot entries of a target without keys slow all others down.
/// With 20, 30 and 45% of the entries rejected at random and no limit, a short load takes 1.5, 1.8 and 7.5 times as long as without.
///
/// # Defaults
/// - `share`: 1, all that the service can take
/// - `max_rate`: none
/// - `initial_rate`: none, the search starts at a quarter of the throughput that the service tells, and at least with one call: a whole one, or
///   five entries if ten calls of them wait
/// - what is counted: units of capacity, which are entries where the service has no units
/// - no seed: delays and gaps are random
///
/// It is not `Clone`, because a copy would measure for itself. To look at what it measures, keep an `Arc` of it and hand a
/// clone of that to the options; it is a strategy as well.
///
/// ```
/// # use std::sync::Arc;
/// # use aws_batch_delivery::{DeliveryOptions, backoff::Adaptive};
/// let strategy = Arc::new(Adaptive::default().max_rate(2000.0));
/// let options = DeliveryOptions::default().backoff(Arc::clone(&strategy));
/// assert_eq!(strategy.snapshot().capacity, None);
/// ```
#[derive(Debug)]
pub struct Adaptive {
    settings: Settings,
    jitter: Jitter,
    pacer: Mutex<Pacer>,
    hot_keys: Mutex<HotKeys>,
}

#[track_caller]
fn assert_rate(name: &str, rate: f64) {
    assert!(
        rate.is_finite() && rate >= 1.0,
        "the {name} rate must be a finite number of at least 1, but is {rate}"
    );
}

impl Adaptive {
    fn new(settings: Settings, jitter: Jitter) -> Self {
        Self {
            settings,
            jitter,
            pacer: Mutex::new(Pacer::new(settings)),
            hot_keys: Mutex::new(HotKeys::new(settings.share)),
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        Self::new(self.settings, self.jitter)
    }

    /// Takes only this part of what the service can take, so that others have the rest; the same of the partition of a hot key. Default 1.
    ///
    /// What it can take is measured at the start, and again whenever something is rejected. At a lower share that is seldom,
    /// so a capacity that grows later goes unnoticed.
    ///
    /// # Panics
    /// When the share is not above 0 and at most 1.
    #[must_use]
    #[track_caller]
    pub fn share(self, share: f64) -> Self {
        assert!(
            share > 0.0 && share <= 1.0,
            "the share must be above 0 and at most 1, but is {share}"
        );
        self.with(|settings| settings.share = share)
    }

    /// Never more than this many units of capacity a second, or entries if those are [counted](Self::by_write_units), averaged
    /// over some calls. Default: as many as the service takes.
    ///
    /// # Panics
    /// When the rate is below 1, infinite or not a number.
    #[must_use]
    #[track_caller]
    pub fn max_rate(self, rate: f64) -> Self {
        assert_rate("highest", rate);
        self.with(|settings| settings.max_rate = Some(rate))
    }

    /// Starts with this many units or entries a second instead of a search, where the capacity is about known.
    ///
    /// # Panics
    /// When the rate is below 1, infinite or not a number.
    #[must_use]
    #[track_caller]
    pub fn initial_rate(self, rate: f64) -> Self {
        assert_rate("initial", rate);
        self.with(|settings| settings.initial_rate = Some(rate))
    }

    /// Whether units of capacity are counted, or entries. Default: units. All rates are in what is counted.
    ///
    /// `DynamoDB`'s capacity is in write units: one for each 1,024 bytes begun of an item, and more for its indexes or for
    /// replacing a larger one (Amazon `DynamoDB` Developer Guide, "`DynamoDB` read and write operations"). A write is charged by
    /// its size before it leaves. Each call asks for `ReturnConsumedCapacity`, which costs nothing, and the answer corrects
    /// the charge. A record of Kinesis or Firehose counts for 1 for each KiB begun. Messages of a queue count for 1 each.
    ///
    /// With items of 0.5 to 50 KB and a table of 4,000 units/s, counting units has 1.0% rejected and counting entries 4.4%
    /// (`cargo bench --bench pacing -- --real --scenario sizes`).
    ///
    /// ```
    /// # use aws_batch_delivery::{DeliveryOptions, backoff::Adaptive};
    /// let options = DeliveryOptions::default().backoff(Adaptive::default().by_write_units(false));
    /// ```
    #[must_use]
    pub fn by_write_units(self, units: bool) -> Self {
        self.with(|settings| settings.counts_units = units)
    }

    /// Makes random delays and gaps repeatable.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self::new(self.settings, Jitter::seeded(seed))
    }

    /// What it measures and does at the moment.
    pub fn snapshot(&self) -> PaceSnapshot {
        let hot_keys = self.hot_keys().len();
        self.lock().snapshot(Instant::now(), hot_keys)
    }

    fn hot_keys(&self) -> MutexGuard<'_, HotKeys> {
        self.hot_keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // Every step of the pacer leaves a valid state, so a poisoned lock is still usable.
    fn lock(&self) -> MutexGuard<'_, Pacer> {
        self.pacer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Adaptive {
    fn default() -> Self {
        Self::new(Settings::default(), Jitter::default())
    }
}

impl BackoffStrategy for Adaptive {
    fn delay(&self, retry: Retry) -> Duration {
        self.lock().delay(retry, &self.jitter)
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Adaptive {
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        self.lock().admit(now, *waiter)
    }

    fn depart(&self, now: Instant, entries: usize) {
        self.lock().depart(now, entries);
    }

    fn observe(&self, outcome: &Outcome) {
        self.lock().observe(outcome, &self.jitter);
    }

    fn reset(&self) {
        self.lock().reset();
        self.hot_keys().reset();
    }

    fn snapshot(&self) -> Option<PaceSnapshot> {
        Some(self.snapshot())
    }

    fn details(&self) -> Option<&dyn PaceDetails> {
        Some(self)
    }
}

impl PaceDetails for Adaptive {
    fn counts_units(&self) -> bool {
        self.settings.counts_units
    }

    fn expect_throughput(&self, units: f64) {
        self.lock().expect_throughput(units);
    }

    fn extra_delay(&self, now: Instant) -> Duration {
        self.lock().extra_delay(now)
    }

    fn key_pace(&self) -> Option<&dyn KeyPace> {
        Some(self)
    }
}

impl KeyPace for Adaptive {
    fn observe(&self, sent_at: Instant, answered_at: Instant, keys: &mut [KeyOutcome]) {
        if self.hot_keys().observe(sent_at, answered_at, keys, &self.jitter) {
            self.lock().key_became_hot(answered_at);
        }
    }

    fn is_idle(&self) -> bool {
        self.hot_keys().is_idle()
    }

    fn is_hot(&self, key: u64) -> bool {
        self.hot_keys().is_hot(key)
    }

    fn admit(&self, now: Instant, key: u64, wanted: usize) -> Admission {
        self.hot_keys().admit(now, key, wanted)
    }

    fn depart(&self, now: Instant, key: u64, entries: usize) {
        self.hot_keys().depart(now, key, entries);
    }
}
