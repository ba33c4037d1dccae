//! Delays anywhere below an exponential ceiling.

use std::time::Duration;

use super::growth::{self, BASE, LONGEST};
use super::jitter::Jitter;
use super::{BackoffStrategy, Retry};

/// Waits between zero and `base · 2^n` before retry `n`, at most `cap`, uniformly distributed.
///
/// Of the three strategies with jitter in AWS's "Exponential Backoff And Jitter" it makes the fewest calls.
///
/// # Defaults
/// - `base`: 25 ms, so up to 50, 100, 200 ms …: the delays that AWS names for DynamoDB
/// - `cap`: 20 s, the longest delay of the AWS SDKs
/// - not seeded
#[derive(Debug, Clone)]
pub struct FullJitter {
    base: Duration,
    cap: Duration,
    jitter: Jitter,
}

impl FullJitter {
    /// Waits up to twice `base` before the first retry.
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

impl Default for FullJitter {
    fn default() -> Self {
        Self::new(BASE)
    }
}

impl BackoffStrategy for FullJitter {
    fn delay(&self, retry: Retry) -> Duration {
        let ceiling = growth::raised(self.base, 2.0, retry.number).min(self.cap);
        self.jitter.between(Duration::ZERO, ceiling)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backoff::testing::{any_delay, any_retry, assert_uniform, delays, draws, retry};

    #[test]
    fn delays_lie_anywhere_below_the_ceiling() {
        let strategy = FullJitter::default().seed(1);
        for (number, ceiling) in [(1, 50), (2, 100), (3, 200), (10, 20_000)] {
            let draws = draws(&strategy, retry(number, None));
            assert_uniform(&draws, Duration::ZERO, Duration::from_millis(ceiling));
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_delays() {
        let first = delays(&FullJitter::default().seed(7), 50);
        assert_eq!(delays(&FullJitter::default().seed(7), 50), first);
        assert_ne!(delays(&FullJitter::default().seed(8), 50), first);
    }

    proptest! {
        #[test]
        fn no_delay_is_longer_than_the_cap(base in any_delay(), cap in any_delay(), retry in any_retry()) {
            prop_assert!(FullJitter::new(base).cap(cap).delay(retry) <= cap);
        }
    }
}
