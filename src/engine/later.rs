//! Moments that may be too far away for the clock.

use std::time::Duration;

use tokio::time::Instant;

/// About 30 years: the furthest moment that tokio's timers support.
const FAR: Duration = Duration::from_hours(24 * 365 * 30);

/// `delay` after `now`, or the furthest moment that the clock supports.
pub(crate) fn later(now: Instant, delay: Duration) -> Instant {
    now.checked_add(delay.min(FAR)).unwrap_or(now)
}
