//! The interval between the calls of all workers together. It has no clock and no lock.

use std::time::{Duration, Instant};

use super::interval::ResponsiveMetrics;
use super::rules::Rules;
use crate::backoff::growth;
use crate::backoff::{Admission, Outcome, Waiter};

/// Rejections beyond the unavoidable share are a congestion signal when they are more than this part of what was sent.
const TOLERATED: f64 = 0.1;

/// The largest share that can be unavoidable. A share above it always lengthens the interval.
const MOST_UNAVOIDABLE: f64 = 0.4;

/// The window ends after this time even with few answers, so that an interval of 250 ms shortens within seconds.
const LONGEST_WINDOW: Duration = Duration::from_secs(2);

/// How often the step down may double: from 0.9 to 0.9^4, which is 0.66.
const DOUBLINGS: u32 = 2;

/// Delays of timers, which have a precision of a millisecond, are compensated within this time.
const MADE_UP: Duration = Duration::from_millis(2);

/// The current interval, when the next call may leave, and the answers in the current window.
#[derive(Debug, Default)]
pub(super) struct SharedInterval {
    current: Duration,
    next: Option<Instant>,
    /// The end of the call that last lengthened the interval.
    raised_at: Option<Instant>,
    window: Window,
    /// The share that is rejected at any pace: measured after the last increase.
    unavoidable: f64,
    /// Whether the last window ended with an increase, so that the next one measures its effect.
    has_risen: bool,
    /// Decreases in a row.
    decreases: u32,
    metrics: ResponsiveMetrics,
}

/// Answers that are evaluated together.
#[derive(Debug, Default)]
struct Window {
    opened_at: Option<Instant>,
    answers: f64,
    /// The sum of the rejected shares of the answers.
    rejected: f64,
}

impl SharedInterval {
    pub(super) fn current(&self) -> Duration {
        self.current
    }

    pub(super) fn metrics(&self) -> ResponsiveMetrics {
        self.metrics
    }

    pub(super) fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        match self.next {
            Some(next) if next > now => Admission::WaitUntil(next),
            _ => Admission::Go(waiter.entries),
        }
    }

    pub(super) fn depart(&mut self, now: Instant) {
        let from = match self.next {
            Some(next) if now.saturating_duration_since(next) <= MADE_UP => next,
            _ => now,
        };
        self.next = from.checked_add(self.current);
    }

    pub(super) fn observe(&mut self, outcome: &Outcome, rules: &Rules) {
        self.metrics.observe(self.current);
        let Some(share) = rejected_share(outcome).filter(|_| self.is_news(outcome)) else {
            return;
        };
        let opened_at = *self.window.opened_at.get_or_insert(outcome.sent_at);
        self.window.answers += 1.0;
        self.window.rejected += share;
        let is_long = outcome.answered_at.saturating_duration_since(opened_at) >= LONGEST_WINDOW;
        let full = f64::from(rules.threshold);
        let judged = if is_long { self.window.answers.min(full) } else { full };
        if self.window.rejected > (self.unavoidable + TOLERATED) * judged {
            self.raise(outcome, rules);
        } else if self.window.answers >= judged {
            self.lower(rules);
        }
    }

    /// Resets to no interval. The time of the last increase is kept: calls that left before it still do not count.
    pub(super) fn reset(&mut self) {
        *self = Self {
            raised_at: self.raised_at,
            metrics: self.metrics,
            ..Self::default()
        };
    }

    /// Whether the call has waited for the interval of the last increase, so that its answer reflects it.
    ///
    /// A call that left in the same instant as the increase probably left before it; but with a paused clock such calls
    /// must count once the interval is over.
    fn is_news(&self, outcome: &Outcome) -> bool {
        self.raised_at.is_none_or(|raised_at| {
            outcome.sent_at > raised_at || (outcome.sent_at == raised_at && self.current.is_zero())
        })
    }

    fn raise(&mut self, outcome: &Outcome, rules: &Rules) {
        self.close();
        self.current = if self.current.is_zero() {
            rules.initial
        } else {
            rules.longer(self.current)
        };
        self.raised_at = self.raised_at.max(Some(outcome.answered_at));
        self.has_risen = true;
        self.decreases = 0;
        self.metrics.times_up = self.metrics.times_up.saturating_add(1);
    }

    fn lower(&mut self, rules: &Rules) {
        self.close();
        self.has_risen = false;
        if self.current.is_zero() {
            return;
        }
        let steps = 1 << self.decreases.min(DOUBLINGS);
        let next = growth::scaled(rules.shorter(self.current), rules.down.powi(steps - 1));
        self.current = if next < rules.initial { Duration::ZERO } else { next };
        self.decreases += 1;
        self.metrics.times_down = self.metrics.times_down.saturating_add(1);
    }

    /// Ends the window. The first window after an increase measures the share that the increase did not reduce.
    fn close(&mut self) {
        let share = self.window.rejected / self.window.answers;
        if self.has_risen && share <= MOST_UNAVOIDABLE {
            self.unavoidable = share;
        }
        self.window = Window::default();
    }
}

