//! Whether the capacity has changed.

use std::collections::VecDeque;

/// Standard deviations by which what was accepted may differ from what was expected without meaning anything, and by
/// which it must fall short to count as missing at all.
const DEVIATIONS: f64 = 4.0;
const UNCOUNTED: f64 = 0.5;

/// Seconds of capacity that are the least standard deviation: how exactly the time of a mark is known.
const SECONDS: f64 = 0.005;

/// By how much a deviation above the median raises it, and one below lowers it. A median is not moved by the change that
/// is to be found.
const STEP: f64 = 1.2;

/// A standard deviation in medians of the absolute deviation.
const MEDIANS: f64 = 1.48;

/// What the service has accepted between two marks, and what was expected.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
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

/// Stretches that are looked back upon. While the capacity falls, a mark comes with nearly every call.
const STRETCHES: usize = 8;

/// Adds up what was missing (a CUSUM) until it is too much to be chance.
#[derive(Debug, Default)]
pub(super) struct Change {
    missing: f64,
    /// The latest stretches since something was missing first.
    stretches: VecDeque<Stretch>,
    /// The median of the deviations from what was expected, in entries. One client alone is exact to an entry or two;
    /// other clients, and calls that are rejected as a whole, make it worse.
    median: Option<f64>,
}

impl Change {
    /// Hears of one stretch more, in calls of `chunk` entries.
    ///
    /// When the service saw a call is known to about half a round trip: less than a whole one tells of no change.
    pub(super) fn observe(&mut self, stretch: Stretch, chunk: f64, trip: f64) -> Option<Changed> {
        if stretch.seconds <= 0.0 {
            return None;
        }
        let missing = stretch.expected - stretch.accepted;
        let capacity = stretch.expected / stretch.seconds;
        // Before anything is known, half a chunk is cut at one end of a stretch.
        let median = self
            .median
            .unwrap_or(chunk / 2.0)
            .max((1.0 + SECONDS * capacity) / MEDIANS);
        let deviation = MEDIANS * median;
        let tolerance = DEVIATIONS * deviation;
        self.median = Some(if missing.abs() > median {
            median * STEP
        } else {
            median / STEP
        });
        self.missing += missing - UNCOUNTED * deviation;
        if self.missing <= 0.0 {
            self.begin();
        } else {
            if self.stretches.len() == STRETCHES {
                self.stretches.pop_front();
            }
            self.stretches.push_back(stretch);
        }
        let changed = if self.missing > tolerance {
            // In the first of the stretches it may have changed at any moment; the next tells how much.
            self.latest(deviation)
                .filter(|changed| self.stretches.len() > 1 && changed.seconds >= trip)?
        } else if -missing > tolerance && stretch.seconds >= trip {
            Changed {
                rate: stretch.accepted / stretch.seconds,
                seconds: stretch.seconds,
            }
        } else {
            return None;
        };
        self.begin();
        Some(changed)
    }

    /// Whether others seem to take a part of the capacity: between the latest marks more or less was accepted than expected, by
    /// more than half a chunk, which a mark may cut off, and by more than the least deviation that counts.
    pub(super) fn is_shared(&self, capacity: f64, chunk: f64) -> bool {
        let exact = (chunk / 2.0).max((1.0 + SECONDS * capacity) / MEDIANS);
        self.median.is_some_and(|median| median > exact)
    }

    /// The rate of as many of the latest stretches as agree on it, if anything was accepted in them.
    fn latest(&self, deviation: f64) -> Option<Changed> {
        let mut latest = self.stretches.iter().rev();
        let last = latest.next()?;
        let Stretch {
            mut seconds,
            mut accepted,
            mut expected,
        } = *last;
        for stretch in latest {
            let rate = accepted / seconds;
            if (stretch.accepted - rate * stretch.seconds).abs() > 2.0 * deviation {
                break;
            }
            accepted += stretch.accepted;
            seconds += stretch.seconds;
            expected += stretch.expected;
        }
        // Others may have emptied the bucket just before: so many more might have been left by chance.
        let by_chance = deviation.min(expected);
        (accepted > 0.0).then_some(Changed {
            rate: accepted.max(by_chance) / seconds,
            seconds,
        })
    }

