//! The contract between the deliveries and a strategy: what a strategy is asked, and what it learns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::admission::{Admission, Waiter};
use super::details::PaceDetails;
use super::snapshot::PaceSnapshot;

/// How long a rejected entry waits before it is sent again, and with a [`Pace`] also when calls may leave.
///
/// One method makes a strategy: [`delay`](Self::delay). Any `Fn(u32) -> Duration` is a strategy too: its argument is the
/// number of the retry, from 1.
///
/// ```
/// use std::time::Duration;
/// use aws_batch_delivery::DeliveryOptions;
/// use aws_batch_delivery::backoff::{BackoffStrategy, Retry};
///
/// /// As long as the last delay and the one before it together.
/// struct Fibonacci;
///
/// impl BackoffStrategy for Fibonacci {
///     fn delay(&self, retry: Retry) -> Duration {
///         let (mut delay, mut next) = (10, 10);
///         for _ in 1..retry.number.min(12) {
///             (delay, next) = (next, delay + next);
///         }
///         Duration::from_millis(delay)
///     }
/// }
///
/// let options = DeliveryOptions::default().backoff(Fibonacci);
/// let in_short = DeliveryOptions::default().backoff(|retry: u32| Duration::from_millis(10) * retry);
/// ```
///
/// # Contract
/// It applies to [`Pace`] as well.
///
/// - **Shared.** [`DeliveryOptions`](crate::DeliveryOptions) own the strategy, and their clones share it. The methods are
///   called from the tasks of all deliveries with these options, on any thread and several at once.
/// - **Immediate.** A method blocks the delivery that calls it, and often all others. It does no I/O, does not wait, and
///   calls neither a delivery nor [`reset_backoff`](crate::DeliveryOptions::reset_backoff).
/// - **No clock.** It uses the times in its arguments. They are tokio's, so a strategy follows a paused clock.
/// - **A panic** is caught. The strategy is not called again, and every delivery that shares it ends: undelivered entries
///   are handed back as [`Cause::Stopped`](crate::Cause::Stopped), with the message of the panic as the source of the fault.
pub trait BackoffStrategy: Send + Sync + 'static {
    /// How long an entry waits before it is sent again; zero: until the next call may leave.
    ///
    /// Called when a call has ended, after [`Pace::observe`], once for all of its rejected entries with the same history:
    /// they are sent again together. Not called for entries of a hot key, nor when the call could not be made: these
    /// entries wait for their key, or until single calls have shown that calls can be made again.
    ///
    /// An entry that would wait beyond [`give_up_after`](crate::DeliveryOptions::give_up_after) is handed back at once.
    /// When half of a call was throttled, or nothing of it was accepted, the worker that made it waits as long as the first
    /// of its entries; with a [`Pace`], and if none of them failed, for a second at most.
    fn delay(&self, retry: Retry) -> Duration;

    /// The part of the strategy that paces calls, if there is one: usually `Some(self)`. Default: none, and calls leave as
    /// soon as a worker is free.
    ///
    /// Called before each question to that part, and must always return the same.
    fn pace(&self) -> Option<&dyn Pace> {
        None
    }
}

impl<F> BackoffStrategy for F
where
    F: Fn(u32) -> Duration + Send + Sync + 'static,
{
    fn delay(&self, retry: Retry) -> Duration {
        self(retry.number)
    }
}

impl<S> BackoffStrategy for Arc<S>
where
    S: BackoffStrategy + ?Sized,
{
    fn delay(&self, retry: Retry) -> Duration {
        (**self).delay(retry)
    }

    fn pace(&self) -> Option<&dyn Pace> {
        (**self).pace()
    }
}

/// The next retry of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// 1 for the first retry of the entry, 2 for the second …
    pub number: u32,
    /// How long the entry waited before its last retry; `None` before the first.
    pub previous: Option<Duration>,
}

impl Retry {
    /// The retry of this number, from 1, of an entry that waited for `previous` before the last one.
    pub const fn new(number: u32, previous: Option<Duration>) -> Self {
        Self { number, previous }
    }

    /// The retry that follows `self` when the entry waited for `delay` and was rejected again.
    #[must_use]
    pub(crate) fn after(self, delay: Duration) -> Self {
        Self {
            number: self.number.saturating_add(1),
            previous: Some(delay),
        }
    }

    /// The first retry of an entry.
    pub(crate) const FIRST: Self = Self::new(1, None);
}

