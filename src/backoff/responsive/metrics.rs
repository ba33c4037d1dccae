//! Counters of the interval.

use std::time::Duration;

/// Counters of a [`Responsive`](super::Responsive) interval since it was created. A reset does not clear them.
///
/// The strategy has no clock and cannot see whether a worker has another call to make. It counts the interval once for each
/// answer, even if no call follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ResponsiveMetrics {
    /// Calls with an observed outcome: failures, successes and others.
    pub invocations: u64,
    /// How often rejections lengthened the interval, even if it was at its maximum.
    pub times_up: u64,
    /// How often successes shortened the interval.
    pub times_down: u64,
    /// Answers while the interval was above zero.
    pub sleeps: u64,
    /// The sum of these intervals; with the published algorithm over all workers, not wall-clock time.
    pub slept: Duration,
}

impl ResponsiveMetrics {
    /// Counts an answer and the interval that follows it.
    pub(super) fn hear(&mut self, interval: Duration) {
        self.invocations = self.invocations.saturating_add(1);
        if !interval.is_zero() {
            self.sleeps = self.sleeps.saturating_add(1);
            self.slept = self.slept.saturating_add(interval);
        }
    }
}
