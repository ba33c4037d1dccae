//! The pace of retries that are rejected for reasons of their own.

use super::answer::Answer;
use super::retries::Retries;
use super::retry_group::RetryGroup;

/// Retries are judged by calls of whose fresh entries at most this share was rejected.
const FEW_REJECTED: f64 = 0.25;

/// Finds out whether retries are rejected for reasons of their own, and paces them by themselves as long as they are.
#[derive(Debug, Default)]
pub(super) struct RetryPace {
    retries: Retries,
    group: RetryGroup,
}

impl RetryPace {
    /// Retries are paced by themselves.
    pub(super) fn is_active(&self) -> bool {
        self.group.is_active()
    }

    /// Whether retries are held back until it is their turn.
    pub(super) fn holds(&self) -> bool {
        self.group.is_active() && !self.group.gives()
    }

    /// How long an entry has to wait for its turn, in seconds.
    pub(super) fn hold(&mut self, now: f64) -> f64 {
        self.group.hold(now)
    }

    /// Whether retries fare as fresh entries do, so that it is mere chance which entries are rejected again.
    pub(super) fn are_unlucky(&self) -> bool {
        self.retries.are_unlucky()
    }

    /// Whether the rejections of a call fell on its retries, and that by no chance.
    pub(super) fn are_singled_out(answer: &Answer) -> bool {
        let (fresh, retries) = fresh_and_retries(answer);
        Retries::are_singled_out(fresh, retries)
    }

    /// Retries that are rejected while the fresh entries of the same calls are accepted have reasons of their own. When that
    /// becomes known, returns the fresh entries that were heard of lately, and how many of them were rejected.
    pub(super) fn hear(&mut self, answer: &Answer, loss: f64, capacity: f64) -> Option<(f64, f64)> {
        let (fresh, retries) = fresh_and_retries(answer);
        self.retries.hear(fresh, retries);
        if self.group.is_active() {
            self.group.give(fresh.1 - 2.0 * loss * fresh.0);
            if fresh.1 <= FEW_REJECTED * fresh.0 {
                self.group.hear(retries.0, retries.1, capacity);
            }
            return None;
        }
        if !self.retries.are_at_fault() {
            return None;
        }
        self.retries.acquit();
        self.group.begin(answer.now);
        Some(self.retries.fresh())
    }
}

/// What was sent and rejected, of fresh entries and of retries.
fn fresh_and_retries(answer: &Answer) -> ((f64, f64), (f64, f64)) {
    let fresh = (answer.fresh, answer.fresh_rejected);
    (fresh, (answer.sent - fresh.0, answer.rejected - fresh.1))
}
