//! The result of a call, in numbers.

use std::time::Instant;

/// The result of a call, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// When the call left.
    pub sent_at: Instant,
    /// When the answer came, or the call was abandoned.
    pub answered_at: Instant,
    /// Entries in the call: the sum of the accepted, throttled, failed and refused ones.
    pub sent: usize,
    /// Entries that the service accepted.
    pub accepted: usize,
    /// Entries rejected for lack of capacity, or handed back without a reason.
    pub throttled: usize,
    /// Entries that failed for a temporary reason that is not the pace: internal errors, lost connections.
    pub failed: usize,
    /// Of these, the entries whose call could not be made, so that they tell nothing about the service: no credentials, no
    /// connection.
    pub unsent: usize,
    /// Entries that the service will never accept.
    pub refused: usize,
    /// Of all these, the entries that were never rejected before.
    pub fresh: Tally,
}

/// Counts of those entries of a call that have something in common.
///
/// Comparing fresh entries with retries distinguishes a service that has no capacity for any entry from one that has none
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
    /// These are counted as [failed](Self::with_failed) separately.
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

    /// The same call, of whose entries `sent` more were never rejected before, of which `throttled` were throttled.
    ///
    /// Their fate is counted separately.
    #[must_use]
    pub fn with_fresh(mut self, sent: usize, throttled: usize) -> Self {
        self.fresh = self.fresh.plus(sent, throttled);
        self
    }
}

impl Tally {
    /// This many entries, of which this many were throttled.
    pub const fn new(sent: usize, throttled: usize) -> Self {
        Self { sent, throttled }
    }

    fn plus(self, sent: usize, throttled: usize) -> Self {
        Self::new(self.sent + sent, self.throttled + throttled)
    }
}
