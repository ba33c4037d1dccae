//! One answer of the service, in numbers to reckon with.

use super::count::reckoned;
use crate::backoff::Outcome;

/// One answer. All times are in seconds, all counts in entries or, where the strategy counts units, in units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    /// When the call left, reached the service, which is taken to be half-way, and was answered.
    pub(super) sent_at: f64,
    pub(super) seen_at: f64,
    pub(super) now: f64,
    pub(super) sent: f64,
    pub(super) accepted: f64,
    pub(super) rejected: f64,
    /// Of all these, the ones that were never rejected before.
    pub(super) fresh: f64,
    pub(super) fresh_rejected: f64,
}

/// A call of fewer entries is rejected as a whole by chance where many entries are.
const SEVERAL: f64 = 5.0;

/// What an answer says about the chance of a rejection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trial {
    /// Whether the call was rejected as a whole; `None` for a call of too few entries to tell.
    pub(super) call: Option<bool>,
    /// Entries, and how many of them were rejected. Those of a call that was rejected as a whole shared one fate.
    pub(super) sent: f64,
    pub(super) rejected: f64,
}

impl Answer {
    pub(super) fn new(outcome: &Outcome, sent_at: f64, now: f64) -> Self {
        Self {
            sent_at,
            seen_at: f64::midpoint(sent_at, now),
            now,
            sent: reckoned(outcome.sent),
            accepted: reckoned(outcome.accepted),
            rejected: reckoned(outcome.throttled),
            fresh: reckoned(outcome.fresh.sent),
            fresh_rejected: reckoned(outcome.fresh.throttled),
        }
    }

    /// Nothing of the call was accepted.
    pub(super) fn is_wholly_rejected(&self) -> bool {
        self.rejected > 0.0 && self.rejected >= self.sent
    }

    /// What was sent and rejected, of fresh entries and of retries.
    pub(super) fn fresh_and_retries(&self) -> ((f64, f64), (f64, f64)) {
        let fresh = (self.fresh, self.fresh_rejected);
        (fresh, (self.sent - fresh.0, self.rejected - fresh.1))
    }

    /// What the answer says, by all its entries or by the fresh ones alone.
    pub(super) fn trial(&self, fresh_only: bool) -> Trial {
        let (sent, rejected) = if fresh_only {
            (self.fresh, self.fresh_rejected)
        } else {
            (self.sent, self.rejected)
        };
        Trial {
            call: (sent > 0.0 && self.sent >= SEVERAL).then(|| self.is_wholly_rejected()),
            sent,
            rejected,
        }
    }
}

impl Trial {
    /// Whether the call was rejected as a whole, so that its entries are no trials of their own.
    pub(super) fn is_whole(&self) -> bool {
        self.call == Some(true)
    }

    /// Calls, and how many of them were rejected as a whole.
    pub(super) fn calls(&self) -> (f64, f64) {
        match self.call {
            None => (0.0, 0.0),
            Some(rejected) => (1.0, f64::from(u8::from(rejected))),
        }
    }

    /// Entries with a fate of their own, and how many of them were rejected.
    pub(super) fn entries(&self) -> (f64, f64) {
        if self.is_whole() {
            (0.0, 0.0)
        } else {
            (self.sent, self.rejected)
        }
    }
}
