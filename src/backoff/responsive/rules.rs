//! How much the interval changes.

use std::time::Duration;

use crate::backoff::growth;
use crate::backoff::jitter::Jitter;

/// The options of [`Responsive`](super::Responsive).
#[derive(Debug)]
pub(super) struct Rules {
    /// Not zero: otherwise the first failure could not raise it.
    pub(super) initial: Duration,
    pub(super) max: Duration,
    /// Finite, at least 1.
    pub(super) up: f64,
    /// Between 0 and 1, both excluded.
    pub(super) down: f64,
    /// Successes in the published algorithm, answers in the shared interval. Not zero.
    pub(super) threshold: u32,
    /// From 0 to 1.
    pub(super) randomization_factor: f64,
    pub(super) max_randomization: Duration,
    pub(super) jitter: Jitter,
}

impl Rules {
    /// Values with which 64 workers pass the scenarios of the pacing bench; see `benches/RESULTS.md`.
    pub(super) fn shared() -> Self {
        Self {
            initial: Duration::from_micros(100),
            max: Duration::from_millis(250),
            threshold: 40,
            randomization_factor: 0.0,
            ..Self::published()
        }
    }

    /// The values with which responsive exponential backoff was published.
    pub(super) fn published() -> Self {
        Self {
            initial: Duration::from_millis(500),
            max: Duration::from_secs(15 * 60),
            up: 1.5,
            down: 0.9,
            threshold: 10,
            randomization_factor: 0.3,
            max_randomization: Duration::from_secs(2 * 60),
            jitter: Jitter::default(),
        }
    }

    /// The interval after a failure.
    pub(super) fn longer(&self, current: Duration) -> Duration {
        self.randomized(growth::scaled(current, self.up))
    }

    /// The interval after enough successes. Only the first of the steps is randomized.
    pub(super) fn shorter(&self, current: Duration, steps: i32) -> Duration {
        let next = self.randomized(growth::scaled(current, self.down));
        growth::scaled(next, self.down.powi(steps - 1)).min(next)
    }

    fn randomized(&self, interval: Duration) -> Duration {
        let reach = growth::scaled(interval, self.randomization_factor).min(self.max_randomization);
        let next = self
            .jitter
            .between(interval.saturating_sub(reach), interval.saturating_add(reach));
        // The initial interval is not randomized, so the maximum must not be below it. Randomness can lengthen the interval
        // on the way down, too.
        next.min(self.max.max(self.initial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::testing::assert_uniform;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_step_is_randomized_by_its_factor() {
        let steps: Vec<_> = (0..100_000)
            .map(|seed| {
                let rules = Rules {
                    up: 2.0,
                    randomization_factor: 0.2,
                    jitter: Jitter::seeded(seed),
                    ..Rules::published()
                };
                rules.longer(SECOND)
            })
            .collect();
        assert_uniform(&steps, SECOND * 16 / 10, SECOND * 24 / 10);
    }

    #[test]
    fn a_step_is_randomized_by_no_more_than_the_most() {
        let rules = Rules {
            down: 0.5,
            randomization_factor: 1.0,
            max_randomization: SECOND,
            jitter: Jitter::seeded(1),
            ..Rules::published()
        };
        let steps: Vec<_> = (0..100_000).map(|_| rules.shorter(SECOND * 20, 1)).collect();
        assert_uniform(&steps, SECOND * 9, SECOND * 11);
    }

    #[test]
    fn without_a_factor_there_is_no_chance() {
        let rules = Rules {
            randomization_factor: 0.0,
            ..Rules::published()
        };
        assert_eq!(rules.longer(SECOND), SECOND * 3 / 2);
        assert_eq!(rules.shorter(SECOND, 1), SECOND * 9 / 10);
    }
}