/// When calls may leave, for all workers together: the part of a [`BackoffStrategy`] that measures
/// what the service accepts.
///
/// Every method has a default that does nothing. Usually three are written:
///
/// - [`admit`](Self::admit): whether a call may leave now.
/// - [`depart`](Self::depart): a call leaves.
/// - [`observe`](Self::observe): its result.
///
/// The [contract](BackoffStrategy#contract) of strategies applies. `examples/own_strategy.rs` is a complete one. It counts entries; only
/// [`Adaptive`](super::Adaptive) counts units of capacity.
pub trait Pace: Send + Sync {
    /// Whether the waiter may make its call now, and with how many entries.
    ///
    /// Only the worker that has waited longest is asked, and none while another one has a permit and has not left; so there
    /// are never two calls of this method at once. It is called again at the time that it returned, and after every
    /// [`observe`](Self::observe). A permit need not be used; a permit for more entries than are ready applies to all of
    /// them. Default: the call may leave with all its entries.
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        let _ = now;
        Admission::Go(waiter.entries)
    }

    /// A call with this many entries leaves, usually as many as [`admit`](Self::admit) returned.
    ///
    /// Each departure is followed by one [`observe`](Self::observe) with the same number sent, whatever happens to the call
    /// or the delivery. An unused permit has neither.
    fn depart(&self, now: Instant, entries: usize) {
        let _ = (now, entries);
    }

    /// The result of a call. Called once for each call that has left, in the order of the answers, from several tasks at
    /// once.
    fn observe(&self, outcome: &Outcome) {
        let _ = outcome;
    }

    /// The service is known to be back: forgets that it was slow. Called by
    /// [`reset_backoff`](crate::DeliveryOptions::reset_backoff), on any thread.
    fn reset(&self) {}

    /// How long a worker waits after one of its calls before it makes the next one. Called once after each
    /// [`observe`](Self::observe); the worker waits for this or for the [delay](BackoffStrategy::delay) after the call,
    /// whichever is longer.
    /// Default: zero.
    fn cooldown(&self) -> Duration {
        Duration::ZERO
    }

    /// The current state, for people: [`Progress`](crate::Progress) shows it, and the [log](crate::events) has its state
    /// and reason. Called by any task at any time. Default: `None`, for a strategy without states.
    fn snapshot(&self) -> Option<PaceSnapshot> {
        None
    }

    /// What the strategies of this crate do beyond these methods. Not part of the public interface.
    #[doc(hidden)]
    fn details(&self) -> Option<&dyn PaceDetails> {
        None
    }
}

/// The result of a call, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Outcome {
    /// When the call left.
    pub sent_at: Instant,
    /// When the answer came, or the call was abandoned.
    pub answered_at: Instant,
    /// Entries in the call: the sum of the accepted, throttled, failed and refused ones.
    pub sent: usize,
    /// Entries that the service accepted, or whose conditions it has evaluated: it has consumed capacity for both.
    pub accepted: usize,
    /// Entries rejected for lack of capacity, or handed back without a reason.
    pub throttled: usize,
    /// Entries that failed for a temporary reason that is not the pace: internal errors, lost connections; and the throttled entries of
    /// hot keys, which have paces of their own.
    pub failed: usize,
    /// Entries among `failed` that used no capacity and say nothing about it: their call could not be made (no credentials, no
    /// connection), or the entry was throttled because of its hot key.
    pub unsent: usize,
    /// Entries that the service will never accept.
    pub refused: usize,
    /// Of all these, the entries that were never rejected before. Comparing them with retries distinguishes a service that has no
    /// capacity for any entry from one that has none for some of them.
    pub fresh: usize,
    /// Of the fresh entries, the throttled ones.
    pub fresh_throttled: usize,
}

impl Outcome {
    /// A call that left at `sent_at` and was answered at `answered_at`, with nothing counted yet: the fields are public, for the tests of a
    /// strategy.
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
            fresh: 0,
            fresh_throttled: 0,
        }
    }

    /// The same call with `count` accepted entries more.
    pub(crate) fn with_accepted(mut self, count: usize) -> Self {
        self.accepted += count;
        self.sent += count;
        self
    }

    /// The same call with `count` throttled entries more.
    pub(crate) fn with_throttled(mut self, count: usize) -> Self {
        self.throttled += count;
        self.sent += count;
        self
    }

    /// The same call with `count` failed entries more.
    pub(crate) fn with_failed(mut self, count: usize) -> Self {
        self.failed += count;
        self.sent += count;
        self
    }

    /// The same call, of whose failed entries `count` more were never sent.
    ///
    /// These are counted as [failed](Self::with_failed) separately.
    pub(crate) fn with_unsent(mut self, count: usize) -> Self {
        self.unsent += count;
        self
    }

    /// The same call with `count` refused entries more.
    pub(crate) fn with_refused(mut self, count: usize) -> Self {
        self.refused += count;
        self.sent += count;
        self
    }

    /// The same call, of whose entries `sent` more were never rejected before, of which `throttled` were throttled.
    ///
    /// Their outcome is counted separately.
    pub(crate) fn with_fresh(mut self, sent: usize, throttled: usize) -> Self {
        self.fresh += sent;
        self.fresh_throttled += throttled;
        self
    }
}
