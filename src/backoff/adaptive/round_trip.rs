//! The round trip of a call.

/// Assumed before the first answer, in seconds: an ordinary call to DynamoDB within a region.
const ASSUMED: f64 = 0.010;

/// How much of the smoothed round trip one answer replaces, as in TCP (RFC 6298).
const GAIN: f64 = 0.125;

/// Longer than this, in seconds, no call takes on its way around the earth; what does was held up.
const LONGEST: f64 = 0.5;

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
}
