//! A pace for each hot partition key, beside the pace of all.

use std::time::Instant;

use super::Admission;

/// A pace for each hot partition key, beside the pace of all.
///
/// A key is what [`BatchTarget::partition_key`](crate::targets::BatchTarget::partition_key) says. Entries of a hot key wait in
/// a line of their own, and the strategy does not hear of their throttles by [`observe`](super::Pace::observe). The
/// [contract](super::BackoffStrategy#contract) of strategies holds.
pub trait KeyPace: Send + Sync {
    /// Hears what a call came to, key by key, before the strategy [does](super::Pace::observe), and sets
    /// [`KeyOutcome::is_hot`] of the keys whose throttles are their own. Not called for calls without throttles while the pace [is idle](Self::is_idle).
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
