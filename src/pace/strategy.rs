//! The strategy that deliveries share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::admission::{Admission, Waiter};
use super::contract::{BackoffStrategy, Outcome, Pace, Retry};
use super::details::{KeyOutcome, KeyPace, PaceDetails};
use super::meter::{Meter, scaled};
use super::snapshot::PaceSnapshot;
use crate::guarded::guarded;
use crate::targets::Fault;

/// How long to wait when the strategy panicked and gave no deadline. The deliveries notice the panic and end.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// The shortest wait. A wait until a moment in the past would never end.
pub(super) const SHORTEST_WAIT: Duration = Duration::from_micros(100);

/// The strategy that deliveries share if their options are clones of each other. After a panic it is not called again, and
/// the deliveries end.
pub(crate) struct SharedStrategy {
    strategy: Box<dyn BackoffStrategy>,
    /// `Some` if the strategy counts units.
    meter: Option<Meter>,
    fault: OnceLock<Fault>,
    resets: watch::Sender<u64>,
    /// The number of calls whose result made further keys hot.
    hot: AtomicU64,
}

impl SharedStrategy {
    pub(super) fn new(strategy: impl BackoffStrategy) -> Self {
        let details = strategy.pace().and_then(Pace::details);
        Self {
            meter: details.is_some_and(PaceDetails::counts_units).then(Meter::default),
            strategy: Box::new(strategy),
            fault: OnceLock::new(),
            resets: watch::Sender::new(0),
            hot: AtomicU64::new(0),
        }
    }