/// The share of rejected entries, from 0 to 1; `None` for a call that tells nothing about the pace.
///
/// Failures count as rejections when the whole call failed. When a part of a call failed for another reason than the pace,
/// a slower pace would not have helped.
#[expect(clippy::cast_precision_loss, reason = "a call has few entries")]
fn rejected_share(outcome: &Outcome) -> Option<f64> {
    let failed = outcome.failed.saturating_sub(outcome.unsent);
    let rejected = outcome.throttled + if outcome.accepted == 0 { failed } else { 0 };
    let heard = outcome.accepted + rejected;
    (heard > 0).then(|| rejected as f64 / heard as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// A worker whose calls take 8 ms, and the interval that results.
    struct Worker {
        now: Instant,
        interval: SharedInterval,
        rules: Rules,
    }

    impl Worker {
        fn new() -> Self {
            Self {
                now: Instant::now(),
                interval: SharedInterval::default(),
                rules: Rules::shared(),
            }
        }

        /// Makes `count` calls of ten entries of which `throttled` are throttled.
        fn calls(&mut self, count: usize, throttled: usize) -> Duration {
            for _ in 0..count {
                if let Admission::WaitUntil(next) = self.interval.admit(self.now, &Waiter::new(10)) {
                    self.now = next;
                }
                self.interval.depart(self.now);
                let sent_at = self.now;
                self.now += MILLISECOND * 8;
                let outcome = Outcome::new(sent_at, self.now)
                    .with_accepted(10 - throttled)
                    .with_throttled(throttled);
                self.interval.observe(&outcome, &self.rules);
            }
            self.interval.current
        }
    }

    #[test]
    fn a_tenth_of_the_entries_may_be_rejected_and_no_more() {
        let mut worker = Worker::new();
        for _ in 0..10 {
            worker.calls(36, 0);
            assert_eq!(worker.calls(4, 9), Duration::ZERO);
        }
        worker.calls(35, 0);
        assert_eq!(worker.calls(5, 9), worker.rules.initial);
    }

    #[test]
    fn rejections_lengthen_the_interval_before_all_the_answers_are_there() {
        let mut worker = Worker::new();
        assert_eq!(worker.calls(4, 10), Duration::ZERO);
        assert_eq!(worker.calls(1, 10), worker.rules.initial);
        // The first of them leaves in the same instant as the increase.
        assert_eq!(worker.calls(6, 10), worker.rules.initial * 3 / 2);
    }

    #[test]
    fn what_a_longer_interval_does_not_cure_does_not_lengthen_it_again() {
        let mut worker = Worker::new();
        worker.calls(2_000, 3);
        assert_eq!(worker.interval.current(), Duration::ZERO);
        assert!(worker.interval.metrics().times_up <= 2);
    }

    #[test]
    fn a_share_above_the_most_that_can_be_unavoidable_lengthens_the_interval_to_the_longest() {
        let mut worker = Worker::new();
        assert_eq!(worker.calls(2_000, 6), worker.rules.max);
    }

    #[test]
    fn decreases_in_a_row_get_larger() {
        let mut worker = Worker::new();
        worker.rules.initial = MILLISECOND * 10;
        worker.calls(200, 10);
        let longest = worker.interval.current();
        let mut steps = Vec::new();
        for _ in 0..400 {
            let before = worker.interval.current();
            let after = worker.calls(1, 0);
            if after < before && !after.is_zero() {
                steps.push((after.as_secs_f64() / before.as_secs_f64() * 100.0).round());
            }
        }
        assert_eq!(longest, worker.rules.max);
        assert_eq!(steps[..5], [90.0, 81.0, 66.0, 66.0, 66.0]);
        assert_eq!(worker.interval.current(), Duration::ZERO);
    }

    #[test]
    fn one_wave_is_one_increase() {
        let start = Instant::now();
        let rules = Rules::shared();
        let mut interval = SharedInterval::default();
        for _ in 0..64 {
            interval.observe(&Outcome::new(start, start + MILLISECOND * 8).with_throttled(25), &rules);
        }
        assert_eq!(interval.metrics().times_up, 1);
    }

    #[test]
    fn the_workers_share_one_interval_between_their_calls() {
        let mut worker = Worker::new();
        worker.calls(200, 10);
        let now = worker.now + worker.rules.max;
        worker.interval.depart(now);
        let next = now + worker.rules.max;
        let waiter = Waiter::new(10);
        assert_eq!(worker.interval.admit(now, &waiter), Admission::WaitUntil(next));
        assert_eq!(worker.interval.admit(next, &waiter), Admission::Go(10));
    }

    #[test]
    fn a_clock_that_stands_still_does_not_keep_the_interval_away() {
        let start = Instant::now();
        let rules = Rules::shared();
        let mut interval = SharedInterval::default();
        let mut hear = |throttled: usize, times: usize| {
            for _ in 0..times {
                let outcome = Outcome::new(start, start);
                interval.observe(&outcome.with_accepted(1 - throttled).with_throttled(throttled), &rules);
            }
            interval.current()
        };
        assert_eq!(hear(1, 5), rules.initial);
        assert_eq!(hear(1, 5), rules.initial);
        interval.reset();
        let mut hear = |times: usize| {
            for _ in 0..times {
                interval.observe(&Outcome::new(start, start).with_throttled(1), &rules);
            }
            interval.current()
        };
        assert_eq!(hear(5), rules.initial);
    }

    #[test]
    fn calls_that_say_nothing_of_the_pace_are_not_judged() {
        let start = Instant::now();
        assert_eq!(rejected_share(&Outcome::new(start, start).with_refused(3)), None);
        assert_eq!(
            rejected_share(&Outcome::new(start, start).with_failed(3).with_unsent(3)),
            None
        );
        let failed = Outcome::new(start, start).with_failed(3);
        assert_eq!(rejected_share(&failed), Some(1.0));
        assert_eq!(rejected_share(&failed.with_accepted(1)), Some(0.0));
    }
}
