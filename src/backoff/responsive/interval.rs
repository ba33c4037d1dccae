//! The interval's state machine. It has no clock and no lock.

use std::time::{Duration, Instant};

use super::ResponsiveMetrics;
use super::rules::Rules;
use crate::backoff::Outcome;

/// The interval at this moment, and what led to it.
#[derive(Debug, Default)]
pub(super) struct Interval {
    current: Duration,
    successes: u32,
    /// When the call was answered that raised the interval last.
    raised_at: Option<Instant>,
    metrics: ResponsiveMetrics,
}

impl Interval {
    pub(super) fn current(&self) -> Duration {
        self.current
    }

    pub(super) fn metrics(&self) -> ResponsiveMetrics {
        self.metrics
    }

    /// Takes what a call came to, and the sleep that follows the call.
    pub(super) fn observe(&mut self, outcome: &Outcome, rules: &Rules) {
        self.metrics.invocations = self.metrics.invocations.saturating_add(1);
        if is_failure(outcome) {
            if !rules.coordinated || self.is_news(outcome) {
                self.raise(outcome, rules);
            }
        } else if outcome.accepted > 0 {
            self.succeed(rules);
        }
        if !self.current.is_zero() {
            self.metrics.sleeps = self.metrics.sleeps.saturating_add(1);
            self.metrics.slept = self.metrics.slept.saturating_add(self.current);
        }
    }

    /// Back to no interval. The moment of the last increase is kept: calls that left before it are still no news.
    pub(super) fn reset(&mut self) {
        self.current = Duration::ZERO;
        self.successes = 0;
    }

    /// Whether the failure tells something that the last increase has not answered already.
    ///
    /// A call that left in the very instant of the increase left, in all likelihood, before it: whoever goes after it
    /// has an interval to wait first. So it is no news, unless the interval has gone since: then nothing but this
    /// failure can bring it back, and a clock that stands still must not keep it away.
    fn is_news(&self, failure: &Outcome) -> bool {
        self.raised_at.is_none_or(|raised_at| {
            failure.sent_at > raised_at || (failure.sent_at == raised_at && self.current.is_zero())
        })
    }

    fn raise(&mut self, failure: &Outcome, rules: &Rules) {
        self.current = if self.current.is_zero() {
            rules.initial
        } else {
            rules.longer(self.current)
        };
        // Answers may be heard out of order.
        self.raised_at = self.raised_at.max(Some(failure.answered_at));
        self.metrics.times_up = self.metrics.times_up.saturating_add(1);
    }

    fn succeed(&mut self, rules: &Rules) {
        if self.current.is_zero() {
            return;
        }
        self.successes += 1;
        if self.successes < rules.threshold {
            return;
        }
        self.successes = 0;
        let next = rules.shorter(self.current);
        self.current = if next < rules.initial { Duration::ZERO } else { next };
        self.metrics.times_down = self.metrics.times_down.saturating_add(1);
    }
}

