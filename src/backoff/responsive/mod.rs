//! One interval for all workers, longer with failures and shorter with successes.

mod interval;
mod metrics;
#[cfg(test)]
mod picture;
mod rules;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use interval::Interval;
pub use metrics::ResponsiveMetrics;
use rules::Rules;

use super::jitter::Jitter;
use super::{BackoffStrategy, Outcome, Retry, growth};

/// Responsive exponential backoff: every worker waits the same interval between its calls.
///
/// The first failure sets the interval, each further one makes it longer, and after a number of successes it gets
/// shorter again, until there is none.
///
/// - A call is a *failure* when any of its entries was throttled, or when some failed for a passing reason and none was
///   accepted. It is a *success* when it is no failure and something was accepted. A call of refused entries alone is
///   neither, and nor is one that could not be made.
/// - After each answer a worker waits for the interval before it makes its next call.
/// - A rejected entry goes with the next call that may leave. It does not rest on its own: the wait of the workers is the
///   whole wait.
///
/// # Coordination
/// A throttled service rejects the calls of all workers at once. That is one event, so it lengthens the interval once: a
/// failure counts only if its call left after the last increase, that is, after the answer that caused it. A call that
/// left in the very instant of that answer does not count either, as it cannot have waited for the new interval; the one
/// exception is an interval that has gone back to none in the meantime. [`uncoordinated`](Self::uncoordinated) counts
/// every failure, as the algorithm was published. There 64 workers go from nothing to the longest interval in one wave.
///
/// Workers that were throttled together must not come back together, wave after wave, to a service that can save up only
/// little: each draws its own wait, from half the interval to one and a half. Uncoordinated workers, and those with a
/// randomization factor of 0, wait for exactly the interval.
///
/// # Defaults
/// As published, but coordinated:
/// - `initial_interval`: 500 ms
/// - `max_interval`: 15 min
/// - `up_multiplier`: 1.5
/// - `down_multiplier`: 0.9
/// - `down_threshold`: 10 successes
/// - `randomization_factor`: 0.3
/// - `max_randomization`: 2 min
/// - the draws are not seeded
///
/// It is not `Clone`, because a copy would keep an interval of its own. To look at the interval while it is in use, keep
/// an `Arc` of the strategy and hand a clone of that to the options; it is a strategy as well.
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// # use aws_batch_delivery::backoff::Responsive;
/// let strategy = Arc::new(
///     Responsive::default()
///         .initial_interval(Duration::from_millis(20))
///         .max_interval(Duration::from_secs(30)),
/// );
/// assert_eq!(strategy.interval(), Duration::ZERO);
/// ```
#[derive(Debug)]
pub struct Responsive {
    rules: Rules,
    interval: Mutex<Interval>,
}

impl Responsive {
    fn new(rules: Rules) -> Self {
        Self {
            rules,
            interval: Mutex::default(),
        }
    }

    /// Counts every failure, as published, also when it belongs to a wave that was answered already.
    pub fn uncoordinated() -> Self {
        Self::new(Rules {
            coordinated: false,
            ..Rules::published()
        })
    }

    /// A pace for bulk loads: coordinated, the initial interval 10 ms and the longest 5 s, otherwise as published.
    ///
    /// 10 ms is about one round trip, so a single throttle halves the pace of a worker and no more. 5 s is long enough
    /// even for many workers: 64 of them with 25 entries each send 320 entries/s, of 1 KB each a third of what one
    /// partition of a DynamoDB table takes. And it is short enough to notice within seconds that the service is back.
    pub fn brisk() -> Self {
        Self::new(Rules {
            initial: Duration::from_millis(10),
            max: Duration::from_secs(5),
            ..Rules::published()
        })
    }

    /// The interval after the first failure. An interval that gets shorter than this is none. Default 500 ms.
    ///
    /// # Panics
    /// When the interval is zero: no multiplier could make it longer.
    #[must_use]
    #[track_caller]
    pub fn initial_interval(mut self, interval: Duration) -> Self {
        assert!(!interval.is_zero(), "the initial interval must be longer than zero");
        self.rules.initial = interval;
        self
    }

    /// The longest interval; never less than the initial interval. Default 15 min.
    #[must_use]
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.rules.max = interval;
        self
    }

    /// How many times longer a failure makes the interval. Default 1.5.
    ///
    /// # Panics
    /// When the multiplier is below 1, infinite or not a number.
    #[must_use]
    #[track_caller]
    pub fn up_multiplier(mut self, multiplier: f64) -> Self {
        growth::assert_at_least_one("up multiplier", multiplier);
        self.rules.up = multiplier;
        self
    }

    /// What part of the interval remains after enough successes. Default 0.9.
    ///
    /// # Panics
    /// When the multiplier is not between 0 and 1, both excluded.
    #[must_use]
    #[track_caller]
    pub fn down_multiplier(mut self, multiplier: f64) -> Self {
        assert!(
            multiplier > 0.0 && multiplier < 1.0,
            "the down multiplier must be above 0 and below 1, but is {multiplier}"
        );
        self.rules.down = multiplier;
        self
    }

    /// How many successes make the interval shorter. A failure in between does not start the count anew. Default 10.
    ///
    /// # Panics
    /// When the threshold is 0.
    #[must_use]
    #[track_caller]
    pub fn down_threshold(mut self, successes: u32) -> Self {
        assert!(successes > 0, "the down threshold must be at least 1");
        self.rules.threshold = successes;
        self
    }

    /// What part of itself a new interval may be longer or shorter by chance; 0 for no chance. Default 0.3.
    ///
    /// The interval after a first failure is always the initial one. With 0 the wait of a worker is exactly the interval.
    ///
    /// # Panics
    /// When the factor is not between 0 and 1.
    #[must_use]
    #[track_caller]
    pub fn randomization_factor(mut self, factor: f64) -> Self {
        assert!(
            (0.0..=1.0).contains(&factor),
            "the randomization factor must be from 0 to 1, but is {factor}"
        );
        self.rules.randomization_factor = factor;
        self
    }

    /// The most that a new interval is longer or shorter by chance. Default 2 min.
    #[must_use]
    pub fn max_randomization(mut self, most: Duration) -> Self {
        self.rules.max_randomization = most;
        self
    }

    /// Makes the draws repeatable.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.rules.jitter = Jitter::seeded(seed);
        self
    }

    /// What everybody waits at the moment. Zero while the service keeps up.
    pub fn interval(&self) -> Duration {
        self.lock().current()
    }

    /// What the interval has been through.
    pub fn metrics(&self) -> ResponsiveMetrics {
        self.lock().metrics()
    }

    // Every step of the state machine leaves a state that is good to go on with, so a poisoned lock is.
    fn lock(&self) -> MutexGuard<'_, Interval> {
        self.interval.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Responsive {
    fn default() -> Self {
        Self::new(Rules::published())
    }
}

impl BackoffStrategy for Responsive {
    fn rest(&self, _: Retry) -> Duration {
        Duration::ZERO
    }

    fn observe(&self, outcome: &Outcome) {
        self.lock().observe(outcome, &self.rules);
    }

    fn pause(&self) -> Duration {
        self.rules.pause(self.interval())
    }

    fn reset(&self) {
        self.lock().reset();
    }
}
