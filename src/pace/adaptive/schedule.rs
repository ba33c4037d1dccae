//! The pace from one congestion signal to the next: below the estimate at first, then a little above, then ever faster.

/// How far below the estimate the pace begins, and how far above it the period ends. The mean over a period is the estimate, and the
/// next signal comes at a small overspeed, so that it costs few entries.
const DIP: f64 = 0.15;
const OVER: f64 = 0.04;

/// The usual time from a signal until the pace is [`OVER`] the estimate, in seconds.
const PERIOD: f64 = 1.5;

/// The first period after a search, in round trips; and the one after a change, in seconds. Later ones double: what is not known well is
/// soon measured again.
const FIRST_PERIOD_TRIPS: f64 = 4.0;
const CHANGED_PERIOD: f64 = 0.5;

/// After the period the overspeed doubles in this time, in seconds, and in no fewer round trips: the answer to one step is known before
/// the next.
const DOUBLING: f64 = 0.2;
const DOUBLING_TRIPS: f64 = 4.0;

/// The shortest doubling that a short period leads to, in seconds.
const MIN_DOUBLING: f64 = 0.05;

/// The pace does not exceed what was accepted lately by more than this factor. That is enough to find out that more is accepted.
const MAX_CLIMB: f64 = 2.0;

/// It reaches the end of a period in any case.
const MIN_CLIMB: f64 = 1.04;

/// What the pace depends on besides the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditions {
    /// The estimate, in entries a second.
    pub(super) capacity: f64,
    /// Entries a second that were accepted lately.
    pub(super) recent: f64,
    /// Entries in a call.
    pub(super) call: f64,
    /// The round trip in seconds.
    pub(super) trip: f64,
}

/// The pace since the last cut.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) cut_at: f64,
    period: f64,
    /// The next period, unless it is shorter than the first one or longer than the usual one.
    next: f64,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            cut_at: 0.0,
            period: PERIOD,
            next: 0.0,
        }
    }
}

impl Schedule {
    /// Short periods from the next cut on: nothing is known well.
    pub(super) fn restart(&mut self) {
        self.next = 0.0;
    }

    /// Short periods from the next cut on: something has changed.
    pub(super) fn shorten(&mut self) {
        self.next = self.next.min(CHANGED_PERIOD);
    }

    /// Begins again below the estimate.
    pub(super) fn cut(&mut self, now: f64, trip: f64) {
        self.period = self.next.max(FIRST_PERIOD_TRIPS * trip).min(PERIOD);
        self.next = 2.0 * self.period;
        self.cut_at = now;
    }

    /// Whether the pace was below the estimate then, so that nothing should have been rejected.
    pub(super) fn is_low(&self, at: f64) -> bool {
        at > self.cut_at && Self::factor((at - self.cut_at) / self.period) < 1.0
    }

    /// The pace within the period, as a share of the estimate.
    fn factor(progress: f64) -> f64 {
        1.0 + OVER - (DIP + OVER) * (1.0 - progress.clamp(0.0, 1.0)).powi(3)
    }

