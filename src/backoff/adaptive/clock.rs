//! Time as the pacer reckons with it.

use std::time::{Duration, Instant};

/// Farther than this no plan of the pacer looks ahead; it also keeps a moment that cannot be told out of the clock.
const HORIZON: Duration = Duration::from_hours(1);

/// Turns moments into seconds since the first moment that the pacer heard of.
#[derive(Debug, Default)]
pub(super) struct Clock {
    origin: Option<Instant>,
}

impl Clock {
    /// Seconds since the first moment; negative for a moment before it.
    pub(super) fn seconds(&mut self, at: Instant) -> f64 {
        let origin = *self.origin.get_or_insert(at);
        match at.checked_duration_since(origin) {
            Some(since) => since.as_secs_f64(),
            None => -origin.duration_since(at).as_secs_f64(),
        }
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
        assert!(clock.seconds(now).abs() < f64::EPSILON);
        assert!((clock.seconds(now + Duration::from_millis(1500)) - 1.5).abs() < 1e-9);
        assert!((clock.seconds(now - Duration::from_secs(2)) + 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_moment_that_cannot_be_told_is_an_hour_ahead_or_now() {
        let now = Instant::now();
        assert_eq!(after(now, f64::INFINITY), now + HORIZON);
        assert_eq!(after(now, f64::NAN), now + HORIZON);
        assert_eq!(after(now, 0.25), now + Duration::from_millis(250));
    }
}
