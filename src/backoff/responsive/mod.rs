//! An interval between calls, longer with rejections and shorter with successes.

mod events;
mod interval;
#[cfg(test)]
mod picture;
mod rules;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use interval::Interval;
pub use interval::ResponsiveMetrics;
use rules::Rules;

use super::jitter::Jitter;
use super::{Admission, BackoffStrategy, Outcome, Pace, Retry, Waiter, growth};

/// Responsive exponential backoff: an interval between calls, longer with rejections and shorter with successes.
///
/// All workers that share the strategy share the interval: a call leaves no sooner than one interval after the call before
/// it, of whichever worker. A rejected entry is sent with the next call, without a delay of its own.
///
/// - The answers are evaluated in windows of 40 answers or 2 s, by the share of their entries that was rejected.
/// - A share of more than a tenth lengthens the interval by half, as soon as the window has enough rejections for it. The
///   first time sets it to the initial interval. Calls that left before the last increase do not count, so a throttled
///   service that rejects the calls of all workers at once lengthens it once.
/// - Any smaller share shortens it by a tenth; in a row by twice and then four times as many tenths. An interval below the
///   initial one becomes none.
/// - The share that is still rejected right after an increase does not depend on the pace. From then on such a share, up to
///   40%, is tolerated in addition to the tenth, until the next increase measures it again. So calls that are throttled at
///   random do not stall a delivery.
///
/// Entries count as rejected when they were throttled, or when a whole call failed for a temporary reason. Refused entries
/// and calls that could not be made say nothing about the pace.
///
/// In steady congestion 10 to 30% of the entries are rejected with 64 workers, 40 to 50% with items of mixed sizes and with
/// additional random throttles, and 70% with a table of 50 writes/s: the price of a pace that is one number.
/// [`Adaptive`](super::Adaptive) has about 1% rejected.
///
/// [`published`](Self::published) is the algorithm as it was published.
///
/// # Defaults
/// - `initial_interval`: 100 µs
/// - `max_interval`: 250 ms
/// - `up_multiplier`: 1.5
/// - `down_multiplier`: 0.9
/// - `down_threshold`: 40 answers
/// - `randomization_factor`: 0
/// - `max_randomization`: 2 min
/// - not seeded
///
/// It is not `Clone`, because a copy would have an interval of its own. To read the interval while it is in use, keep an
/// `Arc` of the strategy and give a clone of it to the options; an `Arc` of a strategy is a strategy too.
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// # use aws_batch_delivery::backoff::Responsive;
/// let strategy = Arc::new(Responsive::default().max_interval(Duration::from_millis(100)));
/// assert_eq!(strategy.interval(), Duration::ZERO);
/// ```
#[derive(Debug)]
#[must_use]
pub struct Responsive {
    rules: Rules,
    interval: Mutex<Interval>,
}

impl Responsive {
    fn new(rules: Rules, interval: Interval) -> Self {
        Self {
            rules,
            interval: Mutex::new(interval),
        }
    }

    /// The algorithm as it was published: each worker waits for the interval after each of its calls.
    ///
    /// A call is a failure when any of its entries was throttled, or when some failed for a temporary reason and none was
    /// accepted; it is a success when it is not a failure and something was accepted. Each failure lengthens the interval, and
    /// ten successes, in a row or not, shorten it. With 64 workers that are throttled at once, the interval grows from none
    /// to the maximum at once.
    ///
    /// # Defaults
    /// - `initial_interval`: 500 ms
    /// - `max_interval`: 15 min
    /// - `up_multiplier`: 1.5
    /// - `down_multiplier`: 0.9
    /// - `down_threshold`: 10 successes
    /// - `randomization_factor`: 0.3
    /// - `max_randomization`: 2 min
    pub fn published() -> Self {
        Self::new(Rules::published(), Interval::published())
    }

    /// The interval after the first increase. A shorter interval becomes none. Default 100 µs.
    ///
    /// # Panics
    /// When the interval is zero, because no multiplier could lengthen it.
    #[track_caller]
    pub fn initial_interval(mut self, interval: Duration) -> Self {
        assert!(!interval.is_zero(), "the initial interval must be longer than zero");
        self.rules.initial = interval;
        self
    }

    /// The longest interval; never less than the initial interval. Default 250 ms.
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.rules.max = interval;
        self
    }

    /// The factor of an increase. Default 1.5.
    ///
    /// # Panics
    /// When the multiplier is below 1, infinite or not a number.
    #[track_caller]
    pub fn up_multiplier(mut self, multiplier: f64) -> Self {
        growth::assert_at_least_one("up multiplier", multiplier);
        self.rules.up = multiplier;
        self
    }

    /// The factor of a decrease. Default 0.9.
    ///
    /// # Panics
    /// When the multiplier is not between 0 and 1, both excluded.
    #[track_caller]
    pub fn down_multiplier(mut self, multiplier: f64) -> Self {
        assert!(
            multiplier > 0.0 && multiplier < 1.0,
            "the down multiplier must be above 0 and below 1, but is {multiplier}"
        );
        self.rules.down = multiplier;
        self
    }

    /// How many answers are evaluated together. Default 40.
    ///
    /// With [`published`](Self::published), how many successes shorten the interval.
    ///
    /// # Panics
    /// When the threshold is 0.
    #[track_caller]
    pub fn down_threshold(mut self, answers: u32) -> Self {
        assert!(answers > 0, "the down threshold must be at least 1, but is 0");
        self.rules.threshold = answers;
        self
    }

    /// The relative amount by which a new interval may randomly be longer or shorter; 0 for none. Default 0.
    ///
    /// The interval after a first increase is always the initial one.
    ///
    /// # Panics
    /// When the factor is not between 0 and 1.
    #[track_caller]
    pub fn randomization_factor(mut self, factor: f64) -> Self {
        assert!(
            (0.0..=1.0).contains(&factor),
            "the randomization factor must be from 0 to 1, but is {factor}"
        );
        self.rules.randomization_factor = factor;
        self
    }

    /// The absolute maximum of the random part of a new interval. Default 2 min.
    pub fn max_randomization(mut self, most: Duration) -> Self {
        self.rules.max_randomization = most;
        self
    }

    /// Makes the random numbers repeatable.
    pub fn seed(mut self, seed: u64) -> Self {
        self.rules.jitter = Jitter::seeded(seed);
        self
    }

    /// The current interval. Zero while the service keeps up.
    pub fn interval(&self) -> Duration {
        self.lock().current()
    }

    /// The counters of the interval.
    pub fn metrics(&self) -> ResponsiveMetrics {
        self.lock().metrics()
    }

    // Every step of the state machine leaves a valid state, so a poisoned lock is still usable.
    fn lock(&self) -> MutexGuard<'_, Interval> {
        self.interval.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Responsive {
    fn default() -> Self {
        Self::new(Rules::shared(), Interval::shared())
    }
}

impl BackoffStrategy for Responsive {
    fn delay(&self, _: Retry) -> Duration {
        Duration::ZERO
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Responsive {
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        self.lock().admit(now, waiter)
    }

    fn depart(&self, now: Instant, _: usize) {
        self.lock().depart(now);
    }

    fn observe(&self, outcome: &Outcome) {
        self.lock().observe(outcome, &self.rules);
    }

    fn cooldown(&self) -> Duration {
        self.lock().cooldown()
    }

    fn reset(&self) {
        self.lock().reset();
    }
}
