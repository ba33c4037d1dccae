//! How long a rejected entry waits: the contract of every strategy.

use std::sync::Arc;
use std::time::Duration;

use super::{Pace, Retry};

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
/// It applies to [`Pace`] and [`KeyPace`](super::KeyPace) as well.
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
    /// entries wait for their key or for the next probe.
    ///
    /// An entry that would wait beyond [`give_up_after`](crate::DeliveryOptions::give_up_after) is handed back at once.
    /// When half of a call was throttled, or nothing of it was accepted, the worker that made it waits as long as the first
    /// of its entries.
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
