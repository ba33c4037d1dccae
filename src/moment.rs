//! A moment on two clocks.

#![cfg_attr(
    not(any(feature = "dynamodb", feature = "sqs", feature = "spool")),
    allow(dead_code, unused_imports, reason = "nothing else is in doubt or held for long")
)]

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// By so much a clock may be set back while it is kept right.
#[cfg(feature = "spool")]
const CORRECTED: Duration = Duration::from_secs(5);

/// A moment, on the clock of the process and on that of the machine: the first one stops while the machine sleeps, and the
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

    /// A moment of an earlier process, which had another clock. If the clock of the machine was set back since, it may have been at any
    /// time, and counts as long ago.
    #[cfg(feature = "spool")]
    pub(crate) fn of_time(time: SystemTime) -> Self {
        let now = Instant::now();
        let is_ahead = time.elapsed().is_err_and(|ahead| ahead.duration() > CORRECTED);
        let time = if is_ahead { SystemTime::UNIX_EPOCH } else { time };
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

#[cfg(all(test, feature = "spool"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_moment_of_an_earlier_process_is_not_new_because_the_clock_was_set_back() {
        let seconds = Duration::from_secs;
        let age = |time| Moment::of_time(time).age_at(Instant::now());
        let now = SystemTime::now();
        assert!((seconds(59)..seconds(120)).contains(&age(now - seconds(60))));
        assert!(age(now + seconds(3)) < seconds(60));
        assert!(age(now + seconds(120)) > Duration::from_secs(100_000 * 60 * 60));
    }
}
