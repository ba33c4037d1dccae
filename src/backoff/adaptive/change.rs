//! Whether the capacity has changed.

/// Chunks by which what was accepted may differ from what was expected without meaning anything: one is cut at either
/// end of a stretch.
const CHUNKS: f64 = 2.0;

/// Seconds of capacity by which it may differ on top: how exactly the time of a mark is known, and how much a service
/// that counts in ticks varies.
const SECONDS: f64 = 0.05;

/// What the service has accepted between two marks, and what was expected.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// When it ended, in seconds.
    pub(super) ended_at: f64,
    pub(super) seconds: f64,
    pub(super) accepted: f64,
    pub(super) expected: f64,
}

/// A capacity that is no longer what it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Changed {
    /// Entries a second since.
    pub(super) rate: f64,
    /// For how long, in seconds.
    pub(super) seconds: f64,
}

/// Adds up what was missing (a CUSUM) until it is too much to be chance.
#[derive(Debug, Default)]
pub(super) struct Change {
    missing: f64,
    accepted: f64,
    since: f64,
}

impl Change {
    /// The entries that may be missing, or too many, by chance.
    pub(super) fn tolerance(chunk: f64, capacity: f64, trip: f64) -> f64 {
        CHUNKS * chunk + SECONDS.max(trip) * capacity
    }

    /// Hears of one stretch more.
    pub(super) fn observe(&mut self, stretch: Stretch, tolerance: f64, trip: f64) -> Option<Changed> {
        let missing = stretch.expected - stretch.accepted;
        self.missing += missing;
        self.accepted += stretch.accepted;
        if self.missing <= 0.0 {
            self.begin(stretch.ended_at);
        }
        let seconds = stretch.ended_at - self.since;
        let changed = if self.missing > tolerance && seconds >= trip && seconds > 0.0 {
            Changed {
                rate: self.accepted / seconds,
                seconds,
            }
        } else if -missing > tolerance && stretch.seconds > 0.0 {
            Changed {
                rate: stretch.accepted / stretch.seconds,
                seconds: stretch.seconds,
            }
        } else {
            return None;
        };
        self.begin(stretch.ended_at);
        Some(changed)
    }

    /// Forgets what was before.
    pub(super) fn begin(&mut self, now: f64) {
        *self = Self {
            since: now,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: f64 = 0.01;

    /// Feeds stretches of 0.1 s at which 1,000 entries a second are expected, until a change is found.
    fn change_at(rates: impl IntoIterator<Item = f64>) -> Option<(usize, Changed)> {
        let mut change = Change::default();
        let tolerance = Change::tolerance(25.0, 1000.0, TRIP);
        let mut ended_at = 0.0;
        for (index, rate) in rates.into_iter().enumerate() {
            ended_at += 0.1;
            let stretch = Stretch {
                ended_at,
                seconds: 0.1,
                accepted: 0.1 * rate,
                expected: 100.0,
            };
            if let Some(changed) = change.observe(stretch, tolerance, TRIP) {
                return Some((index, changed));
            }
        }
        None
    }

    #[test]
    fn what_varies_around_the_expectation_is_no_change() {
        assert!(change_at((0..1000).map(|n| if n % 2 == 0 { 900.0 } else { 1100.0 })).is_none());
    }

    #[test]
    fn a_capacity_that_halves_is_found_with_its_rate() {
        let (index, changed) = change_at([1000.0, 1000.0, 500.0, 500.0, 500.0]).unwrap();
        assert_eq!(index, 4);
        assert!((changed.rate - 500.0).abs() < 1.0, "{changed:?}");
    }

    #[test]
    fn a_capacity_that_rises_is_found_in_one_stretch() {
        let (index, changed) = change_at([1000.0, 4000.0]).unwrap();
        assert_eq!(index, 1);
        assert!((changed.rate - 4000.0).abs() < 1.0, "{changed:?}");
    }
}
