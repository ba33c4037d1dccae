//! Capacities, and token buckets.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// `DynamoDB` banks up to 300 seconds of unused capacity. From the developer guide, "Burst capacity".
const BANKED: Duration = Duration::from_secs(5 * 60);
/// The least burst of a capacity without a burst of its own: one full batch write.
const LEAST_BURST: f64 = 25.0;
/// Refills are sums of floating-point numbers: a level this close to a unit counts as the unit.
const ROUNDING: f64 = 1e-6;

/// How much is accepted per second, and how much unused capacity is banked for a burst.
///
/// Tables count write units (one for each started KiB of an item), everything else counts entries or bytes. The refill is
/// continuous. A plain number is the capacity per second: `.capacity(1_000.0)`. A call that fits in part is accepted in part, unless its
/// service takes calls as a whole.
///
/// # Default
/// - rate: unlimited
/// - burst: 300 seconds of the rate, and at least 25 units
/// - level at the start: empty
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct Capacity {
    rate: f64,
    burst: Burst,
    starts_full: bool,
}

/// How much unused capacity is banked.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Burst {
    Units(f64),
    /// The rate times this time, and at least [`LEAST_BURST`].
    Time(Duration),
}

impl Capacity {
    /// Everything is accepted.
    pub fn unlimited() -> Self {
        Self::per_second(f64::INFINITY)
    }

    /// Nothing is accepted: an outage.
    pub fn none() -> Self {
        Self::per_second(0.0)
    }

    /// This many units per second. A negative rate or NaN counts as 0.
    pub fn per_second(rate: f64) -> Self {
        let rate = rate.max(0.0);
        Self {
            rate,
            burst: Burst::Time(BANKED),
            starts_full: false,
        }
    }

    /// The burst: how many units the bucket holds, at least 1.
    pub fn burst(mut self, units: f64) -> Self {
        self.burst = Burst::Units(units.max(1.0));
        self
    }

    /// The burst as a time at the rate, even when the rate changes.
    pub(crate) fn burst_of(mut self, time: Duration) -> Self {
        self.burst = Burst::Time(time);
        self
    }

    /// The same with another rate.
    pub(crate) fn at_rate(self, rate: f64) -> Self {
        Self {
            rate: rate.max(0.0),
            starts_full: false,
            ..self
        }
    }

    /// The bucket is full at the start. When the capacity is changed while running, it fills the bucket.
    pub fn starts_full(mut self) -> Self {
        self.starts_full = true;
        self
    }

    /// The rate, in units per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    pub(crate) fn is_unlimited(&self) -> bool {
        self.rate.is_infinite()
    }

    fn depth(&self) -> f64 {
        match self.burst {
            _ if self.is_unlimited() => f64::INFINITY,
            Burst::Units(units) => units,
            Burst::Time(time) => (self.rate * time.as_secs_f64()).max(LEAST_BURST),
        }
    }
}

impl Default for Capacity {
    fn default() -> Self {
        Self::unlimited()
    }
}

impl From<f64> for Capacity {
    fn from(rate: f64) -> Self {
        Self::per_second(rate)
    }
}

/// The level of a [`Capacity`] over time.
#[derive(Debug, Clone)]
pub(crate) struct TokenBucket {
    capacity: Capacity,
    level: f64,
    filled_at: Instant,
    /// Later capacities and their times; the next one first.
    scheduled: VecDeque<(Instant, Capacity)>,
}

impl TokenBucket {
    pub(crate) fn new(capacity: Capacity, now: Instant) -> Self {
        Self {
            capacity,
            level: starting_level(&capacity),
            filled_at: now,
            scheduled: VecDeque::new(),
        }
    }

    pub(crate) fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// Replaces the capacity. The level stays, up to the depth of the new bucket. The schedule is cleared.
    pub(crate) fn change(&mut self, capacity: Capacity, now: Instant) {
        self.fill(now);
        self.scheduled.clear();
        self.replace(capacity);
    }

    /// Changes the rate. The schedule stays.
    pub(crate) fn set_rate(&mut self, rate: f64, now: Instant) {
        self.fill(now);
        self.replace(self.capacity.at_rate(rate));
    }

    /// Changes the capacity at these times. Replaces an earlier schedule.
    pub(crate) fn schedule(&mut self, steps: impl IntoIterator<Item = (Instant, Capacity)>, now: Instant) {
        self.fill(now);
        let mut steps: Vec<_> = steps.into_iter().collect();
        steps.sort_by_key(|(at, _)| *at);
        self.scheduled = steps.into();
    }

    fn replace(&mut self, capacity: Capacity) {
        self.level = if capacity.starts_full || self.capacity.is_unlimited() {
            starting_level(&capacity)
        } else {
            self.level.min(capacity.depth())
        };
        self.capacity = capacity;
    }

