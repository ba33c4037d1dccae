//! Delays from a table.

use std::time::Duration;

use super::jitter::Jitter;
use super::{BackoffStrategy, Retry};

/// The table of the "simple backoff", in milliseconds: first none, then short, then longer delays.
const SIMPLE: [u64; 10] = [0, 10, 10, 100, 100, 500, 500, 3000, 3000, 5000];

/// The smallest step of a [`Duration`].
const NANOSECOND: Duration = Duration::from_nanos(1);

/// Waits the `n`th delay of a table before retry `n`; the last one again for all later retries.
///
/// Each delay is drawn from between half of itself and one and a half times itself, the latter excluded, unless
/// [`exact`](Self::exact) is set. Zero stays zero.
///
/// # Defaults
/// - the table: 0, 10, 10, 100, 100, 500, 500, 3000, 3000, 5000 ms
/// - randomized, not seeded
///
/// ```
/// # use std::time::Duration;
/// # use aws_batch_delivery::backoff::Schedule;
/// let patient = Schedule::new([0, 1, 5, 30, 60].map(Duration::from_secs)).exact();
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Schedule {
    delays: Box<[Duration]>,
    jitter: Option<Jitter>,
}

impl Schedule {
    /// Another table. An empty one means no delay.
    pub fn new(delays: impl IntoIterator<Item = Duration>) -> Self {
        Self {
            delays: delays.into_iter().collect(),
            jitter: Some(Jitter::default()),
        }
    }

    /// Waits exactly the delays in the table.
    pub fn exact(mut self) -> Self {
        self.jitter = None;
        self
    }

    /// Randomizes the delays with repeatable random numbers. A clone starts again from the seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.jitter = Some(Jitter::seeded(seed));
        self
    }

    fn planned(&self, retry: Retry) -> Duration {
        let index = usize::try_from(retry.number.saturating_sub(1)).unwrap_or(usize::MAX);
        let delay = self.delays.get(index).or(self.delays.last());
        delay.copied().unwrap_or_default()
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self::new(SIMPLE.map(Duration::from_millis))
    }
}

impl BackoffStrategy for Schedule {
    fn delay(&self, retry: Retry) -> Duration {
        let planned = self.planned(retry);
        let Some(jitter) = &self.jitter else {
            return planned;
        };
        // The half is rounded up, so that an odd delay stays inside the range at both ends. Zero stays zero.
        let half = planned.saturating_sub(planned / 2);
        let high = planned.saturating_add(half.saturating_sub(NANOSECOND));
        jitter.between(half, high)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backoff::testing::{any_delay, any_retry, assert_uniform, delays, draws, retry};

    #[test]
    fn delays_follow_the_table_and_stay_at_its_last() {
        assert_eq!(
            delays(&Schedule::default().exact(), 12),
            [0, 10, 10, 100, 100, 500, 500, 3000, 3000, 5000, 5000, 5000]
        );
        let short = Schedule::new([Duration::from_millis(7)]).exact();
        assert_eq!(delays(&short, 2), [7, 7]);
    }

    #[test]
    fn every_delay_is_randomized_by_half_of_itself() {
        let strategy = Schedule::default().seed(5);
        for (number, millis) in [(2, 10), (4, 100), (8, 3000), (99, 5000)] {
            let delay = Duration::from_millis(millis);
            let draws = draws(&strategy, retry(number, None));
            assert_uniform(&draws, delay / 2, (delay * 3 / 2).saturating_sub(NANOSECOND));
        }
    }

    #[test]
    fn zero_stays_zero() {
        let strategy = Schedule::default().seed(6);
        assert!((0..1000).all(|_| strategy.delay(Retry::FIRST).is_zero()));
    }

    #[test]
    fn an_empty_table_means_no_delay() {
        assert_eq!(delays(&Schedule::new([]), 2), [0, 0]);
    }

    #[test]
    fn the_same_seed_draws_the_same_delays() {
        let first = delays(&Schedule::default().seed(7), 50);
        assert_eq!(delays(&Schedule::default().seed(7), 50), first);
        assert_ne!(delays(&Schedule::default().seed(8), 50), first);
    }

    proptest! {
        #[test]
        fn no_delay_leaves_its_range(
            table in proptest::collection::vec(any_delay(), 1..20), retry in any_retry(),
        ) {
            let schedule = Schedule::new(table);
            let planned = schedule.clone().exact().delay(retry);
            let delay = schedule.delay(retry);
            // The range is checked in whole nanoseconds, doubled: from 1 to below 3 times the delay.
            let (planned, doubled) = (planned.as_nanos(), delay.as_nanos() * 2);
            prop_assert!(planned <= doubled);
            prop_assert!(doubled < planned * 3 || planned == 0 && delay.is_zero());
        }
    }
}
