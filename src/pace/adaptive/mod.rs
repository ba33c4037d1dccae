//! A pace that follows what the service can accept.
//!
//! # States
//! | from | to | when |
//! |---|---|---|
//! | Searching | Draining | more is rejected than is harmless: the knee |
//! | Draining | Steady | the calls in flight are answered |
//! | Draining | Outage | nothing was accepted |
//! | Steady | Outage | nothing is accepted |
//! | Outage | Steady | an entry is accepted |
//! | any | Searching, or Steady at the initial rate | [`reset`](crate::backoff::Pace::reset) |
//!
//! | state | what leaves | until |
//! |---|---|---|
//! | Searching | a window of entries in flight that grows with what is accepted | more than a fifth of the calls is rejected, or 5% for two seconds |
//! | Draining | nothing | the calls in flight are answered, for two round trips at most: what was accepted at the knee is the first estimate |
//! | Steady | the pace of the schedule | nothing is accepted |
//! | Outage | single entries, at most 1.25 s apart | anything is accepted |
//!
//! # What raises and lowers the pace
//! The **estimate** is what the service accepts per second. In `Steady` the **schedule** leads the pace from 15% below the estimate to 4%
//! above it within 2 s; then it grows by 20% a second, and after ten calls ever faster, up to twice of what was accepted lately.
//!
//! - A **congestion signal**, a rejection at a pace above the estimate, lowers the pace: the schedule begins again. The service had no
//!   capacity left at that moment. So what it accepted since the signal before is what it can accept: that is the new estimate.
//! - A rejection **below the estimate** also begins the schedule again, and lowers the estimate by 12%. Either the capacity has fallen,
//!   or other processes use what this one leaves. A process that is faster makes more calls that meet such a moment. All grow by the
//!   same share in the same time, and the faster ones are lowered more often: so processes come to equal paces, however many there are.
//! - **Only a small share of throttles is tolerated**: of ten calls that leave above the estimate, one may be throttled as a whole, and
//!   any of those below it; of the entries of all other calls, a tenth. A call of one entry counts as a whole call. From inside a process
//!   these throttles cannot be distinguished from those that other processes cause, which no lower pace of one process ends. A rule that
//!   tolerates more lets a fleet settle at an overload.
//! - **Failures** are not a signal.
//! - A rejection **makes calls smaller**, and each call without one larger by 2%: the service may accept less at once than a call carries.
//!
//! Retries that are rejected while fresh entries of the same calls are accepted fail for reasons of their own: those of a partition that
//! is out, for example. They get a pace of their own, which each success raises and each rejection lowers. As long as there are any,
//! fresh entries are rejected for the same reasons, and that is not a signal.
//!
//! # Hot keys
//! A partition key of which more is rejected than of all others in the same time, and not by chance, gets a pacer of its own, which
//! begins in `Steady` at what was accepted of the key. The pacer of all others does not observe it. A key is no longer hot when nothing
//! of it was rejected for ten seconds.
//!
//! # Files
//! | file | what it decides |
//! |---|---|
//! | `pacer`, `pacer/states` | when a call may leave; every change of state, all by `Pacer::enter`, which logs them |
//! | `search` | how the window grows, and when the knee is reached |
//! | `estimate` | what the service can accept, from one congestion signal to the next |
//! | `schedule` | the pace from one signal to the next |
//! | `settings` | what the user asked for |
//! | `harmless` | which throttles are not a signal |
//! | `retries` | how long an entry waits before a retry; a pace for retries that fail for reasons of their own |
//! | `hot_keys` | which keys are hot |
//! | `flow` | what is in flight and was accepted lately; whether it is an outage |
//! | `outage` | when single entries ask during an outage |
//! | `evidence` | counts, and what chance explains; the answer to a call as numbers |
//! | `time` | seconds, and a token bucket |

mod estimate;
mod evidence;
mod flow;
mod harmless;
mod hot_keys;
mod outage;
mod pacer;
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
/// A rejected entry shows that the service had no capacity left at that moment: a congestion signal. What the service accepts
/// from one signal to the next is what it can take. So the pace is a little below that at first, and then a little above, until
/// the next signal: few rejections, and no time lost, with one worker or a hundred.
///
/// - **Before the first signal** a window of entries in flight grows as long as more is accepted.
/// - **A capacity that has changed** is found out within a second or two, in both directions.
/// - **While the service takes nothing** single entries are sent until one is accepted, at most 1.25 s apart.
/// - **Calls that are throttled at random**, as by account limits or a key service, hardly cost time up to 5% of the calls, and neither
///   do entries of a partition that others keep busy.
/// - **Hot partition keys**: throttles of a key that asks for more than its partition takes slow that key alone. Its entries wait
///   in a line of their own, and everything else continues. From the first hot key on a delivery reads up to 30,000 entries or
///   64 MiB ahead, and packs calls from many keys alternately.
/// - **Entries rejected more than once** wait for 25 ms to 5 s.
/// - **Smaller calls**: when something of a call is rejected, calls carry less for a while, down to 25 entries or units,
///   or what a service accepts at once if that is less.
///
/// Units of capacity are what is counted. All clones of the options share one pace; several processes that send to the same
/// table share its capacity about equally, without coordination.
///
/// # When it is slow
/// [`snapshot`](Self::snapshot) has the state and the reason, and [`events::PACE`](crate::events::PACE) logs every change.
///
/// | state | meaning | what helps |
/// |---|---|---|
/// | `Searching` | nothing was rejected so far, or too little is known | more [`concurrency`](crate::DeliveryOptions::concurrency) |
/// | `Steady` | the pace is about `capacity` | more capacity of the service |
/// | `Steady`, `hot_keys` above 0 | some keys ask for more than their partitions take | partition keys that spread |
/// | `Outage` | the service takes nothing | look at the service |
///
/// # Weak spots
/// At a round trip of 80 ms, or as a burst ends, 2% of the entries are rejected. While a whole partition is out whose keys
/// are each seen once, every entry of it is tried once. Hot entries of a target without keys slow all others down.
///
/// Rejections that do not depend on the pace cost little time up to 5% of the calls, or of the entries of calls of 25. With 10% of the
/// calls, at a limit of 1,000 entries a second, a load takes 1.9 times the best time, and with 10% of the entries some do not end. In smaller
/// calls a single rejected entry is a larger share, and where rejections come together they are signals. More than that always counts as
/// a lack of capacity. If it does not end at a lower pace, as with other applications that retry without a pace, the pace falls to an entry a
/// second.
///
/// # Defaults
/// - `share`: 1, all that the service can take
/// - `max_rate`: none
/// - `initial_rate`: none, the search starts with one call: a whole one, or five entries if ten calls of them wait
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
    /// With items of 0.5 to 50 KB and a table of 4,000 units/s, counting units has 0.8% rejected
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
            self.lock().key_became_hot();
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
