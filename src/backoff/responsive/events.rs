//! What is a failure and what a success: each call as in the published algorithm, or what the calls of all workers show together.

use std::time::{Duration, Instant};

use crate::backoff::Outcome;

/// Rejections beyond the unavoidable share are a congestion signal when they are more than this part of what was sent.
const TOLERATED: f64 = 0.1;

/// The largest share that can be unavoidable. A share above it always lengthens the interval.
const MOST_UNAVOIDABLE: f64 = 0.4;

/// The window ends after this time even with few answers, so that an interval of 250 ms shortens within seconds.
const LONGEST_WINDOW: Duration = Duration::from_secs(2);

/// How often the step down may double: from 0.9 to 0.9^4, which is 0.66.
const DOUBLINGS: u32 = 2;

/// What changes the interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// It becomes longer.
    Failure,
    /// It becomes shorter, by this many steps.
    Success { steps: i32 },
}

/// From the answers to the events.
#[derive(Debug)]
pub(super) enum Events {
    /// As published: each call that was rejected is a failure, and this many other calls together are a success.
    OfCalls { successes: u32 },
    /// One congestion of all workers is one failure.
    OfWindows(Windows),
}

impl Events {
    pub(super) fn of_calls() -> Self {
        Self::OfCalls { successes: 0 }
    }

    pub(super) fn of_windows() -> Self {
        Self::OfWindows(Windows::default())
    }

    pub(super) fn are_of_calls(&self) -> bool {
        matches!(self, Self::OfCalls { .. })
    }

    /// The event that comes with an answer, if one does. `is_free` says whether there is no interval: then no success counts.
    /// `threshold` is the number of calls of a success, and of the answers of a window.
    pub(super) fn observe(&mut self, outcome: &Outcome, is_free: bool, threshold: u32) -> Option<Event> {
        let successes = match self {
            Self::OfWindows(windows) => return windows.observe(outcome, is_free, threshold),
            Self::OfCalls { successes } => successes,
        };
        if is_failure(outcome) {
            return Some(Event::Failure);
        }
        if outcome.accepted == 0 || is_free {
            return None;
        }
        *successes += 1;
        if *successes < threshold {
            return None;
        }
        *successes = 0;
        Some(Event::Success { steps: 1 })
    }

    /// Forgets the answers. The time of the last failure is kept: calls that left before it still do not count.
    pub(super) fn reset(&mut self) {
        *self = match self {
            Self::OfCalls { .. } => Self::of_calls(),
            Self::OfWindows(windows) => Self::OfWindows(Windows {
                failed_at: windows.failed_at,
                ..Windows::default()
            }),
        };
    }
}

/// Answers that are evaluated together, and what the windows before have shown.
#[derive(Debug, Default)]
pub(super) struct Windows {
    open: Window,
    /// The end of the call with which the last failure came.
    failed_at: Option<Instant>,
    /// The share that is rejected at any pace: measured after the last failure.
    unavoidable: f64,
    /// Whether the last window ended with a failure, so that the next one measures its effect.
    has_failed: bool,
    /// Successes in a row.
    successes: u32,
}

#[derive(Debug, Default)]
struct Window {
    opened_at: Option<Instant>,
    answers: f64,
    /// The sum of the rejected shares of the answers.
    rejected: f64,
}

impl Windows {
    fn observe(&mut self, outcome: &Outcome, is_free: bool, threshold: u32) -> Option<Event> {
        let share = rejected_share(outcome).filter(|_| self.is_news(outcome, is_free))?;
        let window = &mut self.open;
        let opened_at = *window.opened_at.get_or_insert(outcome.sent_at);
        window.answers += 1.0;
        window.rejected += share;
        let is_long = outcome.answered_at.saturating_duration_since(opened_at) >= LONGEST_WINDOW;
        let full = f64::from(threshold);
        let judged = if is_long { window.answers.min(full) } else { full };
        if window.rejected > (self.unavoidable + TOLERATED) * judged {
            self.close();
            self.failed_at = self.failed_at.max(Some(outcome.answered_at));
            self.has_failed = true;
            self.successes = 0;
            Some(Event::Failure)
        } else if window.answers >= judged {
            self.close();
            self.has_failed = false;
            (!is_free).then(|| self.success())
        } else {
            None
        }
    }

    /// Whether the call has waited for the interval of the last failure, so that its answer reflects it.
    ///
    /// A call that left in the same instant as the failure probably left before it; but with a paused clock such calls
    /// must count once the interval is over.
    fn is_news(&self, outcome: &Outcome, is_free: bool) -> bool {
        self.failed_at
            .is_none_or(|failed_at| outcome.sent_at > failed_at || (outcome.sent_at == failed_at && is_free))
    }

    /// Each success in a row has twice as many steps as the one before.
    fn success(&mut self) -> Event {
        let steps = 1 << self.successes.min(DOUBLINGS);
        self.successes += 1;
        Event::Success { steps }
    }

    /// Ends the window. The first window after a failure measures the share that the longer interval did not reduce.
    fn close(&mut self) {
        let share = self.open.rejected / self.open.answers;
        if self.has_failed && share <= MOST_UNAVOIDABLE {
            self.unavoidable = share;
        }
        self.open = Window::default();
    }
}

/// Something was throttled, or nothing was accepted. A call of which a part failed for another reason than the pace is not a
/// failure, because a slower pace would not have helped. Nor is a call that could not be made.
fn is_failure(outcome: &Outcome) -> bool {
    outcome.throttled > 0 || (outcome.failed > outcome.unsent && outcome.accepted == 0)
}

/// The share of rejected entries, from 0 to 1; `None` for a call that says nothing about the pace.
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
    use std::time::Duration;

    use super::*;
    use crate::backoff::responsive::interval::Interval;
    use crate::backoff::responsive::rules::Rules;
    use crate::backoff::{Admission, Waiter};

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// A worker whose calls take 8 ms, and the interval that results.
    struct Worker {
        now: Instant,
        interval: Interval,
        rules: Rules,
    }

    impl Worker {
        fn new() -> Self {
            Self {
                now: Instant::now(),
                interval: Interval::shared(),
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
            self.interval.current()
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
        let mut interval = Interval::shared();
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
        let mut interval = Interval::shared();
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
