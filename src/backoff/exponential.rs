//! Delays that grow by the same factor.

use std::time::Duration;

use super::growth::{self, LONGEST};
use super::{BackoffStrategy, Retry};

/// Waits `initial · multiplier^(n-1)` before retry `n`, at most `max`: 1 s, 2 s, 4 s, 8 s …
///
/// Entries that were rejected together are sent again together. If that matters, use [`FullJitter`](super::FullJitter).
///
/// # Defaults
/// - `initial`: 1 s, as in the AWS SDKs
/// - `multiplier`: 2
/// - `max`: 20 s, the longest delay of the AWS SDKs
///
/// ```
/// # use std::time::Duration;
/// # use aws_batch_delivery::backoff::Exponential;
/// let gentle = Exponential::new(Duration::from_millis(50)).multiplier(1.5).max(Duration::from_secs(5));
/// ```
#[derive(Debug, Clone)]
pub struct Exponential {
    initial: Duration,
    multiplier: f64,
    max: Duration,
}

impl Exponential {
    /// Waits `initial` before the first retry, and twice as long before each further one.
    pub fn new(initial: Duration) -> Self {
        Self {
            initial,
            multiplier: 2.0,
            max: LONGEST,
        }
    }

    /// The factor from one delay to the next. Default 2.
    ///
    /// # Panics
    /// When the multiplier is below 1, infinite or not a number.
    #[must_use]
    #[track_caller]
    pub fn multiplier(mut self, multiplier: f64) -> Self {
        growth::assert_at_least_one("multiplier", multiplier);
        self.multiplier = multiplier;
        self
    }

    /// The longest delay. Default 20 s.
    #[must_use]
    pub fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }
}

impl Default for Exponential {
    fn default() -> Self {
        Self::new(Duration::from_secs(1))
    }
}

impl BackoffStrategy for Exponential {
    fn delay(&self, retry: Retry) -> Duration {
        growth::raised(self.initial, self.multiplier, retry.number.saturating_sub(1)).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backoff::testing::{any_delay, any_retry, assert_refused, delays};

    #[test]
    fn delays_double_up_to_the_longest() {
        assert_eq!(
            delays(&Exponential::default(), 6),
            [1000, 2000, 4000, 8000, 16_000, 20_000]
        );
    }

    #[test]
    fn delays_grow_by_the_multiplier() {
        let gentle = Exponential::new(Duration::from_millis(80)).multiplier(1.5);
        assert_eq!(delays(&gentle, 4), [80, 120, 180, 270]);
    }

    #[test]
    fn a_multiplier_that_shrinks_is_refused() {
        let refused = assert_refused("multiplier", || Exponential::default().multiplier(0.5));
        assert_eq!(
            refused,
            "the multiplier must be a finite number of at least 1, but is 0.5"
        );
    }

    proptest! {
        #[test]
        fn no_delay_is_longer_than_the_longest(
            initial in any_delay(), multiplier in 1.0..f64::MAX, max in any_delay(), retry in any_retry(),
        ) {
            let delay = Exponential::new(initial).multiplier(multiplier).max(max).delay(retry);
            prop_assert!(delay <= max);
            // One nanosecond in 2^52 may be lost to rounding.
            prop_assert!(delay >= growth::scaled(initial, 1.0 - f64::EPSILON).min(max));
        }
    }
}
