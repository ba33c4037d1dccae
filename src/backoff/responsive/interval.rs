//! The interval: it becomes longer with each failure, and shorter with enough successes. It has no clock and no lock.

use std::time::{Duration, Instant};

use super::events::{Event, Events};
use super::rules::Rules;
use crate::backoff::{Admission, Outcome, Waiter};

/// Delays of timers, which have a precision of a millisecond, are compensated within this time.
const MADE_UP: Duration = Duration::from_millis(2);

/// Counters of a [`Responsive`](super::Responsive) interval since it was created. A reset does not clear them.
///
/// The strategy has no clock and cannot see whether a worker has another call to make. It counts the interval once for each
/// answer, even if no call follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ResponsiveMetrics {
    /// Calls with an observed outcome: failures, successes and others.
    pub invocations: u64,
    /// How often rejections lengthened the interval, even if it was at its maximum.
    pub times_up: u64,
    /// How often successes shortened the interval.
    pub times_down: u64,
    /// Answers while the interval was above zero.
    pub sleeps: u64,
    /// The sum of these intervals; with the published algorithm over all workers, not wall-clock time.
    pub slept: Duration,
}

impl ResponsiveMetrics {
    /// Counts an answer and the interval that follows it.
    fn observe(&mut self, interval: Duration) {
        self.invocations = self.invocations.saturating_add(1);
        if !interval.is_zero() {
            self.sleeps = self.sleeps.saturating_add(1);
            self.slept = self.slept.saturating_add(interval);
        }
    }
}

/// The current interval, and when the next call may leave.
#[derive(Debug)]
pub(super) struct Interval {
    current: Duration,
    next: Option<Instant>,
    events: Events,
    metrics: ResponsiveMetrics,
}

impl Interval {
    fn with(events: Events) -> Self {
        Self {
            current: Duration::ZERO,
            next: None,
            events,
            metrics: ResponsiveMetrics::default(),
        }
    }

    /// Between the calls of all workers together.
    pub(super) fn shared() -> Self {
        Self::with(Events::of_windows())
    }

    /// After each call of each worker.
    pub(super) fn published() -> Self {
        Self::with(Events::of_calls())
    }

    pub(super) fn current(&self) -> Duration {
        self.current
    }

    pub(super) fn metrics(&self) -> ResponsiveMetrics {
        self.metrics
    }

    /// How long a worker waits after one of its calls.
    pub(super) fn cooldown(&self) -> Duration {
        if self.events.are_of_calls() {
            self.current
        } else {
            Duration::ZERO
        }
    }

    pub(super) fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        match self.next {
            Some(next) if next > now => Admission::WaitUntil(next),
            _ => Admission::Go(waiter.entries),
        }
    }

    pub(super) fn depart(&mut self, now: Instant) {
        if self.events.are_of_calls() {
            return;
        }
        let from = match self.next {
            Some(next) if now.saturating_duration_since(next) <= MADE_UP => next,
            _ => now,
        };
        self.next = from.checked_add(self.current);
    }

    /// Applies the answer to a call.
    pub(super) fn observe(&mut self, outcome: &Outcome, rules: &Rules) {
        match self.events.observe(outcome, self.current.is_zero(), rules.threshold) {
            Some(Event::Failure) => self.raise(rules),
            Some(Event::Success { steps }) => self.lower(steps, rules),
            None => {}
        }
        self.metrics.observe(self.current);
    }

    /// Resets to no interval.
    pub(super) fn reset(&mut self) {
        self.current = Duration::ZERO;
        self.next = None;
        self.events.reset();
    }

    fn raise(&mut self, rules: &Rules) {
        self.current = if self.current.is_zero() {
            rules.initial
        } else {
            rules.longer(self.current)
        };
        self.metrics.times_up = self.metrics.times_up.saturating_add(1);
    }

    fn lower(&mut self, steps: i32, rules: &Rules) {
        let next = rules.shorter(self.current, steps);
        self.current = if next < rules.initial { Duration::ZERO } else { next };
        self.metrics.times_down = self.metrics.times_down.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// The published rules without randomness.
    fn rules() -> Rules {
        Rules {
            randomization_factor: 0.0,
            ..Rules::published()
        }
    }

    /// A call without duration, `at` milliseconds after `start`.
    fn call(start: Instant, at: u32) -> Outcome {
        let moment = start + MILLISECOND * at;
        Outcome::new(moment, moment)
    }

    /// The interval after each of the calls, in milliseconds.
    fn intervals(rules: &Rules, calls: impl IntoIterator<Item = Outcome>) -> Vec<u128> {
        let mut interval = Interval::published();
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
            // A call that could not be made says nothing about the service.
            call(start, 4).with_failed(3).with_unsent(3),
        ];
        assert_eq!(intervals(&rules(), calls), [0, 500, 750, 750]);
    }

    #[test]
    fn a_call_of_refused_entries_alone_counts_for_nothing() {
        let start = Instant::now();
        let mut interval = Interval::published();
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
    fn metrics_tell_what_happened() {
        let start = Instant::now();
        let rules = Rules {
            threshold: 2,
            ..rules()
        };
        let mut interval = Interval::published();
        for outcome in [
            call(start, 1).with_accepted(1),  // no sleep
            call(start, 2).with_throttled(1), // up, 500
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
        let slept = Duration::from_micros(500_000 + 3 * 750_000 + 2 * 675_000 + 2 * 607_500 + 546_750);
        let expected = ResponsiveMetrics {
            invocations: 10,
            times_up: 2,
            times_down: 3,
            sleeps: 9,
            slept,
        };
        assert_eq!(interval.metrics(), expected);
    }
}