    /// Available units; negative if there is a debt.
    pub(crate) fn level(&self) -> f64 {
        self.level
    }

    /// Refills up to `now`, at the rate of each moment.
    pub(crate) fn fill(&mut self, now: Instant) {
        while self.scheduled.front().is_some_and(|(at, _)| *at <= now)
            && let Some((at, capacity)) = self.scheduled.pop_front()
        {
            self.refill(at);
            self.replace(capacity);
        }
        self.refill(now);
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.filled_at).as_secs_f64();
        self.filled_at = self.filled_at.max(now);
        self.level = if self.capacity.is_unlimited() {
            f64::INFINITY
        } else {
            (self.level + self.capacity.rate * passed).min(self.capacity.depth())
        };
    }

    /// Whether an entry of this many units is accepted now. An entry larger than the bucket is accepted when the bucket is full,
    /// and leaves a debt; otherwise it would never be accepted.
    pub(crate) fn fits(&self, units: f64) -> bool {
        self.level + ROUNDING >= units.min(self.capacity.depth())
    }

    pub(crate) fn take(&mut self, units: f64) {
        self.level -= units;
    }

    /// Takes the available units, at most `units`, and returns how many.
    pub(crate) fn drain(&mut self, units: f64) -> f64 {
        let taken = units.min(self.level).max(0.0);
        self.level -= taken;
        taken
    }
}

fn starting_level(capacity: &Capacity) -> f64 {
    if capacity.is_unlimited() || capacity.starts_full {
        capacity.depth()
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_unlimited_bucket_accepts_everything() {
        let now = Instant::now();
        let mut bucket = TokenBucket::new(Capacity::unlimited(), now);
        bucket.fill(now);
        bucket.take(1e12);
        assert!(bucket.fits(1e12));
    }

    #[test]
    fn an_entry_larger_than_the_bucket_waits_for_a_full_one_and_leaves_a_debt() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(Capacity::per_second(10.0).burst(5.0).starts_full(), start);
        assert!(bucket.fits(15.0));
        bucket.take(15.0);
        bucket.fill(start + Duration::from_secs(1));
        assert!(!bucket.fits(1.0), "the debt of ten is paid after one second");
        bucket.fill(start + Duration::from_millis(1_100));
        assert!(bucket.fits(1.0));
    }

    #[test]
    fn a_change_keeps_the_level_as_far_as_it_fits() {
        let now = Instant::now();
        let mut bucket = TokenBucket::new(Capacity::per_second(100.0).burst(100.0).starts_full(), now);
        bucket.change(Capacity::per_second(10.0).burst(30.0), now);
        assert!(bucket.fits(30.0));
        bucket.take(30.0);
        assert!(!bucket.fits(1.0));
    }

    #[test]
    fn a_scheduled_capacity_applies_from_its_time_on() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut bucket = TokenBucket::new(Capacity::per_second(10.0), start);
        let steps = [(6, 100.0), (2, 1.0)].map(|(at, rate)| (after(at), Capacity::per_second(rate)));
        bucket.schedule(steps, start);
        bucket.fill(after(7));
        let expected = 2.0 * 10.0 + 4.0 * 1.0 + 100.0;
        assert!(bucket.fits(expected) && !bucket.fits(expected + 0.1));
    }

    #[test]
    fn an_explicit_change_clears_the_schedule() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut bucket = TokenBucket::new(Capacity::per_second(10.0), start);
        bucket.schedule([(after(1), Capacity::none()), (after(3), Capacity::none())], start);
        bucket.change(Capacity::per_second(5.0), after(2));
        bucket.fill(after(4));
        assert!(bucket.fits(20.0) && !bucket.fits(20.1), "ten, nothing, five and five");
    }

    #[test]
    fn a_limit_that_follows_none_starts_empty() {
        let now = Instant::now();
        let mut bucket = TokenBucket::new(Capacity::unlimited(), now);
        bucket.change(Capacity::per_second(10.0), now);
        assert!(!bucket.fits(1.0));
    }

    proptest! {
        #[test]
        fn never_more_than_the_rate_and_the_burst_is_taken(
            rate in 1.0..5_000.0,
            burst in 1.0..500.0,
            steps in prop::collection::vec((0_u64..200, 1_u32..30), 1..200),
        ) {
            let start = Instant::now();
            let mut bucket = TokenBucket::new(Capacity::per_second(rate).burst(burst).starts_full(), start);
            let mut now = start;
            let mut taken = 0.0;
            for (milliseconds, entries) in steps {
                now += Duration::from_millis(milliseconds);
                bucket.fill(now);
                for _ in 0..entries {
                    if bucket.fits(1.0) {
                        bucket.take(1.0);
                        taken += 1.0;
                    }
                }
            }
            prop_assert!(taken <= burst + rate * (now - start).as_secs_f64() + 0.01);
        }
    }
}
