//! Delays that grow by the same factor, with or without jitter.

use std::time::Duration;

use super::growth::{self, LONGEST};
use super::jitter::Jitter;
use super::{BackoffStrategy, Retry};

/// The first delay without jitter, as in the AWS SDKs.
const INITIAL: Duration = Duration::from_secs(1);

/// The first delay with jitter. Doubled from retry to retry it gives those that AWS documents for DynamoDB: up to 50 ms before
/// the first retry, up to 100 ms before the second, up to 200 ms before the third.
const INITIAL_WITH_JITTER: Duration = Duration::from_millis(50);

/// The shortest delay of decorrelated jitter: half of [`INITIAL_WITH_JITTER`], as for equal jitter.
const SHORTEST: Duration = Duration::from_millis(25);

/// The factor between the previous delay and the largest next one, from the AWS article.
const REACH: f64 = 3.0;

/// Waits `d = initial · multiplier^(n-1)`, at most `max`, before retry `n`; with jitter, a random part of it.
///
/// | | delay | |
/// |---|---|---|
/// | [`default`](Self::default) | `d`: 1 s, 2 s, 4 s, 8 s … | entries that were rejected together are sent again together |
/// | [`full_jitter`](Self::full_jitter) | anywhere from 0 to `d`: up to 50, 100, 200 ms … | the fewest calls of the three in AWS's "Exponential Backoff And Jitter" |
/// | [`equal_jitter`](Self::equal_jitter) | from half of `d` to `d` | no retry is immediate |
/// | [`decorrelated_jitter`](Self::decorrelated_jitter) | from `initial` to `multiplier` times the previous delay: from 25 ms | the delays do not depend on the number of retries |
///
/// The previous delay is the entry's own ([`Retry::previous`]), so entries never share a sequence, however many workers share
/// the strategy.
///
/// # Defaults
/// - `initial`: 1 s, as in the AWS SDKs; 50 ms with full and equal jitter, which gives the delays that AWS names for DynamoDB;
///   25 ms with decorrelated jitter
/// - `multiplier`: 2; 3 with decorrelated jitter
/// - `max`: 20 s, the longest delay of the AWS SDKs
/// - not seeded
///
/// ```
/// # use std::time::Duration;
/// # use aws_batch_delivery::backoff::Exponential;
/// let gentle = Exponential::full_jitter().initial(Duration::from_millis(80)).multiplier(1.5).max(Duration::from_secs(5));
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Exponential {
    initial: Duration,
    multiplier: f64,
    max: Duration,
    kind: JitterKind,
    jitter: Jitter,
}

/// How much of a delay is random.
#[derive(Debug, Clone, Copy)]
enum JitterKind {
    None,
    All,
    Half,
    Decorrelated,
}

impl Exponential {
    fn new(initial: Duration, multiplier: f64, kind: JitterKind) -> Self {
        Self {
            initial,
            multiplier,
            max: LONGEST,
            kind,
            jitter: Jitter::default(),
        }
    }

    /// Waits anywhere from 0 to `d`, uniformly distributed.
    pub fn full_jitter() -> Self {
        Self::new(INITIAL_WITH_JITTER, 2.0, JitterKind::All)
    }

    /// Waits half of `d` and a random part of the other half.
    pub fn equal_jitter() -> Self {
        Self::new(INITIAL_WITH_JITTER, 2.0, JitterKind::Half)
    }

    /// Waits between `initial` and `multiplier` times the previous delay. The delay before the first counts as `initial`.
    pub fn decorrelated_jitter() -> Self {
        Self::new(SHORTEST, REACH, JitterKind::Decorrelated)
    }

    /// The delay before the first retry, or the longest with jitter; with decorrelated jitter, the shortest of any retry.
    pub fn initial(mut self, initial: Duration) -> Self {
        self.initial = initial;
        self
    }

    /// The factor from one delay to the next; with decorrelated jitter, to the longest next one.
    ///
    /// # Panics
    /// When the multiplier is below 1, infinite or not a number.
    #[track_caller]
    pub fn multiplier(mut self, multiplier: f64) -> Self {
        growth::assert_at_least_one("multiplier", multiplier);
        self.multiplier = multiplier;
        self
    }

    /// The longest delay. Default 20 s.
    pub fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }

    /// Makes the random numbers repeatable. A clone starts again from the seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.jitter = Jitter::seeded(seed);
        self
    }
}

