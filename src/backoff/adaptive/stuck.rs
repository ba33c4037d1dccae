//! Whether a search would never end: as many calls as there are workers are too many, or the rejections are no matter of the
//! pace.

/// A search that has gone on for so long since the first rejection, in seconds, and in which more than this share is
/// rejected, finds nothing.
const SECONDS: f64 = 2.0;
const SHARE: f64 = 0.05;

/// The same is certain after so many entries of calls in a row that each had some rejected, when it is no longer the window
/// that limits them but the number of workers, or what there is to send: the search cannot go any faster. Four whole calls
/// to a table.
const UNUSED: f64 = 100.0;

/// Rejections that do not end a search.
#[derive(Debug, Clone, Default)]
pub(super) struct Stuck {
    /// When something was rejected first, in seconds.
    rejected_at: Option<f64>,
    /// Entries of the latest calls that each had some rejected while the window was not used.
    unused: f64,
}

impl Stuck {
    /// Hears of a call. After a pause it begins anew.
    pub(super) fn hear(&mut self, now: f64, (judged, rejected): (f64, f64), paused: bool, is_used: bool) {
        if paused {
            *self = Self::default();
        }
        if rejected > 0.0 {
            self.rejected_at.get_or_insert(now);
        }
        // A call of retries alone says nothing.
        if judged > 0.0 {
            let in_vain = rejected > 0.0 && !is_used && !paused;
            self.unused = if in_vain { self.unused + judged } else { 0.0 };
        }
    }

    /// Whether a search finds nothing more in which this `share` of the latest entries is rejected.
    pub(super) fn is_certain(&self, now: f64, is_long: bool, share: f64) -> bool {
        let lasts = is_long && self.rejected_at.is_some_and(|since| now - since > SECONDS);
        (lasts || self.unused >= UNUSED) && share > SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After so many calls, one in a hundredth of a second.
    fn after(calls: u32, rejected: f64, is_used: bool) -> Stuck {
        let mut stuck = Stuck::default();
        for call in 0..calls {
            stuck.hear(f64::from(call) * 0.01, (25.0, rejected), false, is_used);
        }
        stuck
    }

    #[test]
    fn a_window_that_still_grows_is_given_two_seconds() {
        let stuck = after(100, 8.0, true);
        assert!(!stuck.is_certain(1.9, true, 0.3));
        assert!(stuck.is_certain(2.1, true, 0.3));
        assert!(!stuck.is_certain(2.1, false, 0.3) && !stuck.is_certain(2.1, true, 0.04));
    }

    #[test]
    fn a_window_that_is_not_used_is_given_four_calls() {
        assert!(!after(3, 8.0, false).is_certain(0.1, false, 0.3));
        assert!(after(4, 8.0, false).is_certain(0.1, false, 0.3));
    }

    #[test]
    fn after_a_pause_it_begins_anew_also_with_a_call_that_was_accepted() {
        let mut stuck = after(100, 8.0, true);
        stuck.hear(10.0, (25.0, 0.0), true, true);
        stuck.hear(10.01, (25.0, 8.0), false, true);
        assert!(!stuck.is_certain(10.02, true, 0.3));
    }

    #[test]
    fn calls_of_retries_alone_say_nothing() {
        let mut stuck = after(3, 8.0, false);
        stuck.hear(0.04, (0.0, 0.0), false, false);
        stuck.hear(0.05, (25.0, 8.0), false, false);
        assert!(stuck.is_certain(0.1, false, 0.3));
    }

    #[test]
    fn calls_without_a_rejection_begin_anew() {
        let mut stuck = after(3, 8.0, false);
        stuck.hear(0.1, (25.0, 0.0), false, false);
        stuck.hear(0.1, (25.0, 8.0), false, false);
        assert!(!stuck.is_certain(0.1, false, 0.3));
    }
}
