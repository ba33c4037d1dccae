//! When calls may leave: the contract of a strategy that paces all workers together.

use std::time::{Duration, Instant};

use super::{Admission, KeyPace, Outcome, PaceSnapshot, Waiter};

/// When calls may leave, for all workers together: the part of a [`BackoffStrategy`](super::BackoffStrategy) that measures
/// what the service accepts.
///
/// Every method has a default that does nothing. Usually three are written:
///
/// - [`admit`](Self::admit): whether a call may leave now.
/// - [`depart`](Self::depart): a call leaves.
/// - [`observe`](Self::observe): its result.
///
/// The [contract](super::BackoffStrategy#contract) of strategies applies. `examples/own_strategy.rs` is a complete one.
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

    /// The service announces that it accepts this many units of capacity per second from all its clients together: the result of
    /// [`BatchTarget::throughput`](crate::targets::BatchTarget::throughput), finite and above 0. Called once for each delivery, before
    /// its first call, if the strategy [counts units](Self::counts_units). The service may accept far less or far more, so the
    /// announcement is where the strategy may start, but not a limit. Default: nothing.
    fn expect_throughput(&self, units: f64) {
        let _ = units;
    }

    /// How long a worker waits after one of its calls before it makes the next one. Called once after each
    /// [`observe`](Self::observe); the worker waits for this or for the delay of the call's entries, whichever is longer.
    /// Default: zero.
    fn cooldown(&self) -> Duration {
        Duration::ZERO
    }

    /// How much longer an entry waits whose [delay](super::BackoffStrategy::delay) is over; zero: it is sent again.
    ///
    /// Called for each entry when its delay ends, and again when the returned time has passed. It can space out the retries
    /// of entries that are rejected for reasons of their own, however many there are. No entry waits beyond its time.
    /// Default: zero.
    fn extra_delay(&self, now: Instant) -> Duration {
        let _ = now;
        Duration::ZERO
    }

    /// The current state, for people: [`Progress`](crate::Progress) shows it, and the [log](crate::events) has its state
    /// and reason. Called by any task at any time. Default: `None`, for a strategy without states.
    fn snapshot(&self) -> Option<PaceSnapshot> {
        None
    }

    /// The part that paces single partition keys, if there is one. Called before each question to that part. Default: none.
    fn key_pace(&self) -> Option<&dyn KeyPace> {
        None
    }

    /// Whether entries count by their units of capacity, in everything that the strategy is told and returns: with
    /// DynamoDB, an entry of 3.5 KB then counts for 4. Called once by
    /// [`DeliveryOptions::backoff`](crate::DeliveryOptions::backoff), which does not catch a panic of it. Default: every
    /// entry counts for 1.
    ///
    /// The units of an entry are those of [`BatchTarget::units`](crate::targets::BatchTarget::units), corrected by what the
    /// service reports as consumed. [`accepted`](Outcome::accepted) is then the consumed number, if the service reports it.
    fn counts_units(&self) -> bool {
        false
    }
}