/// Something was throttled, or nothing got through. A call of which a part failed for another reason than the pace is no
/// failure: going slower would not have helped. Nor is one that could not be made.
fn is_failure(outcome: &Outcome) -> bool {
    outcome.throttled > 0 || (outcome.failed > outcome.unsent && outcome.accepted == 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// The published rules, but without chance.
    fn rules() -> Rules {
        Rules {
            randomization_factor: 0.0,
            ..Rules::published()
        }
    }

    /// A call that took no time, `at` milliseconds after `start`.
    fn call(start: Instant, at: u32) -> Outcome {
        let moment = start + MILLISECOND * at;
        Outcome::new(moment, moment)
    }

    /// The interval after each of the calls, in milliseconds.
    fn intervals(rules: &Rules, calls: impl IntoIterator<Item = Outcome>) -> Vec<u128> {
        let mut interval = Interval::default();
        calls
            .into_iter()
            .map(|outcome| {
                interval.observe(&outcome, rules);
                interval.current.as_millis()
            })
            .collect()
    }

    #[test]
    fn the_first_step_is_the_initial_interval_without_chance() {
        let start = Instant::now();
        let rules = Rules {
            randomization_factor: 1.0,
            ..Rules::published()
        };
        for _ in 0..100 {
            assert_eq!(intervals(&rules, [call(start, 0).with_throttled(1)]), [500]);
        }
    }

    #[test]
    fn one_throttled_entry_makes_a_failure() {
        let start = Instant::now();
        let calls = [
            call(start, 1).with_accepted(24).with_throttled(1),
            call(start, 2).with_accepted(24).with_throttled(1).with_refused(3),
        ];
        assert_eq!(intervals(&rules(), calls), [500, 750]);
    }

    #[test]
    fn a_call_that_failed_as_a_whole_is_a_failure_but_a_part_is_not() {
        let start = Instant::now();
        let calls = [
            call(start, 1).with_failed(3).with_accepted(1),
            call(start, 2).with_failed(3),
            call(start, 3).with_failed(3).with_refused(1),
            // One that could not be made says nothing of the service.
            call(start, 4).with_failed(3).with_unsent(3),
        ];
        assert_eq!(intervals(&rules(), calls), [0, 500, 750, 750]);
    }

    #[test]
    fn a_call_of_refused_entries_alone_counts_for_nothing() {
        let start = Instant::now();
        let mut interval = Interval::default();
        interval.observe(&call(start, 0).with_throttled(1), &rules());
        interval.observe(&call(start, 1).with_throttled(1), &rules());
        for at in 2..11 {
            interval.observe(&call(start, at).with_accepted(1), &rules());
        }
        for at in 11..100 {
            interval.observe(&call(start, at).with_refused(25), &rules());
        }
        assert_eq!(interval.current.as_millis(), 750);
        interval.observe(&call(start, 100).with_accepted(1), &rules());
        assert_eq!(interval.current.as_millis(), 675);
    }

    #[test]
    fn a_failure_does_not_reset_the_success_count() {
        let start = Instant::now();
        let rules = Rules {
            threshold: 3,
            ..rules()
        };
        let calls = [
            call(start, 1).with_throttled(1),
            call(start, 2).with_throttled(1),
            call(start, 3).with_accepted(1),
            call(start, 4).with_accepted(1),
            call(start, 5).with_throttled(1),
            call(start, 6).with_accepted(1),
        ];
        assert_eq!(intervals(&rules, calls), [500, 750, 750, 750, 1125, 1012]);
    }

    #[test]
    fn below_the_initial_interval_there_is_none() {
        let start = Instant::now();
        let rules = Rules {
            threshold: 1,
            ..rules()
        };
        let calls = [
            call(start, 1).with_throttled(1),
            call(start, 2).with_accepted(1),
            // Successes without an interval do not count towards the threshold.
            call(start, 3).with_accepted(1),
            call(start, 4).with_throttled(1),
        ];
        assert_eq!(intervals(&rules, calls), [500, 0, 0, 500]);
    }

    #[test]
    fn the_initial_interval_itself_stays() {
        let start = Instant::now();
        let rules = Rules {
            up: 2.0,
            down: 0.5,
            threshold: 1,
            ..rules()
        };
        let calls = [
            call(start, 1).with_throttled(1),
            call(start, 2).with_throttled(1),
            call(start, 3).with_accepted(1),
            call(start, 4).with_accepted(1),
        ];
        assert_eq!(intervals(&rules, calls), [500, 1000, 500, 0]);
    }

    #[test]
    fn the_interval_stops_at_the_longest() {
        let start = Instant::now();
        let rules = Rules {
            max: MILLISECOND * 1000,
            ..rules()
        };
        let calls = (1..=4).map(|at| call(start, at).with_throttled(1));
        assert_eq!(intervals(&rules, calls), [500, 750, 1000, 1000]);
    }

    #[test]
    fn the_longest_interval_is_not_shorter_than_the_initial_one() {
        let start = Instant::now();
        let rules = Rules {
            max: MILLISECOND,
            ..rules()
        };
        let calls = (1..=2).map(|at| call(start, at).with_throttled(1));
        assert_eq!(intervals(&rules, calls), [500, 500]);
    }

    #[test]
    fn one_wave_is_one_increase_when_coordinated() {
        let start = Instant::now();
        let wave = |sent: u32| {
            (0..64).map(move |_| {
                let sent_at = start + MILLISECOND * sent;
                Outcome::new(sent_at, sent_at + MILLISECOND * 8).with_throttled(25)
            })
        };
        assert_eq!(intervals(&rules(), wave(0)), [500; 64]);
        let uncoordinated = Rules {
            coordinated: false,
            initial: MILLISECOND,
            max: Duration::MAX,
            ..rules()
        };
        let last = *intervals(&uncoordinated, wave(0)).last().unwrap();
        // 1 ms · 1.5^63, to eight digits: each of the steps is rounded to whole nanoseconds.
        assert_eq!(last / 1000, 124_093_582);
        let published = Rules {
            coordinated: false,
            ..rules()
        };
        assert_eq!(intervals(&published, wave(0)).last(), Some(&(15 * 60 * 1000)));

        // The next wave left in the instant of the increase, and says nothing new; the one after it does.
        assert_eq!(intervals(&rules(), wave(0).chain(wave(8))).last(), Some(&500));
        assert_eq!(intervals(&rules(), wave(0).chain(wave(9))).last(), Some(&750));
    }

    #[test]
    fn a_clock_that_stands_still_does_not_keep_the_interval_away() {
        let start = Instant::now();
        let rules = Rules {
            threshold: 1,
            ..rules()
        };
        let calls = [
            call(start, 0).with_throttled(1),
            call(start, 0).with_throttled(1),
            call(start, 0).with_accepted(1),
            call(start, 0).with_throttled(1),
        ];
        assert_eq!(intervals(&rules, calls), [500, 500, 0, 500]);
    }

    #[test]
    fn what_left_before_the_last_increase_is_no_news_even_after_a_reset() {
        let start = Instant::now();
        let mut interval = Interval::default();
        interval.observe(&call(start, 5).with_throttled(1), &rules());
        interval.reset();
        interval.observe(&call(start, 4).with_throttled(1), &rules());
        assert!(interval.current.is_zero());
        interval.observe(&call(start, 6).with_throttled(1), &rules());
        assert_eq!(interval.current.as_millis(), 500);
    }

    #[test]
    fn a_late_answer_does_not_turn_back_the_moment_of_the_increase() {
        let start = Instant::now();
        let rules = Rules {
            coordinated: false,
            ..rules()
        };
        let mut interval = Interval::default();
        interval.observe(&call(start, 9).with_throttled(1), &rules);
        interval.observe(&call(start, 3).with_throttled(1), &rules);
        assert_eq!(interval.raised_at, Some(start + MILLISECOND * 9));
    }

    #[test]
    fn metrics_tell_what_happened() {
        let start = Instant::now();
        let rules = Rules {
            threshold: 2,
            ..rules()
        };
        let mut interval = Interval::default();
        for outcome in [
            call(start, 1).with_accepted(1),  // no sleep
            call(start, 2).with_throttled(1), // up, 500
            call(start, 1).with_throttled(1), // no news, 500
            call(start, 3).with_throttled(1), // up, 750
            call(start, 4).with_refused(1),   // neither, 750
            call(start, 5).with_accepted(1),  // 750
            call(start, 6).with_accepted(1),  // down, 675
            call(start, 7).with_accepted(1),  // 675
            call(start, 8).with_accepted(1),  // down, 607.5
            call(start, 9).with_accepted(1),  // 607.5
            call(start, 10).with_accepted(1), // down, 546.75
        ] {
            interval.observe(&outcome, &rules);
        }
        let slept = Duration::from_micros(2 * 500_000 + 3 * 750_000 + 2 * 675_000 + 2 * 607_500 + 546_750);
        let expected = ResponsiveMetrics {
            invocations: 11,
            times_up: 2,
            times_down: 3,
            sleeps: 10,
            slept,
        };
        assert_eq!(interval.metrics(), expected);
    }

    proptest! {
        #[test]
        fn calls_that_left_before_the_first_answer_are_one_increase(
            wave in proptest::collection::vec((0..=8_u64, 8..1000_u64, 0..25_usize, 1..25_usize), 1..100),
        ) {
            let start = Instant::now();
            let mut interval = Interval::default();
            for (sent, answered, accepted, throttled) in wave {
                let sent_at = start + Duration::from_millis(sent);
                let answered_at = start + Duration::from_millis(answered);
                let outcome = Outcome::new(sent_at, answered_at).with_accepted(accepted).with_throttled(throttled);
                interval.observe(&outcome, &rules());
            }
            prop_assert_eq!(interval.current.as_millis(), 500);
            prop_assert_eq!(interval.metrics.times_up, 1);
        }
    }
}
