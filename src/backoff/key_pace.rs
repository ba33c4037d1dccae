//! A pace for each hot partition key, in addition to the pace of all.

use std::time::Instant;

use super::Admission;

/// A pace for each hot partition key, in addition to the pace of all.
///
/// The keys are those of [`BatchTarget::partition_key`](crate::targets::BatchTarget::partition_key). Entries of a hot key
/// wait in a line of their own, and their throttles are not part of the outcome in [`observe`](super::Pace::observe). The
/// [contract](super::BackoffStrategy#contract) of strategies applies.
pub trait KeyPace: Send + Sync {
    /// The result of a call for each key. Called before [`Pace::observe`](super::Pace::observe); sets
    /// [`KeyOutcome::is_hot`] of the keys whose throttles are their own. Not called for calls without throttles while the
    /// pace [is idle](Self::is_idle).
    fn observe(&self, sent_at: Instant, answered_at: Instant, keys: &mut [KeyOutcome]);

    /// Whether no key is hot or close to it.
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
    /// One entry that is rejected again and again does not make its key hot, unless others of its lane wait behind it: then
    /// each of its attempts counts, since it stands for them.
    pub first_attempts: (usize, usize),
    /// Whether the key is hot: its throttles tell nothing about other keys.
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
