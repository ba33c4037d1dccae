//! Whether entries that were rejected once are rejected again and again, so that it is their own fault.

/// Retries are at fault when more of them than this share are rejected, and by so many standard deviations more than
/// if each entry of a call were as likely to be rejected as any other.
const MOST: f64 = 0.5;
const DEVIATIONS: f64 = 3.5;

/// The variance of the retries of a call that are rejected, as part of what it were if all shared one fate. For a run of
/// half the entries that begins anywhere it is a third.
const SPREAD: f64 = 0.5;

/// Retries of calls with fresh entries over which is reckoned.
const MIXED_MEMORY: f64 = 150.0;

/// So many retries at least must have been heard of.
const ENOUGH: f64 = 8.0;

/// Rejections that fall on the few retries of a call by chance more seldom than this are no matter of chance. It is taken
/// to be the chance of neighbours, as a service may take the entries of a call in their order.
const UNLIKELY: f64 = 0.05;

/// How retries fare in calls that carry fresh entries as well.
#[derive(Debug, Default)]
pub(super) struct Retries {
    sent: f64,
    rejected: f64,
    /// How many were to be expected to be rejected, with the variance of that.
    expected: f64,
    variance: f64,
}

impl Retries {
    pub(super) fn hear(&mut self, fresh: (f64, f64), retries: (f64, f64)) {
        let (sent, rejected) = (fresh.0 + retries.0, fresh.1 + retries.1);
        if fresh.0 > 0.0 && retries.0 > 0.0 {
            // Retries stand side by side in a call, and so may those that the service rejects.
            let share = rejected / sent;
            let weight = (1.0 - retries.0 / MIXED_MEMORY).max(0.0);
            self.sent = weight * self.sent + retries.0;
            self.rejected = weight * self.rejected + retries.1;
            self.expected = weight * self.expected + retries.0 * share;
            self.variance = weight * self.variance + SPREAD * retries.0 * retries.0 * share * (1.0 - share);
        }
    }

    /// Whether the rejections of a call fell on its retries, and that by no chance.
    pub(super) fn are_singled_out((fresh, retries): ((f64, f64), (f64, f64))) -> bool {
        let chance = (retries.0 - retries.1 + 1.0) / (fresh.0 + retries.0);
        fresh.1 <= 0.0 && retries.1 > 0.0 && chance < UNLIKELY
    }

    /// Whether far more of the retries are rejected than of the fresh entries of the same calls.
    pub(super) fn are_at_fault(&self) -> bool {
        let excess = self.rejected - self.expected;
        self.sent >= ENOUGH
            && self.rejected > MOST * self.sent
            && excess > 1.0 + DEVIATIONS * self.variance.max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_that_fare_like_all_entries_are_not_at_fault() {
        let mut retries = Retries::default();
        (0..100).for_each(|_| retries.hear((20.0, 6.0), (10.0, 3.0)));
        assert!(!retries.are_at_fault());
    }

    #[test]
    fn retries_that_fail_while_fresh_entries_do_not_are_at_fault() {
        let mut retries = Retries::default();
        (0..10).for_each(|_| retries.hear((25.0, 1.0), (2.0, 2.0)));
        assert!(retries.are_at_fault());
    }

    #[test]
    fn few_retries_that_are_all_rejected_while_no_fresh_entry_is_are_singled_out() {
        assert!(!Retries::are_singled_out(((24.0, 0.0), (1.0, 0.0))));
        assert!(!Retries::are_singled_out(((4.0, 0.0), (1.0, 1.0))));
        assert!(!Retries::are_singled_out(((15.0, 0.0), (10.0, 1.0))));
        assert!(!Retries::are_singled_out(((23.0, 1.0), (2.0, 2.0))));
        assert!(Retries::are_singled_out(((23.0, 0.0), (2.0, 2.0))));
    }

    #[test]
    fn retries_without_fresh_entries_for_comparison_prove_nothing() {
        let mut retries = Retries::default();
        (0..100).for_each(|_| retries.hear((0.0, 0.0), (1.0, 1.0)));
        (0..100).for_each(|_| retries.hear((20.0, 20.0), (5.0, 5.0)));
        assert!(!retries.are_at_fault());
    }
}
