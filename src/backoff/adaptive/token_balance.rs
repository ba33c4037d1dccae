//! Entries that may leave: a debt that is paid off at the pace.

/// The time for which unused credit is kept, in seconds. Longer than the timers of any system are late (15.6 ms), so
/// that no timer costs pace; short, so that a client that stood still does not make up for it in one burst.
const BURST: f64 = 0.02;

/// How long one may wait before asking again, in seconds, as the pace may have risen.
const PATIENCE: f64 = 0.02;

/// The longest debt, in seconds of the pace. A debt that was made at a high pace is not paid off at a low one that may be wrong;
/// more than the largest call of any service takes at 50 entries/s.
const LONGEST_DEBT: f64 = 10.0;

/// Credit in entries. A call leaves when there is any, and may take more than there is.
#[derive(Debug, Default)]
pub(super) struct TokenBalance {
    entries: f64,
    reckoned_at: f64,
}

impl TokenBalance {
    /// Begins without any.
    pub(super) fn none(now: f64) -> Self {
        Self {
            entries: 0.0,
            reckoned_at: now,
        }
    }

    /// Earns what the pace has brought up to now. Most of what is not used is lost.
    pub(super) fn earn(&mut self, now: f64, pace: f64) {
        let seconds = (now - self.reckoned_at).max(0.0);
        // A clock that was set back must not stop the earning; what is earned twice is no more than a burst.
        self.reckoned_at = now;
        let earned = self.entries + pace * seconds;
        self.entries = earned.clamp(-pace * LONGEST_DEBT, (pace * BURST).max(1.0));
    }

    pub(super) fn spend(&mut self, entries: f64) {
        self.entries -= entries;
    }

    /// What was saved is lost.
    pub(super) fn forfeit(&mut self) {
        self.entries = self.entries.min(0.0);
    }

    /// Seconds until a call may leave; `None` when one may now.
    pub(super) fn wait(&self, pace: f64) -> Option<f64> {
        (self.entries < 0.0).then(|| (-self.entries / pace).min(PATIENCE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_paid_off_at_the_pace() {
        let mut credit = TokenBalance::none(0.0);
        assert!(credit.wait(1000.0).is_none());
        credit.spend(25.0);
        assert!((credit.wait(10_000.0).unwrap() - 0.0025).abs() < 1e-9);
        assert!((credit.wait(1000.0).unwrap() - 0.02).abs() < 1e-9);
        credit.earn(0.025, 1000.0);
        assert!(credit.wait(1000.0).is_none());
    }

    #[test]
    fn a_debt_made_at_a_high_pace_is_not_paid_off_at_a_low_one_for_ever() {
        let mut credit = TokenBalance::none(0.0);
        credit.spend(1000.0);
        credit.earn(0.0, 1.0);
        credit.earn(10.0, 1.0);
        assert!(credit.wait(1.0).is_none());
    }

    #[test]
    fn only_a_little_is_saved() {
        let mut credit = TokenBalance::none(0.0);
        credit.earn(100.0, 1000.0);
        credit.spend(20.0);
        assert!(credit.wait(1000.0).is_none());
        credit.spend(1.0);
        assert!(credit.wait(1000.0).is_some());
    }

    #[test]
    fn a_clock_that_jumps_back_does_not_stop_the_earning() {
        let mut credit = TokenBalance::none(10.0);
        credit.spend(25.0);
        credit.earn(0.0, 1000.0);
        assert!((credit.entries + 25.0).abs() < 1e-9);
        credit.earn(0.025, 1000.0);
        assert!(credit.wait(1000.0).is_none());
    }
}
