//! A moment on two clocks.

#![cfg_attr(
    not(any(feature = "dynamodb", feature = "sqs", feature = "spool")),
    allow(dead_code, unused_imports, reason = "nothing else is in doubt or held for long")
)]

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// A moment, on the clock of the process and on that of the machine: the first one stands still while the machine sleeps, and the
/// second one may be set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) instant: Instant,
    pub(crate) time: SystemTime,
}

impl Moment {
    #[cfg(any(feature = "dynamodb", feature = "sqs"))]
    pub(crate) fn now() -> Self {
        Self {
            instant: Instant::now(),
            time: SystemTime::now(),
        }
    }

    /// A moment of an earlier process, which had another clock.
    #[cfg(feature = "spool")]
    pub(crate) fn of_time(time: SystemTime) -> Self {
        let now = Instant::now();
        let age = time.elapsed().unwrap_or_default();
        Self {
            instant: now.checked_sub(age).unwrap_or(now),
            time,
        }
    }

    /// How long ago it was at `now` on the clock of the process, on the clock on which more time has passed.
    pub(crate) fn age_at(self, now: Instant) -> Duration {
        let elapsed = now.saturating_duration_since(self.instant);
        elapsed.max(self.time.elapsed().unwrap_or_default())
    }
}
