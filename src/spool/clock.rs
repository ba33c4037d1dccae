//! The clock of the system, which continues between two runs of a program.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(super) fn now() -> i64 {
    of(SystemTime::now())
}

/// The time of these milliseconds since 1970.
pub(super) fn time(milliseconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}

/// The milliseconds since 1970 of this time.
pub(super) fn of(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// How long ago that was; zero if the clock was set back since.
pub(super) fn age(milliseconds: i64) -> Duration {
    Duration::from_millis(u64::try_from(now().saturating_sub(milliseconds)).unwrap_or(0))
}
