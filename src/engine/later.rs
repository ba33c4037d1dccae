//! Moments that may be too far away for a clock.

use std::time::Duration;

use tokio::time::Instant;

/// About 30 years: the farthest that tokio's own timers go.
const FAR: Duration = Duration::from_hours(24 * 365 * 30);

/// `delay` after `now`, or as far away as a clock can tell.
pub(crate) fn later(now: Instant, delay: Duration) -> Instant {
    now.checked_add(delay.min(FAR)).unwrap_or(now)
}
