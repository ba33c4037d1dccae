//! Throttles that are harmless by rule: a small share of calls that is throttled as a whole, whatever the pace.
//!
//! Account limits and other tenants throttle whole calls at random (Amazon `DynamoDB` API reference, `BatchWriteItem`), and so does the
//! key service of an encrypted queue. A process cannot distinguish them from those that other processes cause, as neither end at a
//! lower pace. So no more than a small share is harmless.

use super::evidence::{Observation, Trials, chance, variance};

/// No higher share is harmless, so that processes that share a service cannot settle above it together.
const MAX_SHARE: f64 = 0.1;

/// From this many throttled calls on there is a share.
const MIN_CALLS: f64 = 2.0;

/// Calls over which the share is averaged.
const CALLS: f64 = 100.0;

/// Throttled calls beyond the harmless ones that are expected, as a share of the calls: the harmless share is not known exactly.
const MARGIN: f64 = 0.03;

/// Throttled calls beyond the expected ones that are never evidence, and the calls over which chance is computed.
const IGNORED: f64 = 2.5;
const WINDOW: f64 = 20.0;

/// The share of calls that is throttled as a whole at any pace.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HarmlessThrottles {
    /// Calls at a pace below the estimate.
    calls: Trials,
    share: f64,
    /// Throttles beyond the expected ones, at a pace below the estimate and at any other.
    below: f64,
    above: f64,
}

impl HarmlessThrottles {
    /// The share of calls that is throttled whatever the pace.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// A call at a pace that cannot be too fast.
    pub(super) fn measure(&mut self, answer: &Observation) {
        self.calls.add_within(Trials::new(1.0, whole(answer)), CALLS);
        let is_repeated = self.calls.rejected >= MIN_CALLS;
        self.share = if is_repeated {
            self.calls.share().min(MAX_SHARE)
        } else {
            0.0
        };
    }

    /// The rejected share of a call that left at a pace below the estimate, unless it is harmless.
    pub(super) fn excess_below(&mut self, answer: &Observation) -> f64 {
        if !answer.is_wholly_rejected() {
            self.below = (self.below - self.expected()).max(0.0);
            return answer.judged.share();
        }
        self.below += 1.0 - self.expected();
        if self.below <= self.max_excess() {
            return 0.0;
        }
        self.below = 0.0;
        1.0
    }

    /// A call at any other pace. Whether its rejections are a congestion signal.
    pub(super) fn is_signal(&mut self, answer: &Observation) -> bool {
        if self.share <= 0.0 || !answer.is_wholly_rejected() {
            self.above = (self.above - self.expected()).max(0.0);
            return answer.judged.rejected > 0.0;
        }
        self.above += 1.0 - self.expected();
        self.above > self.max_excess()
    }

    /// The throttles so far are explained: they are not counted again.
    pub(super) fn forget_excess(&mut self) {
        self.below = 0.0;
        self.above = 0.0;
    }

    fn expected(&self) -> f64 {
        self.share + MARGIN
    }

    /// The excess that chance may cause.
    fn max_excess(&self) -> f64 {
        IGNORED + chance(variance(WINDOW, self.share))
    }
}

/// 1 for a call that was throttled as a whole.
fn whole(answer: &Observation) -> f64 {
    f64::from(u8::from(answer.is_wholly_rejected()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answer, assert_about};
    use super::*;

    /// Calls of which every n-th is throttled as a whole.
    fn calls(every: u32, count: u32) -> impl Iterator<Item = Observation> {
        (1..=count).map(move |number| answer(f64::from(number), if number % every == 0 { 25.0 } else { 0.0 }))
    }

    fn measured(every: u32) -> HarmlessThrottles {
        let mut harmless = HarmlessThrottles::default();
        calls(every, 1000).for_each(|answer| harmless.measure(&answer));
        harmless
    }

    #[test]
    fn a_share_of_two_to_ten_percent_is_harmless_and_no_higher_one() {
        assert_about(measured(300).share(), 0.0);
        assert!((0.03..0.06).contains(&measured(25).share()));
        assert_about(measured(3).share(), MAX_SHARE);
        assert_about(HarmlessThrottles::default().share(), 0.0);
    }

    #[test]
    fn a_share_that_has_ended_is_forgotten() {
        let mut harmless = measured(10);
        calls(u32::MAX, 500).for_each(|answer| harmless.measure(&answer));
        assert_about(harmless.share(), 0.0);
    }

    #[test]
    fn calls_that_are_throttled_no_more_often_than_is_harmless_are_no_signal() {
        let mut harmless = measured(20);
        assert!(calls(20, 10_000).all(|answer| !harmless.is_signal(&answer)));
        assert!(calls(20, 10_000).all(|answer| harmless.excess_below(&answer) <= 0.0));
    }

    #[test]
    fn calls_that_are_throttled_more_often_are_a_signal_whatever_was_measured() {
        for every in [1, 3, 5] {
            let mut harmless = measured(every);
            assert!(
                calls(every, 200).any(|answer| harmless.is_signal(&answer)),
                "one of {every}"
            );
            assert!(
                calls(every, 200).any(|answer| harmless.excess_below(&answer) > 0.0),
                "one of {every}"
            );
        }
    }

    #[test]
    fn a_call_that_is_rejected_in_part_is_never_harmless() {
        let mut harmless = measured(20);
        assert!(harmless.is_signal(&answer(1.0, 1.0)));
        assert_about(harmless.excess_below(&answer(1.0, 5.0)), 0.2);
        assert!(!harmless.is_signal(&answer(1.0, 0.0)));
    }

    #[test]
    fn three_calls_in_a_row_below_the_estimate_are_more_than_chance() {
        let mut harmless = HarmlessThrottles::default();
        let mut three = || [(); 3].map(|()| harmless.excess_below(&answer(1.0, 25.0)) > 0.5);
        assert_eq!(three(), [false, false, true]);
        assert_eq!(three(), [false, false, true]);
        harmless.excess_below(&answer(1.0, 25.0));
        harmless.forget_excess();
        assert!(harmless.excess_below(&answer(1.0, 25.0)) <= 0.0);
        assert!(harmless.excess_below(&answer(1.0, 25.0)) <= 0.0);
    }
}
