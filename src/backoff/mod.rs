//! The pace: when calls may leave, and how long a rejected entry rests before it is sent again.
//!
//! [`BackoffStrategy`] is the whole contract. A strategy does no I/O and has no clock: it is told the time, and told what
//! each call came to. One strategy is shared by all deliveries whose options are clones of each other.
//!
//! | strategy | delay before retry `n` | when to choose it |
//! |---|---|---|
//! | [`Adaptive`] | the first retry at once, in the next call that the shared pace lets go; later ones after 25 ms to 5 s | the default: it measures what the service can take |
//! | [`Responsive`] | one interval for all workers, longer with failures, shorter with successes | you want the published algorithm, or a pace that can be told in one number |
//! | [`FullJitter`] | anywhere from 0 to `base · 2^n`, at most `cap` | failures are rare, and those who failed together should not come back together |
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
mod decorrelated;
mod delays;
mod equal_jitter;
mod exponential;
mod full_jitter;
mod growth;
mod jitter;
mod linear;
mod quadratic;
mod responsive;
mod schedule;
#[cfg(test)]
pub(crate) mod testing;

pub use adaptive::{Adaptive, PaceReason, PaceSnapshot, PaceState};
pub use decorrelated::DecorrelatedJitter;
pub use delays::Delays;
pub use equal_jitter::EqualJitter;
pub use exponential::Exponential;
pub use full_jitter::FullJitter;
pub use linear::Linear;
pub use quadratic::Quadratic;
pub use responsive::{Responsive, ResponsiveMetrics};
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
    /// Each departure is followed by one [`observe`](Self::observe) with the same number sent. An admission that nobody could
    /// use has neither.
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

/// A pace for each hot partition key, beside the pace of all.
///
/// A key is what [`BatchTarget::partition_key`](crate::targets::BatchTarget::partition_key) says. Entries of a hot key wait in
/// a line of their own, and the strategy does not hear of their throttles by [`observe`](BackoffStrategy::observe). All
/// methods are called from the loop of a delivery and must return at once.
pub trait KeyPace: Send + Sync {
    /// Hears what a call came to, key by key, before [`BackoffStrategy::observe`], and sets [`KeyOutcome::is_hot`] of the keys
    /// whose throttles are their own. Not called for calls without throttles while the pace [is idle](Self::is_idle).
    fn observe(&self, sent_at: Instant, answered_at: Instant, keys: &mut [KeyOutcome]);

    /// Whether no key is hot or may soon be.
    fn is_idle(&self) -> bool;

    /// Whether the key is hot.
    fn is_hot(&self, key: u64) -> bool;

    /// Whether a call may carry entries of the key that count for `wanted`, and for how much at most.
    fn admit(&self, now: Instant, key: u64, wanted: usize) -> Admission;

    /// A call leaves with entries of the key that count for so much.
    fn depart(&self, now: Instant, key: u64, entries: usize);
}

/// What a call came to for the entries of one partition key, in entries or units of capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyOutcome {
    /// The key.
    pub key: u64,
    /// Entries in the call.
    pub sent: usize,
    /// Entries that the service accepted.
    pub accepted: usize,
    /// Entries that were throttled.
    pub throttled: usize,
    /// Entries that were never rejected before.
    pub fresh: usize,
    /// Of these, the ones that were throttled.
    pub fresh_throttled: usize,
    /// How many different entries came for the first time, whatever they count for, and how many of them were throttled. One
    /// entry that is rejected again and again makes no key hot.
    pub first_attempts: (usize, usize),
    /// The key is hot: its throttles say nothing of the others.
    pub is_hot: bool,
}

impl KeyOutcome {
    /// A key of which nothing was counted yet.
    pub const fn new(key: u64) -> Self {
        Self {
            key,
            sent: 0,
            accepted: 0,
            throttled: 0,
            fresh: 0,
            fresh_throttled: 0,
            first_attempts: (0, 0),
            is_hot: false,
        }
    }
}

/// The next retry of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// 1 for the first retry of the entry, 2 for the second …
    pub number: u32,
    /// How long the entry rested before its last retry; `None` before the first.
    pub previous: Option<Duration>,
}

impl Retry {
    /// The retry of this number, from 1, of an entry that rested for `previous` before the last one.
    pub const fn new(number: u32, previous: Option<Duration>) -> Self {
        Self { number, previous }
    }

