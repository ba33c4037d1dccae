//! While the service takes nothing: single entries, ever more rarely.

use std::time::Duration;

use super::super::jitter::Jitter;

/// The first gap between two attempts, in seconds, or two round trips if that is longer.
const SHORTEST: f64 = 0.010;
const SHORTEST_TRIPS: f64 = 2.0;

/// The longest gap in seconds. The time to find out that the service is back is at most this much.
const LONGEST: f64 = 1.0;

/// An outage longer than this, in seconds, leaves a bucket of its own: what was accepted before says nothing any more.
pub(super) const LONG: f64 = 1.5;

/// A service that takes nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outage {
    since: f64,
    gap: f64,
    next_at: f64,
}

impl Outage {
    pub(super) fn new(now: f64, trip: f64) -> Self {
        let gap = SHORTEST.max(SHORTEST_TRIPS * trip).min(LONGEST);
        Self {
            since: now,
            gap,
            next_at: now + gap,
        }
    }

    /// Seconds until the next attempt; `None` when it may leave now.
    pub(super) fn wait(&self, now: f64) -> Option<f64> {
        (now < self.next_at).then(|| (self.next_at - now).min(LONGEST))
    }

    /// An attempt leaves. Unless it is answered the next one follows after the longest gap.
    pub(super) fn departs(&mut self, now: f64) {
        self.next_at = now + LONGEST;
    }

    /// An attempt was rejected.
    pub(super) fn rejected(&mut self, now: f64, jitter: &Jitter) {
        let gap = Duration::from_secs_f64(self.gap);
        // By a quarter, so that the attempts of many processes spread.
        self.next_at = now + jitter.between(gap * 3 / 4, gap * 5 / 4).as_secs_f64();
        self.gap = (2.0 * self.gap).min(LONGEST);
    }

    pub(super) fn since(&self) -> f64 {
        self.since
    }

    /// How long it has lasted, in seconds.
    pub(super) fn seconds(&self, now: f64) -> f64 {
        now - self.since
    }
}
