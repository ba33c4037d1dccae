//! The pace: when calls may leave, and how long a rejected entry rests before it is sent again.
//!
//! [`BackoffStrategy`] is the whole contract. A strategy does no I/O and has no clock: it is told the time, and told what
//! each call came to. One strategy is shared by all deliveries whose options are clones of each other.
//!
//! | strategy | delay before retry `n` | when to choose it |
//! |---|---|---|
//! | [`Adaptive`] | the first retry at once, in the next call that the shared pace lets go; later ones after 25 ms to 5 s | the default: it measures what the service can take |
//! | [`Responsive`] | one interval for all workers, longer with failures, shorter with successes | you want the published algorithm, or a pace that can be told in one number |
//! | [`FullJitter`] | anywhere from 0 to `base · 2^n`, at most `cap` | failures are rare, and entries that failed together should not be sent again together |
//! | [`EqualJitter`] | half of `base · 2^n` and up to the other half more, at most `cap` | the same, and no retry should come at once |
//! | [`DecorrelatedJitter`] | from `base` to three times the previous delay, at most `cap` | the same, and the delays should not tell how many retries there were |
//! | [`Schedule`] | from a table, randomized unless it is to be exact | you know how long the service takes to come back |
//! | [`Linear`] | `n · interval`, at most `max` | one worker, short disturbances |
//! | [`Quadratic`] | `n² · interval`, at most `max` | one worker, disturbances short or long |
//! | [`Exponential`] | `initial · multiplier^(n-1)`, at most `max` | one worker, long disturbances |
//! | [`Delays`] | from an iterator, such as the builders of `backon` make | you have one already |
//! | any `Fn(u32) -> Duration` | what it returns for `n` | none of these fits |
//!
//! All but the first two look at one entry alone: wait, then send. The leftovers of a call rest together, and when the call
//! was throttled its worker rests with them. None of them learns what the service can take; only the first two do.

mod adaptive;
mod admission;
mod decorrelated;
mod delays;
mod equal_jitter;
mod exponential;
mod full_jitter;
mod growth;
mod jitter;
mod key_pace;
mod linear;
mod outcome;
mod quadratic;
mod responsive;
mod retry;
mod schedule;
#[cfg(test)]
pub(crate) mod testing;

pub use adaptive::{Adaptive, PaceReason, PaceSnapshot, PaceState};
pub use admission::{Admission, Waiter};
pub use decorrelated::DecorrelatedJitter;
pub use delays::Delays;
pub use equal_jitter::EqualJitter;
pub use exponential::Exponential;
pub use full_jitter::FullJitter;
pub use key_pace::{KeyOutcome, KeyPace};
pub use linear::Linear;
pub use outcome::{Outcome, Tally};
pub use quadratic::Quadratic;
pub use responsive::{Responsive, ResponsiveMetrics};
pub use retry::Retry;
pub use schedule::Schedule;

use std::sync::Arc;
use std::time::{Duration, Instant};

/// When calls may leave, and how long a rejected entry rests.
///
/// Only [`rest`](Self::rest) has to be written. A strategy that also hears [`observe`](Self::observe) and answers
/// [`admit`](Self::admit) steers the pace of all workers together.
///
/// Any `Fn(u32) -> Duration` is a strategy: it is given the number of the retry, from 1.
///
/// ```
/// # use std::time::Duration;
/// # use aws_batch_delivery::backoff::BackoffStrategy;
/// fn takes(_: impl BackoffStrategy) {}
/// takes(|retry: u32| Duration::from_millis(100) * retry);
/// ```
pub trait BackoffStrategy: Send + Sync + 'static {
    /// How long an entry rests before it is sent again.
    fn rest(&self, retry: Retry) -> Duration;

    /// How much longer an entry has to rest that has rested; asked again when that time has passed.
    ///
    /// So a strategy can let the retries of entries that are rejected for reasons of their own go one after the other,
    /// however many of them there are.
    fn hold(&self, now: Instant) -> Duration {
        let _ = now;
        Duration::ZERO
    }

    /// Whether the waiter may make its call now.
    ///
    /// Only the one that has waited longest is asked; it is asked again when the time named has come, and after every
    /// [`observe`](Self::observe).
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        let _ = now;
        Admission::Go(waiter.entries)
    }

    /// A call with this many entries leaves.
    ///
    /// Each departure is followed by one [`observe`](Self::observe) with the same number sent. An admission that was not
    /// used has neither.
    fn depart(&self, now: Instant, entries: usize) {
        let _ = (now, entries);
    }

    /// Hears what a call came to.
    fn observe(&self, outcome: &Outcome) {
        let _ = outcome;
    }

    /// How long a worker waits after a call that was just observed, before it makes the next one.
    fn pause(&self) -> Duration {
        Duration::ZERO
    }

    /// The service is known to be back: forget that it was slow.
    fn reset(&self) {}

    /// What the strategy measures and does at the moment, for people: [`Progress`](crate::Progress) shows it, and the
    /// [log](crate::events) tells its state and reason. Default: `None`, the strategy has no states.
    ///
    /// Called by any task at any time, and must return at once.
    fn pace_snapshot(&self) -> Option<PaceSnapshot> {
        None
    }

    /// The part of the strategy that paces single partition keys, if it has one. Default: none.
    fn key_pace(&self) -> Option<&dyn KeyPace> {
        None
    }

    /// Whether to count entries by their units of capacity, in all that it is told and all that it answers: an entry of 3.5 KB
    /// then counts for 4 with DynamoDB. Asked once. Default: every entry counts for 1.
    ///
    /// What an entry counts for is what [`BatchTarget::units`](crate::targets::BatchTarget::units) says, corrected by what the
    /// service says it charged. [`accepted`](Outcome::accepted) is then what it charged, where it said so.
    fn counts_units(&self) -> bool {
        false
    }
}

impl<F> BackoffStrategy for F
where
    F: Fn(u32) -> Duration + Send + Sync + 'static,
{
    fn rest(&self, retry: Retry) -> Duration {
        self(retry.number)
    }
}

impl<S> BackoffStrategy for Arc<S>
where
    S: BackoffStrategy + ?Sized,
{
    fn rest(&self, retry: Retry) -> Duration {
        (**self).rest(retry)
    }

    fn hold(&self, now: Instant) -> Duration {
        (**self).hold(now)
    }

    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        (**self).admit(now, waiter)
    }

    fn depart(&self, now: Instant, entries: usize) {
        (**self).depart(now, entries);
    }

    fn observe(&self, outcome: &Outcome) {
        (**self).observe(outcome);
    }

    fn pause(&self) -> Duration {
        (**self).pause()
    }

    fn reset(&self) {
        (**self).reset();
    }

    fn pace_snapshot(&self) -> Option<PaceSnapshot> {
        (**self).pace_snapshot()
    }

    fn key_pace(&self) -> Option<&dyn KeyPace> {
        (**self).key_pace()
    }

    fn counts_units(&self) -> bool {
        (**self).counts_units()
    }
}

#[cfg(test)]
mod tests {
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
            Arc::new(Linear::default()),
            Arc::new(Quadratic::default()),
            Arc::new(Exponential::default()),
            Arc::new(FullJitter::default()),
            Arc::new(EqualJitter::default()),
            Arc::new(DecorrelatedJitter::default()),
            Arc::new(Schedule::default()),
            Arc::new(Delays::new(|| [Duration::ZERO])),
            Arc::new(Responsive::default()),
            Arc::new(|_: u32| Duration::ZERO),
        ];
        for strategy in strategies {
            assert!(strategy.rest(Retry::FIRST) <= Duration::from_secs(1));
        }
    }
}
