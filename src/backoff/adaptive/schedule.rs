//! The pace between two cuts: a little too slow at first, then a little too fast, then ever faster.

use super::rules::{Rule, Rules};
use super::swing::Swing;

/// How far above the estimate the pace ends. The next mark comes at this overspeed, so that it costs few entries.
const OVER: f64 = 0.04;

/// The usual time from a cut to the estimate and above, in seconds.
const PERIOD: f64 = 1.5;

/// The longest period that rejections can ask for, in seconds. None while others share the capacity: they empty the bucket at one
/// moment for all, and each mark costs the one with the smallest share the most for what it sends. Were its periods the longest it
/// would never come to ask for more, and be the last to notice that the others have ended.
const THRIFTY: f64 = 2.2;

/// The longest period at all, in seconds: that of some chunks of half a second, which is what a call carries at most.
const LONGEST: f64 = 4.0;

/// The share of entries that a mark may cost. A costlier mark makes the period longer, up to [`THRIFTY`].
const COST: f64 = 0.01;

/// How much of the mean cost of a mark one mark replaces.
const COST_GAIN: f64 = 0.25;

/// What a mark is taken to cost before the first, in entries.
const FIRST_COST: f64 = 3.0;

/// The fewest round trips in which the overspeed doubles: the answer to one step is known before the next.
const DOUBLING_TRIPS: f64 = 4.0;

/// The shortest doubling that a short period can ask for, in seconds.
const SHORTEST_DOUBLING: f64 = 0.05;

/// The first periods after a search or a surprise are short and double: what is not known well is soon measured again.
/// In round trips.
const FIRST_PERIOD_TRIPS: f64 = 4.0;

/// The period after a surprise, in seconds.
const SURPRISED: f64 = 0.5;

/// What the pace depends on besides the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditions {
    /// The estimate, in entries a second.
    pub(super) capacity: f64,
    /// What was accepted lately, in entries a second.
    pub(super) recent: f64,
    /// Entries in a call.
    pub(super) chunk: f64,
    /// The round trip in seconds.
    pub(super) trip: f64,
    /// Others take a part of what the service can take.
    pub(super) is_shared: bool,
    /// Rejections tell of the capacity alone: nobody shares it, and nothing is rejected for other reasons.
    pub(super) is_clear: bool,
}

/// The pace from one cut to the next.
#[derive(Debug)]
pub(super) struct Schedule {
    cut_at: f64,
    period: f64,
    swing: Swing,
    /// The period is at most this long, in seconds; doubled at each cut.
    longest: f64,
    /// Entries rejected since the cut.
    rejected: f64,
    /// Entries that a mark costs on average.
    cost: f64,
    rules: Rules,
}

