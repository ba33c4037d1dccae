//! Delays in the upper half below an exponential ceiling.

use std::time::Duration;

use super::growth::{self, BASE, LONGEST};
use super::jitter::Jitter;
use super::{BackoffStrategy, Retry};

/// Waits half of `t` plus a random part of the other half, where `t` is `base · 2^n` before retry `n`, at most `cap`.
///
/// As [`FullJitter`](super::FullJitter), but with a minimum delay.
///
/// # Defaults
/// - `base`: 25 ms, so up to 50, 100, 200 ms …: the delays that AWS names for DynamoDB
/// - `cap`: 20 s, the longest delay of the AWS SDKs
/// - not seeded
#[derive(Debug, Clone)]
pub struct EqualJitter {
    base: Duration,
    cap: Duration,
    jitter: Jitter,
}

impl EqualJitter {
    /// Waits between `base` and twice `base` before the first retry.
    pub fn new(base: Duration) -> Self {
        Self {
            base,
            cap: LONGEST,
            jitter: Jitter::default(),
        }
    }

    /// The longest delay. Default 20 s.
    #[must_use]
    pub fn cap(mut self, cap: Duration) -> Self {
        self.cap = cap;
        self
    }

    /// Makes the random numbers repeatable. A clone starts again from the seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.jitter = Jitter::seeded(seed);
        self
    }
}

impl Default for EqualJitter {
    fn default() -> Self {
        Self::new(BASE)
    }
}

impl BackoffStrategy for EqualJitter {
    fn delay(&self, retry: Retry) -> Duration {
        let ceiling = growth::raised(self.base, 2.0, retry.number).min(self.cap);
        self.jitter.between(ceiling / 2, ceiling)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backoff::testing::{any_delay, any_retry, assert_uniform, delays, draws, retry};

    #[test]
    fn delays_lie_in_the_upper_half_below_the_ceiling() {
        let strategy = EqualJitter::default().seed(2);
        for (number, ceiling) in [(1, 50), (2, 100), (3, 200), (10, 20_000)] {
            let ceiling = Duration::from_millis(ceiling);
            assert_uniform(&draws(&strategy, retry(number, None)), ceiling / 2, ceiling);
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_delays() {
        let first = delays(&EqualJitter::default().seed(7), 50);
        assert_eq!(delays(&EqualJitter::default().seed(7), 50), first);
        assert_ne!(delays(&EqualJitter::default().seed(8), 50), first);
    }

    proptest! {
        #[test]
        fn no_delay_is_longer_than_the_cap(base in any_delay(), cap in any_delay(), retry in any_retry()) {
            let delay = EqualJitter::new(base).cap(cap).delay(retry);
            prop_assert!(delay <= cap);
            prop_assert!(delay >= base.min(cap) / 2);
        }
    }
}
