//! What a call came to, in numbers.

use std::time::Instant;

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