    /// Forgets what was missing before.
    pub(super) fn begin(&mut self) {
        self.missing = 0.0;
        self.stretches.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: f64 = 0.01;

    /// Feeds stretches of 0.1 s at which 1,000 entries a second are expected, until a change is found.
    fn change_at(rates: impl IntoIterator<Item = f64>) -> Option<(usize, Changed)> {
        let mut change = Change::default();
        for (index, rate) in rates.into_iter().enumerate() {
            let stretch = Stretch {
                seconds: 0.1,
                accepted: 0.1 * rate,
                expected: 100.0,
            };
            if let Some(changed) = change.observe(stretch, 25.0, TRIP) {
                return Some((index, changed));
            }
        }
        None
    }

    #[test]
    fn answers_of_one_moment_are_no_rise_however_many_they_are() {
        let mut change = Change::default();
        let mut after = |seconds| {
            let stretch = Stretch {
                seconds,
                accepted: 200.0,
                expected: 1000.0 * seconds,
            };
            change.observe(stretch, 25.0, TRIP)
        };
        assert!(after(0.002).is_none());
        assert!(after(0.02).is_some());
    }

    #[test]
    fn what_varies_around_the_expectation_is_no_change() {
        assert!(change_at((0..1000).map(|n| if n % 2 == 0 { 900.0 } else { 1100.0 })).is_none());
    }

    #[test]
    fn one_mark_more_tells_how_much_is_left_when_it_falls_within_a_long_stretch() {
        let mut change = Change::default();
        let mut stretch = |seconds, accepted| {
            let expected = 1000.0 * seconds;
            change.observe(
                Stretch {
                    seconds,
                    accepted,
                    expected,
                },
                25.0,
                TRIP,
            )
        };
        (0..30).for_each(|_| assert!(stretch(1.5, 1500.0).is_none()));
        assert!(stretch(1.5, 1300.0).is_none());
        let changed = stretch(0.05, 10.0).unwrap();
        assert!((changed.rate - 200.0).abs() < 1.0, "{changed:?}");
    }

    #[test]
    fn a_stretch_in_which_others_left_next_to_nothing_does_not_make_it_as_low_as_that() {
        let rates = |last| [900.0, 1100.0].into_iter().cycle().take(40).chain([800.0, 700.0, last]);
        let rate = |last| change_at(rates(last)).unwrap().1.rate;
        assert!((110.0..200.0).contains(&rate(10.0)), "{}", rate(10.0));
        assert!((rate(300.0) - 300.0).abs() < 1.0, "{}", rate(300.0));
        assert!(change_at(rates(0.0)).is_none());
    }

    #[test]
    fn others_that_come_and_go_are_no_change() {
        assert!(change_at((0..1000).map(|n| if n % 2 == 0 { 600.0 } else { 1400.0 })).is_none());
    }

    #[test]
    fn others_that_come_and_go_make_every_stretch_inexact_and_one_client_alone_does_not() {
        let is_shared = |rates: [f64; 2]| {
            let mut change = Change::default();
            for rate in rates.into_iter().cycle().take(40) {
                let stretch = Stretch {
                    seconds: 1.5,
                    accepted: 1.5 * rate,
                    expected: 1500.0,
                };
                change.observe(stretch, 25.0, TRIP);
            }
            change.is_shared(1000.0, 25.0)
        };
        assert!(!is_shared([997.0, 1003.0]));
        assert!(is_shared([970.0, 1030.0]));
        assert!(!Change::default().is_shared(1000.0, 25.0));
    }

    #[test]
    fn a_capacity_that_halves_is_found_with_its_rate() {
        let (index, changed) = change_at([1000.0, 1000.0, 500.0, 500.0, 500.0]).unwrap();
        assert_eq!(index, 3);
        assert!((changed.rate - 500.0).abs() < 1.0, "{changed:?}");
    }

    #[test]
    fn a_capacity_that_rises_is_found_in_one_stretch() {
        let (index, changed) = change_at([1000.0, 4000.0]).unwrap();
        assert_eq!(index, 1);
        assert!((changed.rate - 4000.0).abs() < 1.0, "{changed:?}");
    }
}