    /// The panic of the strategy, if there was one.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.fault.get()
    }

    fn ask<R>(&self, fallback: R, question: impl FnOnce(&dyn BackoffStrategy) -> R) -> R {
        if self.fault.get().is_some() {
            return fallback;
        }
        guarded("the backoff strategy", || question(&*self.strategy)).unwrap_or_else(|fault| {
            self.fault.get_or_init(|| fault);
            self.wake_all();
            fallback
        })
    }

    /// Asks the part of the strategy that paces calls, if it has one.
    fn ask_pace<R>(&self, fallback: R, question: impl FnOnce(&dyn Pace) -> R) -> R
    where
        R: Copy,
    {
        self.ask(fallback, |strategy| strategy.pace().map_or(fallback, question))
    }

    fn ask_details<R: Copy>(&self, fallback: R, question: impl FnOnce(&dyn PaceDetails) -> R) -> R {
        self.ask_pace(fallback, |pace| pace.details().map_or(fallback, question))
    }

    /// Asks the part that paces single keys, if there is one.
    fn ask_keys<R: Copy>(&self, fallback: R, question: impl FnOnce(&dyn KeyPace) -> R) -> R {
        self.ask_details(fallback, |details| details.key_pace().map_or(fallback, question))
    }

    pub(crate) fn delay(&self, retry: Retry) -> Duration {
        self.ask(Duration::ZERO, |strategy| strategy.delay(retry))
    }

    pub(crate) fn extra_delay(&self, now: Instant) -> Duration {
        self.ask_details(Duration::ZERO, |details| details.extra_delay(now.into_std()))
    }

    /// Whether it has a part that may decide when calls leave.
    pub(crate) fn has_pace(&self) -> bool {
        self.ask_pace(false, |_| true)
    }

    pub(crate) fn cooldown(&self) -> Duration {
        self.ask_pace(Duration::ZERO, |pace| pace.cooldown())
    }

    /// The snapshot of the strategy, if it has one.
    pub(crate) fn snapshot(&self) -> Option<PaceSnapshot> {
        self.ask_pace(None, |pace| pace.snapshot())
    }

    /// Whether entries count by units of capacity.
    pub(crate) fn counts_units(&self) -> bool {
        self.meter.is_some()
    }

    /// `Some` if the strategy counts units.
    pub(super) fn meter(&self) -> Option<&Meter> {
        self.meter.as_ref()
    }

    /// Units that the service charges for one estimated unit.
    pub(super) fn charge(&self) -> f64 {
        self.meter.as_ref().map_or(1.0, Meter::charge)
    }

    /// The strategy's answer, in estimated units.
    pub(super) fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        let charge = self.charge();
        let waiter = Waiter {
            entries: scaled(waiter.entries, charge).max(1),
            ..*waiter
        };
        let later = Admission::WaitUntil((now + AFTER_PANIC).into_std());
        let admission = self.ask(later, |strategy| match strategy.pace() {
            Some(pace) => pace.admit(now.into_std(), &waiter),
            None => Admission::Go(waiter.entries),
        });
        match admission {
            Admission::Go(entries) => Admission::Go(scaled(entries, 1.0 / charge)),
            wait @ Admission::WaitUntil(_) => wait,
        }
    }

    /// A call leaves.
    pub(super) fn depart(&self, now: Instant, entries: usize) {
        self.ask_pace((), |pace| pace.depart(now.into_std(), entries));
    }

    /// Whether the strategy paces single partition keys.
    pub(crate) fn paces_keys(&self) -> bool {
        self.ask_keys(false, |_| true)
    }

    /// Whether no key is hot or remembered for a rejection.
    pub(super) fn is_idle(&self) -> bool {
        self.ask_keys(true, |keys| keys.is_idle())
    }

    /// Whether the key has a pace of its own now.
    pub(crate) fn is_hot(&self, key: u64) -> bool {
        self.hot_key_changes() > 0 && self.ask_keys(false, |keys| keys.is_hot(key))
    }

    /// The number of calls whose result made further keys hot. A change shows that a key may have become hot.
    pub(crate) fn hot_key_changes(&self) -> u64 {
        self.hot.load(Relaxed)
    }

    /// How much of `wanted` may leave for this key now, or until when it waits.
    pub(crate) fn admit_key(&self, now: Instant, key: u64, wanted: usize) -> Result<usize, Instant> {
        let admission = self.ask_keys(Admission::Go(wanted), |keys| keys.admit(now.into_std(), key, wanted));
        match admission {
            Admission::Go(most) => Ok(most),
            Admission::WaitUntil(then) => Err(Instant::from(then).max(now + SHORTEST_WAIT)),
        }
    }

    /// A call leaves with entries of this key that cost `cost`.
    pub(crate) fn depart_key(&self, now: Instant, key: u64, cost: usize) {
        self.ask_keys((), |keys| keys.depart(now.into_std(), key, cost));
    }

    /// Passes the strategy the result of a call for each key. Returns the outcome without the throttles of hot keys, and how many those
    /// are: the pace of all only learns that these entries are no longer in flight.
    pub(super) fn observe_keys(&self, outcome: &Outcome, keys: &mut [KeyOutcome]) -> (Outcome, usize) {
        let were_hot = keys.iter().filter(|key| self.is_hot(key.key)).count();
        self.ask_keys((), |pace| pace.observe(outcome.sent_at, outcome.answered_at, keys));
        let mut others = *outcome;
        for key in keys.iter().filter(|key| key.is_hot) {
            let throttled = key.throttled.min(others.throttled);
            let fresh = key.fresh_throttled.min(others.fresh_throttled);
            others.throttled -= throttled;
            others.sent -= throttled;
            others.fresh_throttled -= fresh;
            others.fresh -= fresh;
        }
        if keys.iter().filter(|key| key.is_hot).count() > were_hot {
            self.hot.fetch_add(1, Relaxed);
        }
        (others, outcome.sent - others.sent)
    }

    /// A call has ended.
    pub(super) fn observe(&self, outcome: &Outcome) {
        self.ask_pace((), |pace| pace.observe(outcome));
    }

    /// The service is known to be back: waiting entries leave at once, and the strategy forgets what it has measured.
    pub(super) fn reset(&self) {
        self.ask_pace((), |pace| pace.reset());
        self.wake_all();
    }

    /// Wakes all deliveries.
    fn wake_all(&self) {
        self.resets.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn resets(&self) -> watch::Receiver<u64> {
        self.resets.subscribe()
    }
}