    /// The retry that follows `self` when the entry rested for `rest` and was rejected again.
    #[must_use]
    pub fn after(self, rest: Duration) -> Self {
        Self {
            number: self.number.saturating_add(1),
            previous: Some(rest),
        }
    }

    /// The first retry of an entry.
    pub const FIRST: Self = Self::new(1, None);
}

/// A worker that is ready to make a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiter {
    /// How many entries are ready for the call.
    pub entries: usize,
    /// Whether at least ten calls of entries are known to wait.
    pub more: bool,
}

impl Waiter {
    /// A worker with so many entries for its call, and no more of them known to wait.
    pub const fn new(entries: usize) -> Self {
        Self { entries, more: false }
    }

    /// Whether at least ten calls of entries are known to wait.
    #[must_use]
    pub const fn with_more(mut self, more: bool) -> Self {
        self.more = more;
        self
    }
}

/// The answer to a [`Waiter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Make the call now, with at most this many entries (at least one is always sent).
    Go(usize),
    /// Wait until then, or until the next outcome.
    WaitUntil(Instant),
}

/// What a call came to, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// When the call left.
    pub sent_at: Instant,
    /// When its answer came, or was given up.
    pub answered_at: Instant,
    /// Entries in the call: the sum of the four that follow.
    pub sent: usize,
    /// Entries that the service accepted.
    pub accepted: usize,
    /// Entries rejected for lack of capacity, or handed back without a reason.
    pub throttled: usize,
    /// Entries that failed for a passing reason that is not the pace: internal errors, lost connections.
    pub failed: usize,
    /// Of these, the ones whose call could not be made, so that they say nothing of the service: no credentials, no
    /// connection.
    pub unsent: usize,
    /// Entries that the service will never accept.
    pub refused: usize,
    /// Of all these, the ones that were never rejected before.
    pub fresh: Tally,
}

/// Entries of one call that have something in common.
///
/// What becomes of fresh entries and of retries tells a service that is too slow for all entries from one that is too slow
/// for some of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// How many were sent.
    pub sent: usize,
    /// How many of them were throttled.
    pub throttled: usize,
}

impl Outcome {
    /// A call that left at `sent_at` and was answered at `answered_at`, with nothing counted yet.
    pub fn new(sent_at: Instant, answered_at: Instant) -> Self {
        Self {
            sent_at,
            answered_at,
            sent: 0,
            accepted: 0,
            throttled: 0,
            failed: 0,
            unsent: 0,
            refused: 0,
            fresh: Tally::default(),
        }
    }

    /// The same call with `count` accepted entries more.
    #[must_use]
    pub fn with_accepted(mut self, count: usize) -> Self {
        self.accepted += count;
        self.sent += count;
        self
    }

    /// The same call with `count` throttled entries more.
    #[must_use]
    pub fn with_throttled(mut self, count: usize) -> Self {
        self.throttled += count;
        self.sent += count;
        self
    }

    /// The same call with `count` failed entries more.
    #[must_use]
    pub fn with_failed(mut self, count: usize) -> Self {
        self.failed += count;
        self.sent += count;
        self
    }

    /// The same call, of whose failed entries `count` more were never sent.
    ///
    /// They are counted as [failed](Self::with_failed) apart from this.
    #[must_use]
    pub fn with_unsent(mut self, count: usize) -> Self {
        self.unsent += count;
        self
    }

    /// The same call with `count` refused entries more.
    #[must_use]
    pub fn with_refused(mut self, count: usize) -> Self {
        self.refused += count;
        self.sent += count;
        self
    }

    /// The same call, of whose entries `sent` more were never rejected before and `throttled` of those were throttled.
    ///
    /// They are counted by their fate apart from this.
    #[must_use]
    pub fn with_fresh(mut self, sent: usize, throttled: usize) -> Self {
        self.fresh = self.fresh.plus(sent, throttled);
        self
    }
}

impl Tally {
    /// So many entries, and how many of them were throttled.
    pub const fn new(sent: usize, throttled: usize) -> Self {
        Self { sent, throttled }
    }

    fn plus(self, sent: usize, throttled: usize) -> Self {
        Self::new(self.sent + sent, self.throttled + throttled)
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
