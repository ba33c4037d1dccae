//! Throttles that are harmless by rule: one whole call of ten, whatever the pace.
//!
//! Account limits throttle whole calls at random (Amazon `DynamoDB` API reference, `BatchWriteItem`), and so does the key service of an
//! encrypted queue. A process cannot distinguish these from the throttles that other processes cause, as neither end at a lower pace. So
//! no more than a small share is harmless, and it is not measured: processes that measure it have different shares, and the one that
//! tolerates most gets most.

use super::evidence::Observation;

/// The share of the calls that may be throttled as a whole.
const SHARE: f64 = 0.1;

/// Throttled calls beyond that share that are ignored: the second one within ten calls is a signal.
const IGNORED: f64 = 1.3;

/// Counts the calls that are throttled as a whole.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HarmlessThrottles {
    /// The throttled calls beyond the harmless share.
    excess: f64,
}

impl HarmlessThrottles {
    /// Whether the rejections of a call are a congestion signal.
    pub(super) fn is_signal(&mut self, answer: &Observation) -> bool {
        if answer.judged.rejected <= 0.0 {
            self.excess = (self.excess - SHARE).max(0.0);
            return false;
        }
        if !answer.is_wholly_rejected() {
            self.excess = IGNORED;
            return true;
        }
        self.excess += 1.0 - SHARE;
        let is_signal = self.excess > IGNORED;
        if is_signal {
            self.excess = 0.0;
        }
        is_signal
    }

    /// The throttles so far are explained: they are not counted again.
    pub(super) fn forget(&mut self) {
        self.excess = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::answer;
    use super::*;

    /// How many signals there are among calls of which every n-th is throttled as a whole.
    fn signals(every: u32) -> usize {
        let mut harmless = HarmlessThrottles::default();
        let mut is_signal = |number| {
            let rejected = if number % every == 0 { 25.0 } else { 0.0 };
            harmless.is_signal(&answer(f64::from(number), rejected))
        };
        (1..=10_000).filter(|number| is_signal(*number)).count()
    }

    #[test]
    fn one_throttled_call_of_ten_is_harmless_and_one_of_five_is_a_signal_again_and_again() {
        assert_eq!(signals(10), 0);
        assert_eq!(signals(5), 1_000);
        assert_eq!(signals(1), 5_000);
    }

    #[test]
    fn a_call_that_is_rejected_in_part_is_never_harmless_and_neither_is_a_whole_one_soon_after_it() {
        for (accepted, is_signal) in [(0, true), (4, true), (20, false)] {
            let mut harmless = HarmlessThrottles::default();
            assert!(harmless.is_signal(&answer(1.0, 1.0)));
            (0..accepted).for_each(|_| assert!(!harmless.is_signal(&answer(1.0, 0.0))));
            assert_eq!(harmless.is_signal(&answer(1.0, 25.0)), is_signal, "{accepted}");
        }
    }
}
