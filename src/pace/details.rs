//! What a pace may do beyond its public contract: count units, space out retries, pace single keys.
//!
//! [`Adaptive`](super::Adaptive) is the only strategy that does. It is not part of the public interface, so that it can change
//! with the strategy; the crate's own tests and benchmarks reach it through `backoff::details`.

use std::time::{Duration, Instant};

use super::admission::Admission;

/// What a [`Pace`](super::Pace) may do in addition.
pub trait PaceDetails: Send + Sync {
    /// Whether entries count by their units of capacity, in everything that the strategy gets and returns: with
    /// DynamoDB, an entry of 3.5 KB then counts for 4. Called once by
    /// [`DeliveryOptions::backoff`](crate::DeliveryOptions::backoff), which does not catch a panic of it. Default: every
    /// entry counts for 1.
    ///
    /// The units of an entry are those of [`BatchTarget::units`](crate::targets::BatchTarget::units), corrected by what the
    /// service reports as consumed. [`Outcome::accepted`](super::Outcome::accepted) is then the consumed number, if the
    /// service reports it.
    fn counts_units(&self) -> bool {
        false
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

    /// The part that paces single partition keys, if there is one. Called before each question to that part. Default: none.
    fn key_pace(&self) -> Option<&dyn KeyPace> {
        None
    }
}

/// A pace for each hot partition key, in addition to the pace of all.
///
/// The keys are those of [`BatchTarget::partition_key`](crate::targets::BatchTarget::partition_key). Entries of a hot key
/// wait in a queue of their own, and their throttles are not part of the outcome in [`Pace::observe`](super::Pace::observe), but
/// [failed](super::Outcome::failed) entries in one before it: such a call is observed twice.
/// The [contract](super::BackoffStrategy#contract) of strategies applies.
pub trait KeyPace: Send + Sync {
    /// The result of a call for each key. Called before [`Pace::observe`](super::Pace::observe); sets
    /// [`KeyOutcome::is_hot`] of the keys whose throttles are their own. Not called for calls without throttles while the
    /// pace [is idle](Self::is_idle).
    fn observe(&self, sent_at: Instant, answered_at: Instant, keys: &mut [KeyOutcome]);

    /// Whether no key is hot or remembered for a rejection.
    fn is_idle(&self) -> bool;

    /// Whether the key is hot.
    fn is_hot(&self, key: u64) -> bool;

    /// Whether a call may carry entries of the key that cost `wanted`, and at most how much of that.
    fn admit(&self, now: Instant, key: u64, wanted: usize) -> Admission;

    /// A call leaves with entries of the key of this cost.
    fn depart(&self, now: Instant, key: u64, entries: usize);
}

/// The result of a call for the entries of one partition key, in entries or units of capacity.
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
    /// The number of entries that were sent for the first time, whatever they cost, and how many of them were throttled.
    /// One entry that is rejected repeatedly does not make its key hot, unless others of its lane wait behind it: then
    /// each of its attempts counts, since it stands for them.
    pub first_attempts: (usize, usize),
    /// Whether the key is hot: its throttles say nothing about other keys.
    pub is_hot: bool,
}

impl KeyOutcome {
    /// A key of which nothing is counted yet.
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
