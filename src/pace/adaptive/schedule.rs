//! The pace from one congestion signal to the next: below the estimate at first, then a little above, then ever faster.

/// How far below the estimate the pace begins, and how far above it the period ends. The mean over a period is the estimate, and the
/// next signal comes at a small overspeed, so that it costs few entries.
const DIP: f64 = 0.15;
const OVER: f64 = 0.04;

/// The usual time from a signal until the pace is [`OVER`] the estimate, in seconds. It is the same at every pace: processes that share
/// a service come to equal paces because the faster ones have more signals in the same time.
const PERIOD: f64 = 2.0;

/// The first period after a search or an outage in seconds. Later ones double: what is not known well is soon measured again.
const FIRST_PERIOD: f64 = 0.4;

/// After the period the pace grows by this share a second, …
const GROWTH: f64 = 0.2;

/// … and after this many calls without a signal ever faster: the overspeed doubles in this time, in seconds, and in no fewer round trips
/// or calls: the answer to one step is known before the next.
const CALLS: f64 = 10.0;
const DOUBLING: f64 = 0.2;
const DOUBLING_TRIPS: f64 = 4.0;

/// The pace does not exceed what was accepted lately by more than this factor. That is enough to find out that more is accepted.
const MAX_CLIMB: f64 = 2.0;

/// What the pace depends on in addition to the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditions {
    /// The estimate, in entries a second.
    pub(super) capacity: f64,
    /// Entries a second that were accepted lately.
    pub(super) recent: f64,
    /// Entries in a usual call.
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

    /// Begins again below the estimate.
    pub(super) fn cut(&mut self, now: f64) {
        self.period = self.next.clamp(FIRST_PERIOD, PERIOD);
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
        let since = (now - self.cut_at).max(0.0);
        if since < self.period {
            return Self::factor(since / self.period);
        }
        let call = conditions.call / conditions.capacity.max(conditions.recent);
        let growth = (GROWTH * (since - self.period)).exp();
        let doubling = DOUBLING.max(DOUBLING_TRIPS * conditions.trip).max(call);
        let doublings = (since - self.period.max(CALLS * call)).max(0.0) / doubling;
        let max = MAX_CLIMB * conditions.recent / conditions.capacity;
        (growth + OVER * doublings.exp2()).min(max.max(1.0 + OVER))
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

    /// The schedule after this many cuts, the last one at 0.
    fn after_cuts(cuts: u32) -> Schedule {
        let mut schedule = Schedule::default();
        for _ in 0..cuts {
            schedule.cut(0.0);
        }
        schedule
    }

    fn shares(schedule: &Schedule, millis: u32) -> Vec<f64> {
        (0..millis)
            .map(|millis| schedule.share(f64::from(millis) / 1000.0, &CONDITIONS))
            .collect()
    }

    #[test]
    fn the_mean_over_a_period_is_the_estimate_within_a_percent() {
        let mean = shares(&after_cuts(20), 2000).iter().sum::<f64>() / 2000.0;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn the_pace_begins_below_the_estimate_and_never_falls_until_the_next_signal() {
        let shares = shares(&after_cuts(20), 6000);
        assert_about(shares[0], 1.0 - DIP);
        assert!(shares.is_sorted());
        assert!(*shares.last().unwrap() > 2.0);
    }

    #[test]
    fn periods_are_short_at_first_and_double_with_each_cut() {
        for (cuts, period) in [(1, 0.4), (2, 0.8), (3, 1.6), (4, 2.0), (9, 2.0)] {
            assert_about(after_cuts(cuts).period, period);
        }
        let mut schedule = after_cuts(9);
        schedule.restart();
        schedule.cut(0.0);
        assert_about(schedule.period, 0.4);
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
    }

    #[test]
    fn the_overspeed_doubles_in_a_fifth_of_a_second_in_four_round_trips_or_in_a_call() {
        let schedule = after_cuts(20);
        let overspeed = |conditions: &Conditions, since: f64| {
            let growth = (GROWTH * (since - PERIOD)).exp();
            schedule.share(since, conditions) - growth
        };
        assert_about(overspeed(&CONDITIONS, PERIOD + 0.4), 4.0 * OVER);
        let far = Conditions {
            trip: 0.125,
            ..CONDITIONS
        };
        assert_about(overspeed(&far, PERIOD + 0.5), 2.0 * OVER);
        // A call every half second: ten of them, and then one for each doubling.
        let slow = Conditions {
            capacity: 20.0,
            recent: 50.0,
            ..CONDITIONS
        };
        assert_about(overspeed(&slow, 5.0), OVER);
        assert_about(overspeed(&slow, 6.0), 4.0 * OVER);
    }

    #[test]
    fn the_pace_is_at_most_twice_of_what_was_accepted_lately_but_ends_its_period() {
        let schedule = after_cuts(20);
        let at = |recent| {
            let conditions = Conditions { recent, ..CONDITIONS };
            schedule.share(10.0, &conditions)
        };
        assert_about(at(900.0), 1.8);
        assert_about(at(0.0), 1.0 + OVER);
    }
}
