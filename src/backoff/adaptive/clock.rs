//! Time as the pacer reckons with it.

use std::time::{Duration, Instant};

/// Farther than this no plan of the pacer looks ahead; it also keeps a moment that cannot be told out of the clock.
const HORIZON: Duration = Duration::from_hours(1);

/// Turns moments into seconds since the first moment that the pacer heard of.
#[derive(Debug, Default)]
pub(super) struct Clock {
    origin: Option<Instant>,
    latest_at: Option<Instant>,
    /// The latest moment that was now, in seconds, and what is added to make up for clocks that were set back.
    latest: f64,
    made_up: f64,
}

impl Clock {
    /// The present in seconds. It never goes back.
    pub(super) fn now(&mut self, now: Instant) -> f64 {
        self.origin.get_or_insert(now);
        self.latest_at = Some(now);
        let seconds = self.at(now);
        if seconds < self.latest {
            self.made_up += self.latest - seconds;
        } else {
            self.latest = seconds;
        }
        self.latest
    }

    /// The last moment that was now.
    pub(super) fn latest(&self) -> Option<Instant> {
        self.latest_at
    }

    /// Seconds since the first moment; negative for a moment before it.
    pub(super) fn at(&self, at: Instant) -> f64 {
        let origin = self.origin.unwrap_or(at);
        let since = match at.checked_duration_since(origin) {
            Some(since) => since.as_secs_f64(),
            None => -origin.duration_since(at).as_secs_f64(),
        };
        since + self.made_up
    }
}

/// The moment that lies `seconds` after `now`.
pub(super) fn after(now: Instant, seconds: f64) -> Instant {
    let ahead = Duration::try_from_secs_f64(seconds).unwrap_or(HORIZON).min(HORIZON);
    now.checked_add(ahead).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_the_first_are_negative() {
        let mut clock = Clock::default();
        let now = Instant::now() + Duration::from_secs(10);
        assert!(clock.now(now).abs() < f64::EPSILON);
        assert!((clock.at(now + Duration::from_millis(1500)) - 1.5).abs() < 1e-9);
        assert!((clock.at(now.checked_sub(Duration::from_secs(2)).unwrap()) + 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_present_never_goes_back_and_goes_on_after_a_clock_was_set_back() {
        let mut clock = Clock::default();
        let start = Instant::now() + Duration::from_secs(100);
        let moments = [0, 10, 3, 4, 9, 12].map(|second| clock.now(start + Duration::from_secs(second)));
        for (moment, expected) in moments.into_iter().zip([0.0, 10.0, 10.0, 11.0, 16.0, 19.0]) {
            assert!((moment - expected).abs() < 1e-9, "{moments:?}");
        }
    }

    #[test]
    fn a_moment_that_cannot_be_told_is_an_hour_ahead_or_now() {
        let now = Instant::now();
        assert_eq!(after(now, f64::INFINITY), now + HORIZON);
        assert_eq!(after(now, f64::NAN), now + HORIZON);
        assert_eq!(after(now, 0.25), now + Duration::from_millis(250));
    }
}
