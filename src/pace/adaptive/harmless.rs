//! Throttles that are harmless by rule: a tenth of the calls, and a tenth of the entries, whatever the pace.
//!
//! Account limits throttle whole calls at random (Amazon `DynamoDB` API reference, `BatchWriteItem`), and so does the key service of an
//! encrypted queue. A partition that others keep busy rejects single entries. A process cannot distinguish these from the throttles that
//! other processes cause, as neither end at a lower pace. So no more than a small share is harmless, and it is not measured: processes
//! that measure it have different shares, and the one that tolerates most gets most.

use super::evidence::Observation;

/// The share of the calls that may be throttled as a whole, and of the entries of all other calls that may be rejected.
pub(super) const SHARE: f64 = 0.1;

/// Throttled calls beyond that share that are ignored: the second one within five calls is a signal.
const IGNORED: f64 = 1.3;

/// The same of the entries, as a share of those of a call: two calls with a sixth of their entries rejected are a signal, and so is one
/// with a fifth.
const IGNORED_ENTRIES: f64 = 0.1;

/// Counts what is throttled.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HarmlessThrottles {
    /// The calls that were throttled as a whole, beyond the harmless share.
    calls: f64,
    /// The entries of other calls that were rejected, beyond the harmless share: as a share of those of a call.
    entries: f64,
}

impl HarmlessThrottles {
    /// Whether the rejections of a call are a congestion signal.
    pub(super) fn is_signal(&mut self, answer: &Observation) -> bool {
        if !answer.is_wholly_rejected() {
            self.calls = (self.calls - SHARE).max(0.0);
            return self.is_signal_in_part(answer);
        }
        self.calls += 1.0 - SHARE;
        let is_signal = self.calls > IGNORED;
        if is_signal {
            self.calls = 0.0;
        }
        is_signal
    }

    /// Whether the rejections of a call that was not rejected as a whole are a congestion signal.
    pub(super) fn is_signal_in_part(&mut self, answer: &Observation) -> bool {
        self.entries = (self.entries + answer.judged.share() - SHARE).max(0.0);
        let is_signal = self.entries >= IGNORED_ENTRIES;
        if is_signal {
            self.entries = 0.0;
            self.calls = IGNORED;
        }
        is_signal
    }

    /// The throttles so far are explained: they are not counted again.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
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
    fn a_tenth_of_the_entries_is_harmless_and_a_sixth_is_a_signal_again_and_again() {
        let signals = |rejected| {
            let mut harmless = HarmlessThrottles::default();
            let mut is_signal = |number| harmless.is_signal(&answer(f64::from(number), rejected));
            (1..=10_000).filter(|number| is_signal(*number)).count()
        };
        assert_eq!(signals(2.5), 0);
        assert_eq!(signals(4.0), 10_000 / 2);
        assert_eq!(signals(5.0), 10_000);
    }

    #[test]
    fn a_whole_call_soon_after_a_signal_is_a_signal() {
        for (accepted, is_signal) in [(0, true), (4, true), (20, false)] {
            let mut harmless = HarmlessThrottles::default();
            assert!(harmless.is_signal(&answer(1.0, 6.0)));
            (0..accepted).for_each(|_| assert!(!harmless.is_signal(&answer(1.0, 0.0))));
            assert_eq!(harmless.is_signal(&answer(1.0, 25.0)), is_signal, "{accepted}");
        }
    }
}
