//! Delays drawn from a range that depends on the previous delay.

use std::time::Duration;

use super::growth::{BASE, LONGEST};
use super::jitter::Jitter;
use super::{BackoffStrategy, Retry};

/// The factor between the previous delay and the largest next one, from the AWS article.
const REACH: u32 = 3;

/// Waits between `base` and three times the previous delay, at most `cap`. The delay before the first counts as `base`.
///
/// The previous delay is the entry's own ([`Retry::previous`]), so entries never share a sequence, however many workers
/// share the strategy.
///
/// # Defaults
/// - `base`: 25 ms, as for [`FullJitter`](super::FullJitter)
/// - `cap`: 20 s, the longest delay of the AWS SDKs
/// - not seeded
#[derive(Debug, Clone)]
pub struct DecorrelatedJitter {
    base: Duration,
    cap: Duration,
    jitter: Jitter,
}

impl DecorrelatedJitter {
    /// Waits at least `base`.
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

impl Default for DecorrelatedJitter {
    fn default() -> Self {
        Self::new(BASE)
    }
}

impl BackoffStrategy for DecorrelatedJitter {
    fn delay(&self, retry: Retry) -> Duration {
        let previous = retry.previous.unwrap_or(self.base);
        self.jitter
            .between(self.base, previous.saturating_mul(REACH))
            .min(self.cap)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backoff::testing::{any_delay, any_retry, assert_uniform, delays, draws, retry};

    const MILLISECOND: Duration = Duration::from_millis(1);

    #[test]
    fn the_first_delay_lies_between_the_base_and_three_times_the_base() {
        let strategy = DecorrelatedJitter::default().seed(3);
        let draws = draws(&strategy, Retry::FIRST);
        assert_uniform(&draws, 25 * MILLISECOND, 75 * MILLISECOND);
    }

    #[test]
    fn a_delay_lies_between_the_base_and_three_times_the_previous() {
        let strategy = DecorrelatedJitter::default().seed(4);
        let draws = draws(&strategy, retry(5, Some(100 * MILLISECOND)));
        assert_uniform(&draws, 25 * MILLISECOND, 300 * MILLISECOND);
    }

    #[test]
    fn the_previous_delay_is_the_entrys_own() {
        let strategy = DecorrelatedJitter::default().seed(5);
        let slow = retry(9, Some(Duration::from_secs(20)));
        for _ in 0..1000 {
            strategy.delay(slow);
            assert!(strategy.delay(Retry::FIRST) <= 75 * MILLISECOND);
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_delays() {
        let first = delays(&DecorrelatedJitter::default().seed(7), 50);
        assert_eq!(delays(&DecorrelatedJitter::default().seed(7), 50), first);
        assert_ne!(delays(&DecorrelatedJitter::default().seed(8), 50), first);
    }

    proptest! {
        #[test]
        fn a_delay_is_bounded_by_the_base_the_previous_and_the_cap(
            base in any_delay(), cap in any_delay(), retry in any_retry(),
        ) {
            let delay = DecorrelatedJitter::new(base).cap(cap).delay(retry);
            let reach = retry.previous.unwrap_or(base).saturating_mul(3);
            prop_assert!(base.min(cap) <= delay);
            prop_assert!(delay <= reach.max(base).min(cap));
        }
    }
}
