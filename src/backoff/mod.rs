//! The pace: when calls may leave, and how long a rejected entry rests before it is sent again.
//!
//! [`BackoffStrategy`] is the whole contract. A strategy does no I/O and has no clock: it is told the time, and told what
//! each call came to. One strategy is shared by all deliveries whose options are clones of each other.

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
mod testing;

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

    /// The service is known to be back: forget that it was slow.
    fn reset(&self) {}
}

/// The next retry of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// 1 for the first retry of the entry, 2 for the second …
    pub number: u32,
    /// How long the entry rested before its last retry; `None` before the first.
    pub previous: Option<Duration>,
}

impl Retry {
    /// The retry that follows `self` when the entry rested for `rest` and was rejected again.
    #[must_use]
    pub fn after(self, rest: Duration) -> Self {
        Self {
            number: self.number.saturating_add(1),
            previous: Some(rest),
        }
    }

    /// The first retry of an entry.
    pub const FIRST: Self = Self {
        number: 1,
        previous: None,
    };
}

/// Someone who wants to make a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiter {
    /// How many entries are ready for the call.
    pub entries: usize,
    /// When the waiter's last call was answered; `None` before its first call.
    pub idle_since: Option<Instant>,
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
    /// Entries that the service will never accept.
    pub refused: usize,
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
            refused: 0,
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

    /// The same call with `count` refused entries more.
    #[must_use]
    pub fn with_refused(mut self, count: usize) -> Self {
        self.refused += count;
        self.sent += count;
        self
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

    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        (**self).admit(now, waiter)
    }

    fn depart(&self, now: Instant, entries: usize) {
        (**self).depart(now, entries);
    }

    fn observe(&self, outcome: &Outcome) {
        (**self).observe(outcome);
    }

    fn reset(&self) {
        (**self).reset();
    }
}
