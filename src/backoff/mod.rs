//! The pace: when calls may leave, and how long a rejected entry waits before it is sent again.
//!
//! [`BackoffStrategy`] is the contract: one method, and a [`Pace`] for strategies that pace all workers together. A strategy does
//! no I/O and has no clock: it is given the time and the result of each call. All deliveries whose options are clones of each
//! other share one strategy.
//!
//! | strategy | delay before retry `n` | when to choose it |
//! |---|---|---|
//! | [`Adaptive`] | none before the first retry, which leaves with the next call at the shared pace; later ones 25 ms to 5 s | the default: it measures what the service accepts |
//! | [`Responsive`] | one interval for all workers, longer with failures, shorter with successes | you want the published algorithm, or a pace that is one number |
//! | [`Exponential::full_jitter`] | anywhere from 0 to `initial · multiplier^(n-1)`, at most `max` | failures are rare, and entries that failed together should not be sent again together |
//! | [`Exponential::equal_jitter`] | half of that and up to the other half more | the same, and no retry should be immediate |
//! | [`Exponential::decorrelated_jitter`] | from `initial` to three times the previous delay, at most `max` | the same, and the delays should not depend on the number of retries |
//! | [`Schedule`] | from a table, randomized unless `exact` | you know how long the service takes to come back |
//! | [`Polynomial::linear`] | `n · interval`, at most `max` | one worker, short disturbances |
//! | [`Polynomial::quadratic`] | `n² · interval`, at most `max` | one worker, disturbances short or long |
//! | [`Exponential::default`] | `initial · multiplier^(n-1)`, at most `max` | one worker, long disturbances |
//! | [`Delays`] | from an iterator, such as the builders of `backon` make | you have one already |
//! | any `Fn(u32) -> Duration` | what it returns for `n` | none of these fits |
//!
//! All but the first two look at a single entry: wait, then send. The leftovers of a call wait together, and when half of the
//! call was throttled or none of it was accepted, its worker waits with them. Only the first two measure what the service accepts.

mod delays;
mod exponential;
mod growth;
mod polynomial;
mod responsive;
mod schedule;
#[cfg(test)]
pub(crate) mod testing;

use crate::jitter;
pub use crate::pace::{
    Adaptive, Admission, BackoffStrategy, Outcome, Pace, PaceReason, PaceSnapshot, PaceState, Retry, Waiter,
};
pub use delays::Delays;
pub use exponential::Exponential;
pub use polynomial::Polynomial;
pub use responsive::{Responsive, ResponsiveMetrics};
pub use schedule::Schedule;

/// For the tests and benchmarks of this crate. Not part of the public interface.
#[doc(hidden)]
pub mod details {
    pub use crate::pace::{KeyOutcome, KeyPace, PaceDetails};
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::testing::delays;
    use super::*;

    #[test]
    fn any_function_is_a_strategy() {
        let squares = |retry: u32| Duration::from_millis(u64::from(retry).pow(2));
        assert_eq!(delays(&squares, 4), [1, 4, 9, 16]);
    }

    #[test]
    fn every_strategy_can_be_shared_behind_one_type() {
        let strategies: [Arc<dyn BackoffStrategy>; 10] = [
            Arc::new(Polynomial::default()),
            Arc::new(Polynomial::quadratic(Duration::from_millis(1))),
            Arc::new(Exponential::default()),
            Arc::new(Exponential::full_jitter()),
            Arc::new(Exponential::equal_jitter()),
            Arc::new(Exponential::decorrelated_jitter()),
            Arc::new(Schedule::default()),
            Arc::new(Delays::new(|| [Duration::ZERO])),
            Arc::new(Responsive::default()),
            Arc::new(|_: u32| Duration::ZERO),
        ];
        for strategy in strategies {
            assert!(strategy.delay(Retry::FIRST) <= Duration::from_secs(1));
        }
    }
}
