//! What one answer tells.

use super::count::reckoned;
use crate::backoff::Outcome;

/// One answer, in numbers to reckon with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evidence {
    /// When the call left, was seen by the service, and was answered, in seconds.
    pub(super) sent_at: f64,
    pub(super) seen_at: f64,
    pub(super) now: f64,
    pub(super) sent: f64,
    pub(super) accepted: f64,
    pub(super) rejected: f64,
    /// Of all these, the fresh ones.
    pub(super) fresh: f64,
    pub(super) fresh_rejected: f64,
}

impl Evidence {
    pub(super) fn new(outcome: &Outcome, sent_at: f64, seen_at: f64, now: f64) -> Self {
        Self {
            sent_at,
            seen_at,
            now,
            sent: reckoned(outcome.sent),
            accepted: reckoned(outcome.accepted),
            rejected: reckoned(outcome.throttled),
            fresh: reckoned(outcome.fresh.sent),
            fresh_rejected: reckoned(outcome.fresh.throttled),
        }
    }

    /// Nothing got through.
    pub(super) fn is_full_rejection(&self) -> bool {
        self.rejected > 0.0 && self.rejected >= self.sent
    }
}
