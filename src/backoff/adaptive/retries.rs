//! Whether entries that were rejected once are rejected again and again, so that it is their own fault.

/// Entries over which either share is reckoned: at least twenty calls, as calls may be rejected as a whole. With eight, loads with 30% of
/// the calls rejected at random take 1.8 to 2.1 times as long instead of 1.7 to 1.8.
const MEMORY: f64 = 500.0;

/// Retries that are rejected by mere chance are rejected at most so many times as often as fresh entries, and this much more.
const TIMES: f64 = 2.0;
const SLACK: f64 = 0.1;

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

/// How fresh entries and how retries fare.
#[derive(Debug, Default)]
pub(super) struct Retries {
    fresh: Share,
    again: Share,
    /// How many retries were rejected in calls that carried fresh entries as well …
    mixed: Share,
    /// … and how many were to be expected, with the variance of that.
    expected: f64,
    variance: f64,
}

#[derive(Debug, Default)]
struct Share {
    sent: f64,
    rejected: f64,
}

impl Share {
    fn hear(&mut self, sent: f64, rejected: f64, memory: f64) {
        self.sent += sent;
        self.rejected += rejected;
        if self.sent > memory {
            let weight = memory / self.sent;
            self.sent *= weight;
            self.rejected *= weight;
        }
    }

    fn get(&self) -> f64 {
        self.rejected / self.sent.max(1.0)
    }
}

impl Retries {
    pub(super) fn hear(&mut self, fresh: (f64, f64), retries: (f64, f64)) {
        self.fresh.hear(fresh.0, fresh.1, MEMORY);
        self.again.hear(retries.0, retries.1, MEMORY);
        let (sent, rejected) = (fresh.0 + retries.0, fresh.1 + retries.1);
        if fresh.0 > 0.0 && retries.0 > 0.0 {
            // Retries stand side by side in a call, and so may those that the service rejects.
            let share = rejected / sent;
            let weight = (1.0 - retries.0 / MIXED_MEMORY).max(0.0);
            self.mixed.sent = weight * self.mixed.sent + retries.0;
            self.mixed.rejected = weight * self.mixed.rejected + retries.1;
            self.expected = weight * self.expected + retries.0 * share;
            self.variance = weight * self.variance + SPREAD * retries.0 * retries.0 * share * (1.0 - share);
        }
    }

    /// Whether the rejections of a call fell on its retries, and that by no chance.
    pub(super) fn are_singled_out((fresh, retries): ((f64, f64), (f64, f64))) -> bool {
        let chance = (retries.0 - retries.1 + 1.0) / (fresh.0 + retries.0);
        fresh.1 <= 0.0 && retries.1 > 0.0 && chance < UNLIKELY
    }

    /// Forgets how retries fared.
    pub(super) fn acquit(&mut self) {
        self.mixed = Share::default();
        self.expected = 0.0;
        self.variance = 0.0;
    }

    /// Whether retries fare as fresh entries do, so that it is mere chance which entries are rejected again.
    pub(super) fn are_unlucky(&self) -> bool {
        self.again.get() <= TIMES * self.fresh.get() + SLACK
    }

    /// Whether far more of the retries are rejected than of the fresh entries of the same calls.
    pub(super) fn are_at_fault(&self) -> bool {
        let excess = self.mixed.rejected - self.expected;
        self.mixed.sent >= ENOUGH
            && self.mixed.get() > MOST
            && excess > 1.0 + DEVIATIONS * self.variance.max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::assert_about;
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
        retries.acquit();
        assert!(!retries.are_at_fault());
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

    #[test]
    fn eight_calls_of_luck_do_not_make_retries_that_are_rejected_by_chance_a_matter_of_fault() {
        let mut retries = Retries::default();
        (0..100).for_each(|call| retries.hear((25.0, if call % 10 < 3 { 25.0 } else { 0.0 }), (0.0, 0.0)));
        (0..8).for_each(|_| retries.hear((25.0, 0.0), (0.0, 0.0)));
        (0..8).for_each(|call| retries.hear((0.0, 0.0), (25.0, if call < 3 { 25.0 } else { 0.0 })));
        assert!(retries.are_unlucky());
    }

    #[test]
    fn what_was_long_ago_counts_less() {
        let mut share = Share::default();
        share.hear(100.0, 90.0, 200.0);
        assert_about(share.get(), 0.9);
        share.hear(300.0, 10.0, 200.0);
        assert_about(share.sent, 200.0);
        assert_about(share.rejected, 50.0);
        assert_about(share.get(), 0.25);
        assert_about(Share::default().get(), 0.0);
    }

    #[test]
    fn retries_are_unlucky_while_they_are_rejected_little_more_often_than_fresh_entries() {
        let mut retries = Retries::default();
        retries.hear((100.0, 10.0), (100.0, 25.0));
        assert!(retries.are_unlucky());
        retries.hear((0.0, 0.0), (100.0, 100.0));
        assert!(!retries.are_unlucky());
    }

    #[test]
    fn as_many_rejected_retries_are_expected_as_of_all_entries_of_their_calls() {
        let mut retries = Retries::default();
        retries.hear((20.0, 6.0), (10.0, 3.0));
        assert_about(retries.mixed.sent, 10.0);
        assert_about(retries.mixed.rejected, 3.0);
        assert_about(retries.expected, 3.0);
        assert_about(retries.variance, SPREAD * 100.0 * 0.3 * 0.7);
        // A fifteenth of what was heard of before is forgotten.
        retries.hear((10.0, 0.0), (10.0, 8.0));
        let kept = 1.0 - 10.0 / MIXED_MEMORY;
        assert_about(retries.mixed.sent, kept * 10.0 + 10.0);
        assert_about(retries.mixed.rejected, kept * 3.0 + 8.0);
        assert_about(retries.expected, kept * 3.0 + 4.0);
        let variance = kept * SPREAD * 100.0 * 0.3 * 0.7 + SPREAD * 100.0 * 0.4 * 0.6;
        assert_about(retries.variance, variance);
        // Calls of either alone are not compared.
        retries.hear((10.0, 5.0), (0.0, 0.0));
        retries.hear((0.0, 0.0), (10.0, 5.0));
        assert_about(retries.expected, kept * 3.0 + 4.0);
    }

    #[test]
    fn retries_are_at_fault_if_most_of_them_are_rejected_and_that_by_no_chance() {
        let are_at_fault = |sent, rejected, expected| {
            let retries = Retries {
                mixed: Share { sent, rejected },
                expected,
                variance: 4.0,
                ..Retries::default()
            };
            retries.are_at_fault()
        };
        // One and three and a half deviations more than expected.
        assert!(are_at_fault(20.0, 12.0, 3.9) && !are_at_fault(20.0, 12.0, 4.1));
        assert!(!are_at_fault(20.0, 10.0, 0.0) && are_at_fault(20.0, 10.1, 0.0));
        assert!(!are_at_fault(7.9, 7.9, -5.0) && are_at_fault(8.0, 8.0, -5.0));
    }

    #[test]
    fn rejected_retries_are_singled_out_where_chance_brings_that_about_seldom() {
        let are_singled_out = |fresh, retries| Retries::are_singled_out((fresh, retries));
        // One of 21 places, and one of 19.
        assert!(are_singled_out((20.0, 0.0), (1.0, 1.0)) && !are_singled_out((18.0, 0.0), (1.0, 1.0)));
        assert!(are_singled_out((18.0, 0.0), (3.0, 3.0)) && !are_singled_out((18.0, 0.0), (3.0, 2.0)));
        assert!(!are_singled_out((25.0, 0.0), (0.0, 0.0)));
    }
}
