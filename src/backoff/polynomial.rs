//! Delays that grow with the number of the retry, or with its square.

use std::time::Duration;

use super::growth::LONGEST;
use super::{BackoffStrategy, Retry};

/// Waits longer before each further retry, in steps that are equal or grow.
///
/// The longest delay is 20 s by default, that of the AWS SDKs. `Polynomial::default()` is linear, with an interval of 100 ms.
///
/// ```
/// # use std::time::Duration;
/// # use aws_batch_delivery::backoff::Polynomial;
/// let seconds = Polynomial::linear(Duration::from_secs(1)).max(Duration::from_secs(10));
/// ```
#[derive(Debug, Clone)]
pub struct Polynomial {
    interval: Duration,
    max: Duration,
    is_quadratic: bool,
}

impl Polynomial {
    /// Waits `n · interval` before retry `n`: with 100 ms, 100 ms, 200 ms, 300 ms …
    pub fn linear(interval: Duration) -> Self {
        Self {
            interval,
            max: LONGEST,
            is_quadratic: false,
        }
    }

    /// Waits `n² · interval` before retry `n`: with 100 ms, 100 ms, 400 ms, 900 ms …
    pub fn quadratic(interval: Duration) -> Self {
        Self {
            is_quadratic: true,
            ..Self::linear(interval)
        }
    }

    /// The longest delay. Default 20 s.
    #[must_use]
    pub fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }
}

impl Default for Polynomial {
    fn default() -> Self {
        Self::linear(Duration::from_millis(100))
    }
}

impl BackoffStrategy for Polynomial {
    fn delay(&self, retry: Retry) -> Duration {
        let factor = if self.is_quadratic { retry.number } else { 1 };
        self.interval
            .saturating_mul(retry.number)
            .saturating_mul(factor)
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
        assert_eq!(delays(&Polynomial::default(), 4), [100, 200, 300, 400]);
        let seconds = Polynomial::linear(Duration::from_secs(1)).max(Duration::from_millis(2500));
        assert_eq!(delays(&seconds, 4), [1000, 2000, 2500, 2500]);
    }

    #[test]
    fn delays_are_squares_up_to_the_longest() {
        assert_eq!(
            delays(&Polynomial::quadratic(Duration::from_millis(100)), 5),
            [100, 400, 900, 1600, 2500]
        );
        let seconds = Polynomial::quadratic(Duration::from_secs(1)).max(Duration::from_secs(5));
        assert_eq!(delays(&seconds, 4), [1000, 4000, 5000, 5000]);
    }

    proptest! {
        #[test]
        fn no_linear_delay_is_longer_than_the_longest(interval in any_delay(), max in any_delay(), retry in any_retry()) {
            let delay = Polynomial::linear(interval).max(max).delay(retry);
            prop_assert!(delay <= max);
            prop_assert!(retry.number == 0 || delay >= interval.min(max));
        }

        #[test]
        fn no_quadratic_delay_is_longer_than_the_longest(interval in any_delay(), max in any_delay(), retry in any_retry()) {
            let delay = Polynomial::quadratic(interval).max(max).delay(retry);
            prop_assert!(delay <= max);
            prop_assert!(retry.number == 0 || delay >= interval.min(max));
        }
    }
}