    /// The pace as a share of the estimate.
    pub(super) fn share(&self, now: f64, conditions: &Conditions) -> f64 {
        let max = (MAX_CLIMB * conditions.recent / conditions.capacity).max(MIN_CLIMB);
        let since = (now - self.cut_at).max(0.0);
        if since < self.period {
            return Self::factor(since / self.period);
        }
        let doubling = DOUBLING
            .max(DOUBLING_TRIPS * conditions.trip)
            .max(conditions.call / conditions.capacity)
            .min(self.period.max(MIN_DOUBLING));
        let doublings = (since - self.period) / doubling;
        (1.0 + OVER * doublings.exp2()).min(max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_about;
    use super::*;

    const CONDITIONS: Conditions = Conditions {
        capacity: 1000.0,
        recent: f64::INFINITY,
        call: 25.0,
        trip: 0.01,
    };

    /// The schedule after so many cuts, the last one at 0.
    fn after_cuts(cuts: u32) -> Schedule {
        let mut schedule = Schedule::default();
        for _ in 0..cuts {
            schedule.cut(0.0, CONDITIONS.trip);
        }
        schedule
    }

    #[test]
    fn the_mean_over_a_period_is_the_estimate_within_a_percent() {
        let schedule = after_cuts(20);
        let paces = (0..1500).map(|millis| schedule.share(f64::from(millis) / 1000.0, &CONDITIONS));
        let mean = paces.sum::<f64>() / 1500.0;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn the_pace_begins_below_the_estimate_and_never_falls_until_the_next_signal() {
        let schedule = after_cuts(20);
        let paces: Vec<_> = (0..5000)
            .map(|millis| schedule.share(f64::from(millis) / 1000.0, &CONDITIONS))
            .collect();
        assert!((paces[0] - 0.85).abs() < 1e-9);
        assert!(paces.is_sorted());
        assert!(*paces.last().unwrap() > 2.0);
    }

    #[test]
    fn periods_are_short_after_a_search_and_double_with_each_cut() {
        let periods: Vec<_> = (1..=4).map(|cuts| after_cuts(cuts).period).collect();
        assert!((periods[0] - 0.04).abs() < 1e-9, "{periods:?}");
        assert!(
            periods.windows(2).all(|two| (two[1] - 2.0 * two[0]).abs() < 1e-9),
            "{periods:?}"
        );
    }

    #[test]
    fn a_pace_is_low_from_the_signal_to_where_it_reaches_the_estimate() {
        let schedule = Schedule {
            cut_at: 10.0,
            period: 1.0,
            next: 1.0,
        };
        // 0.19 (1 - x)³ is 0.04 there.
        let reaches = 1.0 - (0.04_f64 / 0.19).cbrt();
        let is_low = [-0.001, 0.001, reaches - 0.001, reaches + 0.001].map(|at| schedule.is_low(10.0 + at));
        assert_eq!(is_low, [false, true, true, false]);
        let slow = Schedule {
            period: 2.0,
            ..schedule
        };
        assert!(slow.is_low(10.0 + 2.0 * reaches - 0.001) && !slow.is_low(10.0 + 2.0 * reaches + 0.001));
        assert_about(slow.cut_at, 10.0);
    }

    #[test]
    fn beyond_the_period_the_overspeed_doubles_in_a_fifth_of_a_second_or_more() {
        let schedule = Schedule {
            cut_at: 10.0,
            period: 1.5,
            next: 4.0,
        };
        let overspeed = |schedule: &Schedule, conditions: Conditions| schedule.share(12.0, &conditions) - 1.0;
        assert_about(overspeed(&schedule, CONDITIONS), OVER * 2.5_f64.exp2());
        // Four round trips, and the time that a call takes.
        let far = Conditions {
            trip: 0.125,
            ..CONDITIONS
        };
        assert_about(overspeed(&schedule, far), OVER * 2.0);
        let slow = Conditions {
            capacity: 25.0,
            ..CONDITIONS
        };
        assert_about(overspeed(&schedule, slow), OVER * 0.5_f64.exp2());
        // A short period asks for a faster one.
        let short = Schedule {
            period: 0.1,
            cut_at: 11.7,
            ..schedule
        };
        assert_about(overspeed(&short, CONDITIONS), OVER * 4.0);
    }

    #[test]
    fn periods_are_short_again_after_a_change_and_shorter_after_a_restart() {
        let period_after = |change: fn(&mut Schedule)| {
            let mut schedule = after_cuts(20);
            change(&mut schedule);
            schedule.cut(0.0, CONDITIONS.trip);
            schedule.period
        };
        assert_about(period_after(|_| {}), PERIOD);
        assert_about(period_after(Schedule::shorten), CHANGED_PERIOD);
        assert_about(period_after(Schedule::restart), 0.04);
    }
}