/// Without jitter.
impl Default for Exponential {
    fn default() -> Self {
        Self::new(INITIAL, 2.0, JitterKind::None)
    }
}

impl BackoffStrategy for Exponential {
    fn delay(&self, retry: Retry) -> Duration {
        let longest = || growth::raised(self.initial, self.multiplier, retry.number.saturating_sub(1)).min(self.max);
        match self.kind {
            JitterKind::None => longest(),
            JitterKind::All => self.jitter.between(Duration::ZERO, longest()),
            JitterKind::Half => self.jitter.between(longest() / 2, longest()),
            JitterKind::Decorrelated => {
                let reach = growth::scaled(retry.previous.unwrap_or(self.initial), self.multiplier);
                self.jitter.between(self.initial, reach).min(self.max)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backoff::testing::{any_delay, any_retry, assert_refused, assert_uniform, delays, draws, retry};

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn with_jitter() -> [Exponential; 3] {
        [
            Exponential::full_jitter(),
            Exponential::equal_jitter(),
            Exponential::decorrelated_jitter(),
        ]
    }

    #[test]
    fn delays_double_up_to_the_longest() {
        assert_eq!(
            delays(&Exponential::default(), 6),
            [1000, 2000, 4000, 8000, 16_000, 20_000]
        );
    }

    #[test]
    fn delays_grow_by_the_multiplier() {
        let gentle = Exponential::default().initial(80 * MILLISECOND).multiplier(1.5);
        assert_eq!(delays(&gentle, 4), [80, 120, 180, 270]);
    }

    #[test]
    fn with_full_jitter_delays_lie_anywhere_below_the_longest() {
        let strategy = Exponential::full_jitter().seed(1);
        for (number, longest) in [(1, 50), (2, 100), (3, 200), (10, 20_000)] {
            let draws = draws(&strategy, retry(number, None));
            assert_uniform(&draws, Duration::ZERO, longest * MILLISECOND);
        }
    }

    #[test]
    fn with_equal_jitter_delays_lie_in_the_upper_half() {
        let strategy = Exponential::equal_jitter().seed(2);
        for (number, longest) in [(1, 50), (2, 100), (3, 200), (10, 20_000)] {
            let longest = longest * MILLISECOND;
            assert_uniform(&draws(&strategy, retry(number, None)), longest / 2, longest);
        }
    }

    #[test]
    fn with_decorrelated_jitter_a_delay_lies_between_the_initial_and_three_times_the_previous() {
        let strategy = Exponential::decorrelated_jitter().seed(3);
        assert_uniform(&draws(&strategy, Retry::FIRST), 25 * MILLISECOND, 75 * MILLISECOND);
        let later = draws(&strategy, retry(5, Some(100 * MILLISECOND)));
        assert_uniform(&later, 25 * MILLISECOND, 300 * MILLISECOND);
    }

    #[test]
    fn the_previous_delay_is_the_entrys_own() {
        let strategy = Exponential::decorrelated_jitter().seed(5);
        let slow = retry(9, Some(Duration::from_secs(20)));
        for _ in 0..1000 {
            strategy.delay(slow);
            assert!(strategy.delay(Retry::FIRST) <= 75 * MILLISECOND);
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_delays() {
        for strategy in with_jitter() {
            let seeded = |seed| delays(&strategy.clone().seed(seed), 50);
            assert_eq!(seeded(7), seeded(7));
            assert_ne!(seeded(7), seeded(8));
        }
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
            let of = |strategy: Exponential| strategy.initial(initial).multiplier(multiplier).max(max).delay(retry);
            // One nanosecond in 2^52 may be lost to rounding.
            let least = growth::scaled(initial, 1.0 - f64::EPSILON).min(max);
            prop_assert!((least..=max).contains(&of(Exponential::default())));
            prop_assert!(of(Exponential::full_jitter()) <= max);
            prop_assert!((least / 2..=max).contains(&of(Exponential::equal_jitter())));
            prop_assert!((initial.min(max)..=max).contains(&of(Exponential::decorrelated_jitter())));
        }

        #[test]
        fn a_decorrelated_delay_reaches_three_times_the_previous(initial in any_delay(), retry in any_retry()) {
            let delay = Exponential::decorrelated_jitter().initial(initial).max(Duration::MAX).delay(retry);
            prop_assert!(delay <= growth::scaled(retry.previous.unwrap_or(initial), REACH).max(initial));
        }
    }
}
