//! Delays that grow with the number of the retry, or with its square.

use std::time::Duration;

use super::growth::LONGEST;
use super::{BackoffStrategy, Retry};

/// Waits `n · interval` before retry `n`, at most `max`: 100 ms, 200 ms, 300 ms …
///
/// # Defaults
/// - `interval`: 100 ms
/// - `max`: 20 s, the longest delay of the AWS SDKs
///
/// ```
/// # use std::time::Duration;
/// # use aws_batch_delivery::backoff::Linear;
/// let seconds = Linear::new(Duration::from_secs(1)).max(Duration::from_secs(10));
/// ```
#[derive(Debug, Clone)]
pub struct Linear {
    interval: Duration,
    max: Duration,
}

impl Linear {
    /// Waits `interval` before the first retry, and `interval` longer before each further one.
    pub fn new(interval: Duration) -> Self {
        Self { interval, max: LONGEST }
    }

    /// The longest delay. Default 20 s.
    #[must_use]
    pub fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }
}

impl Default for Linear {
    fn default() -> Self {
        Self::new(Duration::from_millis(100))
    }
}

impl BackoffStrategy for Linear {
    fn delay(&self, retry: Retry) -> Duration {
        self.interval.saturating_mul(retry.number).min(self.max)
    }
}

/// Waits `n² · interval` before retry `n`, at most `max`: 100 ms, 400 ms, 900 ms …
///
/// # Defaults
/// - `interval`: 100 ms
/// - `max`: 20 s, the longest delay of the AWS SDKs
#[derive(Debug, Clone)]
pub struct Quadratic {
    interval: Duration,
    max: Duration,
}

impl Quadratic {
    /// Waits `interval` before the first retry, four times as long before the second, nine times before the third.
    pub fn new(interval: Duration) -> Self {
        Self { interval, max: LONGEST }
    }

    /// The longest delay. Default 20 s.
    #[must_use]
    pub fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }
}

impl Default for Quadratic {
    fn default() -> Self {
        Self::new(Duration::from_millis(100))
    }
}

impl BackoffStrategy for Quadratic {
    fn delay(&self, retry: Retry) -> Duration {
        self.interval
            .saturating_mul(retry.number)
            .saturating_mul(retry.number)
            .min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backoff::testing::{any_delay, any_retry, delays};

    #[test]
    fn every_delay_is_a_step_longer_up_to_the_longest() {
        assert_eq!(delays(&Linear::default(), 4), [100, 200, 300, 400]);
        let seconds = Linear::new(Duration::from_secs(1)).max(Duration::from_millis(2500));
        assert_eq!(delays(&seconds, 4), [1000, 2000, 2500, 2500]);
    }

    #[test]
    fn delays_are_squares_up_to_the_longest() {
        assert_eq!(delays(&Quadratic::default(), 5), [100, 400, 900, 1600, 2500]);
        let seconds = Quadratic::new(Duration::from_secs(1)).max(Duration::from_secs(5));
        assert_eq!(delays(&seconds, 4), [1000, 4000, 5000, 5000]);
    }

    proptest! {
        #[test]
        fn no_linear_delay_is_longer_than_the_longest(interval in any_delay(), max in any_delay(), retry in any_retry()) {
            let delay = Linear::new(interval).max(max).delay(retry);
            prop_assert!(delay <= max);
            prop_assert!(retry.number == 0 || delay >= interval.min(max));
        }

        #[test]
        fn no_quadratic_delay_is_longer_than_the_longest(interval in any_delay(), max in any_delay(), retry in any_retry()) {
            let delay = Quadratic::new(interval).max(max).delay(retry);
            prop_assert!(delay <= max);
            prop_assert!(retry.number == 0 || delay >= interval.min(max));
        }
    }
}
