//! The time of a fleet, which is that of tokio's paused clock.

use std::time::{Duration, SystemTime};

use aws_smithy_async::time::TimeSource;
use rand::RngExt;
use rand::rngs::SmallRng;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// The time of day at which each fleet begins, in seconds since 1970.
const BEGINNING: u64 = 1_800_000_000;

/// Whether the time of a fleet passes only while its programs wait.
pub(crate) const IS_EXACT: bool = true;

/// The time since a fleet has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Duration {
        self.0.elapsed()
    }
}

/// Waits for this time of a fleet.
pub(crate) async fn pause(time: Duration) {
    sleep(time).await;
}

/// By how many seconds the time of day of one worker is ahead of that of the services, or behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Skew(i64);

impl Skew {
    #[expect(non_upper_case_globals, reason = "in processes it is a variant")]
    pub(crate) const None: Self = Self(0);

    pub(crate) fn of(random: &mut SmallRng) -> Self {
        match random.random_range(0..4) {
            0 => Self(random.random_range(-14 * 60..14 * 60)),
            _ => Self::None,
        }
    }

    /// Whether a call in flight may take too long by this clock. All workers wait by the same one.
    #[expect(clippy::unused_self, reason = "in processes it depends on the clock")]
    pub(crate) fn jumps(self) -> bool {
        false
    }
}

/// The time of day of a worker.
#[derive(Debug)]
pub(crate) struct TimeOfDay {
    clock: Clock,
    skew: Skew,
}

impl TimeOfDay {
    pub(crate) fn new(clock: Clock, Skew(seconds): Skew) -> Self {
        Self {
            clock,
            skew: Skew(seconds),
        }
    }
}

impl TimeSource for TimeOfDay {
    fn now(&self) -> SystemTime {
        let Skew(seconds) = self.skew;
        let beginning = SystemTime::UNIX_EPOCH + Duration::from_secs(BEGINNING.saturating_add_signed(seconds));
        beginning + self.clock.now()
    }
}

/// The end of a fleet, with which all waits end.
pub(crate) struct End(watch::Sender<bool>);

impl Default for End {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl End {
    pub(crate) fn set(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn has_come(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for this time of the fleet, or for its end.
    pub(crate) async fn wait(&self, time: Duration) {
        let mut end = self.0.subscribe();
        let _ = timeout(time, end.wait_for(|has_come| *has_come)).await;
    }
}