impl Schedule {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            cut_at: 0.0,
            period: PERIOD,
            swing: Swing::USUAL,
            longest: 0.0,
            rejected: 0.0,
            cost: FIRST_COST,
            rules,
        }
    }

    /// Short periods from the next cut on: nothing is known well.
    pub(super) fn restart(&mut self) {
        self.longest = 0.0;
    }

    /// Short periods from the next cut on: something has changed.
    pub(super) fn surprise(&mut self) {
        self.longest = SURPRISED;
    }

    /// The same, but no longer than they are.
    pub(super) fn shorten(&mut self) {
        self.longest = self.longest.min(SURPRISED);
    }

    pub(super) fn rejected(&mut self, entries: f64) {
        self.rejected += entries;
    }

    /// Starts over with the dip.
    pub(super) fn cut(&mut self, now: f64, conditions: &Conditions) {
        let Conditions {
            capacity,
            chunk,
            trip,
            is_shared,
            is_clear,
            ..
        } = *conditions;
        let is_early = self.dips(now);
        self.cost += COST_GAIN * (self.rejected.min(chunk) - self.cost);
        self.rejected = 0.0;
        self.longest = self.longest.max(FIRST_PERIOD_TRIPS * trip);
        if !self.rules.has(Rule::ShortPeriods) {
            self.longest = LONGEST;
        }
        let thrifty = if self.rules.has(Rule::Thrift) && !is_shared {
            (self.cost / (COST * capacity)).min(THRIFTY)
        } else {
            0.0
        };
        // The last mark came when it was expected, and tells of the capacity alone.
        let is_calm = is_clear && !is_early && self.longest >= PERIOD;
        self.swing = if is_shared && self.rules.has(Rule::Shared) {
            Swing::SHARED
        } else if is_calm && self.rules.has(Rule::Calm) {
            Swing::CALM
        } else {
            Swing::USUAL
        };
        self.period = PERIOD
            .max(self.swing.chunks * chunk / capacity)
            .max(thrifty)
            .min(LONGEST)
            .min(self.longest);
        self.longest = (2.0 * self.longest).min(LONGEST);
        self.cut_at = now;
    }

    pub(super) fn cut_at(&self) -> f64 {
        self.cut_at
    }

    /// Whether the pace was below the estimate then. Not before the cut, and not after the dip.
    pub(super) fn dips(&self, at: f64) -> bool {
        at > self.cut_at && self.dip((at - self.cut_at) / self.period) < 1.0
    }

    /// The pace within the period, as a share of the estimate. Its mean is about 1, and a little less after a deep dip.
    fn dip(&self, progress: f64) -> f64 {
        if !self.rules.has(Rule::Dip) {
            return 1.0 + OVER;
        }
        1.0 + OVER - (self.swing.dip + OVER) * (1.0 - progress.clamp(0.0, 1.0)).powi(3)
    }

    /// Entries a second.
    pub(super) fn pace(&self, now: f64, conditions: &Conditions) -> f64 {
        let Conditions {
            capacity,
            recent,
            chunk,
            trip,
            ..
        } = *conditions;
        let since = (now - self.cut_at).max(0.0);
        if since < self.period {
            return capacity * self.dip(since / self.period);
        }
        let doubling = self
            .swing
            .doubling
            .max(DOUBLING_TRIPS * trip)
            .max(chunk / capacity)
            .min(self.period.max(SHORTEST_DOUBLING));
        let probe = capacity * (1.0 + OVER * ((since - self.period) / doubling).exp2());
        // More than twice of what gets through is never needed to find out that more gets through.
        probe.min((2.0 * recent).max(capacity * (1.0 + OVER)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONDITIONS: Conditions = Conditions {
        capacity: 1000.0,
        recent: 1000.0,
        chunk: 25.0,
        trip: 0.01,
        is_shared: false,
        is_clear: true,
    };

    /// A schedule that was cut at 0 after many cheap marks.
    fn settled() -> Schedule {
        let mut schedule = Schedule::new(Rules::default());
        for _ in 0..30 {
            schedule.cut(0.0, &CONDITIONS);
        }
        schedule
    }

    #[test]
    fn the_mean_pace_of_a_period_is_the_estimate() {
        let schedule = settled();
        let steps = 1500;
        let mean = (0..steps)
            .map(|step| schedule.pace((f64::from(step) + 0.5) * PERIOD / f64::from(steps), &CONDITIONS))
            .sum::<f64>()
            / f64::from(steps);
        assert!((mean / 1000.0 - 1.0).abs() < 0.01, "{mean}");
        assert!((schedule.pace(0.0, &CONDITIONS) - 900.0).abs() < 1e-6);
    }

    /// The pace right after one more cut of a settled schedule, and that a fifth of a second after its period.
    fn paces(at: f64, conditions: &Conditions) -> Vec<f64> {
        let mut schedule = settled();
        schedule.cut(at, conditions);
        let moments = [at, at + PERIOD + 0.2].into_iter();
        moments.map(|now| schedule.pace(now, conditions).round()).collect()
    }

    #[test]
    fn a_mark_that_was_expected_is_followed_by_a_shallow_dip_and_a_fast_climb() {
        assert_eq!(paces(PERIOD, &CONDITIONS), [900.0, 1160.0]);
    }

    #[test]
    fn a_mark_that_comes_early_or_may_have_other_reasons_is_followed_by_a_deeper_dip_and_a_slow_climb() {
        let unclear = Conditions {
            is_clear: false,
            ..CONDITIONS
        };
        assert_eq!(paces(0.1, &CONDITIONS), [850.0, 1080.0]);
        assert_eq!(paces(PERIOD, &unclear), [850.0, 1080.0]);
    }

    #[test]
    fn while_others_share_the_capacity_the_dip_is_deepest_and_the_climb_fast() {
        let shared = Conditions {
            is_shared: true,
            is_clear: false,
            ..CONDITIONS
        };
        assert_eq!(paces(PERIOD, &shared), [800.0, 1127.0]);
    }

    #[test]
    fn a_period_lasts_some_chunks_and_fewer_while_others_share_the_capacity() {
        let period = |is_shared| {
            let slow = Conditions {
                capacity: 64.0,
                is_shared,
                ..CONDITIONS
            };
            let mut schedule = settled();
            schedule.cut(0.0, &slow);
            schedule.period
        };
        assert!((period(false) - 8.0 * 25.0 / 64.0).abs() < 1e-9, "{}", period(false));
        assert!((period(true) - 4.0 * 25.0 / 64.0).abs() < 1e-9, "{}", period(true));
    }

    #[test]
    fn without_a_mark_the_pace_rises_to_twice_what_gets_through() {
        let schedule = settled();
        let paces: Vec<_> = (0..50)
            .map(|tenth| schedule.pace(f64::from(tenth) * 0.1, &CONDITIONS))
            .collect();
        assert!(paces.is_sorted(), "{paces:?}");
        assert!((paces[49] - 2000.0).abs() < 1e-6);
    }

    #[test]
    fn periods_double_after_a_restart_up_to_the_usual_one() {
        let mut schedule = Schedule::new(Rules::default());
        let periods: Vec<_> = (0..8)
            .map(|_| {
                schedule.cut(0.0, &CONDITIONS);
                (schedule.period * 1000.0).round()
            })
            .collect();
        assert_eq!(periods, [40.0, 80.0, 160.0, 320.0, 640.0, 1280.0, 1500.0, 1500.0]);
    }

    #[test]
    fn costly_marks_are_rarer() {
        let mut schedule = settled();
        for _ in 0..30 {
            schedule.rejected(25.0);
            schedule.cut(0.0, &CONDITIONS);
        }
        assert!((schedule.period - THRIFTY).abs() < 1e-9, "{}", schedule.period);
    }

    #[test]
    fn costly_marks_are_no_rarer_while_others_share_the_capacity() {
        let shared = Conditions {
            is_shared: true,
            ..CONDITIONS
        };
        let mut schedule = settled();
        for _ in 0..30 {
            schedule.rejected(25.0);
            schedule.cut(0.0, &shared);
        }
        assert!((schedule.period - PERIOD).abs() < 1e-9, "{}", schedule.period);
    }

    #[test]
    fn a_dip_is_the_first_part_of_a_period() {
        let schedule = settled();
        assert!(!schedule.dips(-0.1));
        assert!(schedule.dips(0.1));
        assert!(!schedule.dips(1.0));
        assert!(!schedule.dips(9.0));
    }
}
