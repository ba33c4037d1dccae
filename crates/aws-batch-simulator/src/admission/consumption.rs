//! The consumed capacity, window by window.

use std::time::Duration;

use tokio::time::Instant;

/// The mean consumption of windows of equal length, one after another.
#[derive(Debug, Clone)]
pub(super) struct Consumption {
    window: Duration,
    started: Instant,
    used: f64,
}

impl Consumption {
    pub(super) fn new(window: Duration, now: Instant) -> Self {
        Self {
            window: window.max(Duration::from_millis(1)),
            started: now,
            used: 0.0,
        }
    }

    pub(super) fn add(&mut self, units: f64) {
        self.used += units;
    }

    /// When the window ends.
    pub(super) fn ends(&self) -> Instant {
        self.started + self.window
    }

    /// Ends the window and returns its mean, in units per second.
    pub(super) fn end(&mut self) -> f64 {
        self.started = self.ends();
        std::mem::take(&mut self.used) / self.window.as_secs_f64()
    }
}
