//! When calls may leave: the contract of a strategy that paces all workers together.

use std::time::{Duration, Instant};

use super::{Admission, KeyPace, Outcome, PaceSnapshot, Waiter};

/// When calls may leave, for all workers together: the part of a [`BackoffStrategy`](super::BackoffStrategy) that measures what the
/// service takes.
///
/// Every method has a default that does nothing. A pace of its own mostly writes three:
///
/// - [`admit`](Self::admit): whether a call may leave now.
/// - [`depart`](Self::depart): a call leaves.
/// - [`observe`](Self::observe): what it came to.
///
/// The [contract](super::BackoffStrategy#contract) of strategies holds. `examples/own_strategy.rs` is a whole one.
pub trait Pace: Send + Sync {
    /// Whether the waiter may make its call now, and with how many entries.
    ///
    /// Only the worker that has waited longest is asked, and none while another one has its permission and has not left: so never
    /// two at once. It is asked again when the time named has come, and after every [`observe`](Self::observe). A permission need
    /// not be used, and more entries than are ready mean all of them. Default: it may, with all that it has.
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        let _ = now;
        Admission::Go(waiter.entries)
    }

    /// A call with this many entries leaves, mostly the ones that [`admit`](Self::admit) was asked for.
    ///
    /// Each departure is followed by one [`observe`](Self::observe) with the same number sent, whatever becomes of the call or the
    /// delivery. A permission that was not used has neither.
    fn depart(&self, now: Instant, entries: usize) {
        let _ = (now, entries);
    }

    /// What a call came to. Called once for each that has left, in the order of the answers, from several tasks at once.
    fn observe(&self, outcome: &Outcome) {
        let _ = outcome;
    }

    /// The service is known to be back: forget that it was slow. Called by
    /// [`reset_backoff`](crate::DeliveryOptions::reset_backoff), on any thread.
    fn reset(&self) {}

    /// How long a worker waits after a call of its own before it makes the next one. Called once after each
    /// [`observe`](Self::observe); the worker waits for this or for the delay of the call's entries, whichever is longer.
    /// Default: zero.
    fn cooldown(&self) -> Duration {
        Duration::ZERO
    }

    /// How much longer an entry waits whose [delay](super::BackoffStrategy::delay) is over; zero: it is sent again.
    ///
    /// Called for one entry after the other as their delays end, and again when the time named has passed, so that the retries of
    /// entries that are rejected for reasons of their own can go one after the other, however many of them there are. No entry
    /// is held beyond its time. Default: zero.
    fn extra_delay(&self, now: Instant) -> Duration {
        let _ = now;
        Duration::ZERO
    }

    /// What it measures and does at the moment, for people: [`Progress`](crate::Progress) shows it, and the
    /// [log](crate::events) tells its state and reason. Called by any task at any time. Default: `None`, it has no states.
    fn snapshot(&self) -> Option<PaceSnapshot> {
        None
    }

    /// The part that paces single partition keys, if it has one. Called before each question to that part. Default: none.
    fn key_pace(&self) -> Option<&dyn KeyPace> {
        None
    }

    /// Whether to count entries by their units of capacity, in all that it is told and all that it answers: an entry of 3.5 KB
    /// then counts for 4 with DynamoDB. Asked once, by [`DeliveryOptions::backoff`](crate::DeliveryOptions::backoff), to which a panic
    /// goes. Default: every entry counts for 1.
    ///
    /// What an entry counts for is what [`BatchTarget::units`](crate::targets::BatchTarget::units) says, corrected by what the
    /// service says it charged. [`accepted`](Outcome::accepted) is then what it charged, where it said so.
    fn counts_units(&self) -> bool {
        false
    }
}
