//! Delays that grow with the square of the retry.

use std::time::Duration;

use super::growth::LONGEST;
use super::{BackoffStrategy, Retry};

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
    fn delays_are_squares_up_to_the_longest() {
        assert_eq!(delays(&Quadratic::default(), 5), [100, 400, 900, 1600, 2500]);
        let seconds = Quadratic::new(Duration::from_secs(1)).max(Duration::from_secs(5));
        assert_eq!(delays(&seconds, 4), [1000, 4000, 5000, 5000]);
    }

    proptest! {
        #[test]
        fn no_delay_is_longer_than_the_longest(interval in any_delay(), max in any_delay(), retry in any_retry()) {
            let delay = Quadratic::new(interval).max(max).delay(retry);
            prop_assert!(delay <= max);
            prop_assert!(retry.number == 0 || delay >= interval.min(max));
        }
    }
}
