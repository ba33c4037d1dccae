//! The round trip of a call.

/// Assumed before the first answer, in seconds: an ordinary call to DynamoDB within a region.
const ASSUMED: f64 = 0.010;

/// How much of the smoothed round trip one answer replaces, as in TCP (RFC 6298).
const GAIN: f64 = 0.125;

/// Longer than this, in seconds, no call takes on its way around the earth; what does was held up.
const LONGEST: f64 = 0.5;

/// An answer that took this many smoothed round trips was held up on its way back as well as on its way there; the
/// service is taken to have seen the call when half of this had passed.
const OUTLIER: f64 = 2.0;

/// The smoothed round trip.
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    smoothed: Option<f64>,
}

impl RoundTrip {
    /// Hears that an answer took `seconds`.
    pub(super) fn observe(&mut self, seconds: f64) {
        let seconds = seconds.min(LONGEST);
        let smoothed = self.smoothed.unwrap_or(seconds);
        self.smoothed = Some(smoothed + GAIN * (seconds - smoothed));
    }

    /// Seconds from a call to its answer.
    pub(super) fn seconds(&self) -> f64 {
        self.smoothed.unwrap_or(ASSUMED)
    }

    /// When the service saw a call that left at `sent_at`: half-way to its answer.
    pub(super) fn seen_at(&self, sent_at: f64, answered_at: f64) -> f64 {
        sent_at + 0.5 * (answered_at - sent_at).max(0.0).min(OUTLIER * self.seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_answer_is_taken_as_it_is_and_later_ones_by_an_eighth() {
        let mut trip = RoundTrip::default();
        trip.observe(0.008);
        assert!((trip.seconds() - 0.008).abs() < 1e-12);
        trip.observe(0.016);
        assert!((trip.seconds() - 0.009).abs() < 1e-12);
    }

    #[test]
    fn a_call_that_was_held_up_was_seen_one_round_trip_after_it_left() {
        let mut trip = RoundTrip::default();
        trip.observe(0.010);
        assert!((trip.seen_at(1.0, 1.010) - 1.005).abs() < 1e-12);
        assert!((trip.seen_at(1.0, 1.300) - 1.010).abs() < 1e-12);
        assert!((trip.seen_at(1.0, 0.5) - 1.0).abs() < 1e-12);
    }
}
