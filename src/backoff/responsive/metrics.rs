//! What the interval has been through.

use std::time::Duration;

/// What a [`Responsive`](super::Responsive) interval has been through since it was made. A reset does not clear it.
///
/// The strategy has no clock and cannot see whether a worker has another call to make. It counts the interval once for each
/// answer, also when no call follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ResponsiveMetrics {
    /// Calls whose outcome was heard, failures and successes and those that are neither.
    pub invocations: u64,
    /// How often rejections lengthened the interval, also when they met it at its longest.
    pub times_up: u64,
    /// How often successes shortened the interval.
    pub times_down: u64,
    /// Answers that came while the interval was above zero.
    pub sleeps: u64,
    /// The sum of these intervals: with the published algorithm over all workers, not by the clock on the wall.
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
