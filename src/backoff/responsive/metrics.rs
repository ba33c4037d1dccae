//! What the interval has been through.

use std::time::Duration;

/// What a [`Responsive`](super::Responsive) interval has been through since it was made. A reset does not clear it.
///
/// The strategy has no clock and cannot see whether a worker has another call to make. It counts the sleep that it asks
/// for after each call: a worker that stops asks for one sleep less than is counted here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ResponsiveMetrics {
    /// Calls whose outcome was heard, failures and successes and those that are neither.
    pub invocations: u64,
    /// Failures that raised the interval, also those that met it at its longest. Failures that left before the last
    /// increase are not among them, unless the strategy is uncoordinated.
    pub times_up: u64,
    /// How often enough successes had come together to lower the interval.
    pub times_down: u64,
    /// Calls that left the interval above zero, so that whoever made the call sleeps.
    pub sleeps: u64,
    /// The sum of these intervals: over all workers, not by the clock on the wall.
    pub slept: Duration,
}
