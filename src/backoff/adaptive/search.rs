//! Before the capacity is known: a window of entries in flight that grows until something is rejected.

use super::evidence::Evidence;

/// Entries of the first call. A few, as an empty bucket may be all there is.
const FIRST_WINDOW: f64 = 5.0;

/// The window doubles in this time at the fastest, in seconds, and in a round trip at the fastest. At an ordinary round
/// trip of 8 ms that is a quarter more with each, so that the last step overshoots by little.
const DOUBLING: f64 = 0.025;

/// The search for a first estimate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search {
    window: f64,
}

impl Search {
    /// Begins with a few entries.
    pub(super) fn new() -> Self {
        Self { window: FIRST_WINDOW }
    }

    /// Begins with that many entries in flight, at least one.
    pub(super) fn from(window: f64) -> Self {
        Self { window: window.max(1.0) }
    }

    /// How many of `wanted` entries may leave while `in_flight` others are on their way.
    pub(super) fn admits(&self, wanted: f64, in_flight: f64) -> Option<f64> {
        if self.window - in_flight >= wanted {
            Some(wanted)
        } else {
            // Something must be on its way, however small the window is.
            (in_flight <= 0.0).then_some(self.window)
        }
    }

    /// A call went through, while that many entries were in flight. A window that is not used does not grow.
    pub(super) fn grow(&mut self, evidence: &Evidence, in_flight: f64, trip: f64) {
        if in_flight >= self.window / 2.0 {
            self.window += evidence.accepted * ((trip / DOUBLING).min(1.0).exp2() - 1.0);
        }
    }
}
