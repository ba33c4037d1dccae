//! The time of a fleet, which passes faster than that of the machine.

use std::process::Command;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::SmallRng;

use super::preloaded::library;

/// How many times faster the time of a fleet passes. A worker that waits for a second waits for 50 ms.
const SPEED: u32 = 20;

/// Whether the time of a fleet passes only while its programs wait. A busy machine makes this one's programs slow.
pub(crate) const IS_EXACT: bool = false;

/// The time since a fleet has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Duration {
        self.0.elapsed() * SPEED
    }
}

/// Waits for this time of a fleet. Blocks its thread.
pub(crate) async fn pause(time: Duration) {
    thread::sleep(real(time));
}

/// How long so much time of a fleet takes on the machine.
fn real(time: Duration) -> Duration {
    time / SPEED
}

/// What makes the clock of one worker another one than that of the services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skew {
    None,
    /// It runs at so many percent of the speed.
    Percent(u32),
    /// It is further by this much from a moment on.
    Jump {
        at: Duration,
        by: Duration,
    },
}

impl Skew {
    pub(crate) fn of(random: &mut SmallRng) -> Self {
        let second = Duration::from_secs(1);
        match random.random_range(0..6) {
            0 => Self::Percent(random.random_range(60..180)),
            1 => Self::Jump {
                at: second * random.random_range(0..10),
                by: second * random.random_range(1..40),
            },
            _ => Self::None,
        }
    }

    /// Whether a call in flight may take too long by this clock.
    pub(crate) fn jumps(self) -> bool {
        matches!(self, Self::Jump { .. })
    }
}

/// The end of a fleet, with which all waits end.
#[derive(Default)]
pub(crate) struct End {
    has_come: Mutex<bool>,
    comes: Condvar,
}

impl End {
    pub(crate) fn set(&self) {
        *self.has_come.lock().unwrap() = true;
        self.comes.notify_all();
    }

    pub(crate) fn has_come(&self) -> bool {
        *self.has_come.lock().unwrap()
    }

    /// Waits for this time of the fleet, or for its end. Blocks its thread: each request and each fleet has one.
    #[expect(clippy::unused_async, reason = "fleets in one process wait for it")]
    pub(crate) async fn wait(&self, time: Duration) {
        let has_come = self.has_come.lock().unwrap();
        let waited = self
            .comes
            .wait_timeout_while(has_come, real(time), |has_come| !*has_come);
        drop(waited.unwrap());
    }
}

/// Makes the program's clock run at the speed of a fleet.
pub(crate) fn hasten(command: &mut Command, skew: Skew) {
    let mut thousandths = SPEED * 1_000;
    match skew {
        Skew::None => {}
        Skew::Percent(percent) => thousandths = SPEED * 10 * percent,
        Skew::Jump { at, by } => {
            let jump = format!("{} {}", real(at).as_millis(), by.as_millis());
            command.env("CLOCK_JUMP", jump);
        }
    }
    command
        .env("LD_PRELOAD", library("clock", include_str!("clock.c")))
        .env("CLOCK_SPEED", thousandths.to_string());
}
