//! Whether rejections depend on the pace at all.

use super::spread::Spread;

/// Marks in a row that come while the pace is below the estimate. One or two are a capacity that has fallen; a service
/// that rejects whatever the pace goes on.
const MARKS: u32 = 6;

/// A first mark is no part of what comes so many entries without a rejection later. Together they would look like bursts.
const APART: f64 = 100.0;

/// An estimate below this part of the peak has sunk.
const SUNK: f64 = 0.6;

/// For so long it must have sunk, in seconds, however the marks came.
const SUNK_SECONDS: f64 = 3.0;

/// The same where rejections come in bursts, as those of an empty bucket do.
const SUNK_IN_BURSTS_SECONDS: f64 = 20.0;

/// So many entries in dips without a rejection prove the estimate. At a loss of 1% that happens by chance in one of 30.
const CLEAN: f64 = 350.0;

/// An estimate that so many seconds vouch for can be trusted.
const VOUCHED: f64 = 0.3;

/// The highest estimate that is vouched for is taken for the highest of all when it is this part of it.
const TRUSTED: f64 = 0.8;

/// The longest time between two searches that find no loss, in seconds. Other clients of the same table make an estimate
/// sink for good reasons.
const LONGEST_PATIENCE: f64 = 60.0;

/// Marks where there should be none.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    marks: u32,
    /// Fresh entries in dips since the first of them …
    chain: Spread,
    /// … and lately.
    lately: Spread,
    /// Entries in dips since the last rejection there.
    clean: f64,
    peak: f64,
    vouched: f64,
    /// Once there were enough entries in dips without a rejection.
    is_proven: bool,
    /// The highest estimate since the last search, whatever marks have confirmed since.
    height: f64,
    /// There was a trial since the last mark, so that little was accepted.
    is_tried: bool,
    sunk_since: Option<f64>,
    patience: f64,
    next_search_at: f64,
}

impl Suspicion {
    /// Hears what became of fresh entries that left in a dip.
    pub(super) fn hear(&mut self, sent: f64, rejected: f64, capacity: f64) {
        self.clean = if rejected > 0.0 { 0.0 } else { self.clean + sent };
        if self.clean >= CLEAN {
            self.peak = capacity;
            self.vouched = capacity;
            self.height = capacity;
            self.is_proven = true;
        }
        self.lately.fade();
        self.lately.hear(sent, rejected);
        if self.marks == 1 && rejected > 0.0 && self.chain.rejected() <= 0.0 && self.chain.sent() >= APART {
            self.clear();
        }
        if self.marks > 0 {
            self.chain.hear(sent, rejected);
        }
    }

    /// A mark came, in the dip or not. After a dip it proves the estimate.
    pub(super) fn marked(&mut self, dips: bool, capacity: f64) {
        self.is_tried = false;
        if dips {
            self.marks += 1;
        } else {
            self.clear();
            self.peak = capacity.max(self.vouched);
        }
    }

    /// The capacity has changed all at once, as those of services do.
    pub(super) fn explained(&mut self, capacity: f64) {
        if !self.is_tried {
            self.height = capacity;
        }
    }

    /// The share of rejections that does not fit, if there are enough.
    pub(super) fn share(&self) -> Option<f64> {
        (self.marks >= MARKS && !self.chain.comes_in_bursts()).then(|| self.chain.share())
    }

    /// Remembers the highest estimate since the last search, for which so many seconds vouch.
    pub(super) fn keep_peak(&mut self, capacity: f64, seconds: f64) {
        self.peak = self.peak.max(capacity);
        self.height = self.height.max(capacity);
        if seconds >= VOUCHED {
            self.vouched = self.vouched.max(capacity);
        }
    }

    /// Whether dips without a rejection have proven an estimate, rather than marks that may be no matter of the pace.
    pub(super) fn is_proven(&self) -> bool {
        self.is_proven
    }

    /// The highest estimate, to be trusted or not.
    pub(super) fn highest(&self) -> f64 {
        self.peak
    }

    /// The highest estimate, if it can be trusted: not when it had sunk already before enough time vouched for it.
    pub(super) fn peak(&self) -> Option<f64> {
        (self.vouched > 0.0 && self.vouched >= TRUSTED * self.peak).then_some(self.vouched)
    }

    /// The share of rejections, when the estimate has fallen so far and for so long that a spiral may have made it fall.
    ///
    /// Marks that `exceed` a floor prove an estimate; others may be rejections that do not depend on the pace.
    pub(super) fn has_sunk(&mut self, now: f64, capacity: f64, exceed: bool) -> Option<f64> {
        let highest = if exceed || self.lately.comes_in_bursts() {
            self.peak
        } else {
            self.peak.max(self.height)
        };
        if capacity >= SUNK * highest {
            self.sunk_since = None;
            return None;
        }
        let since = *self.sunk_since.get_or_insert(now);
        let chain = self.marks >= MARKS && !self.chain.comes_in_bursts();
        let patience = if self.lately.comes_in_bursts() {
            SUNK_IN_BURSTS_SECONDS
        } else {
            SUNK_SECONDS
        };
        let is_certain = chain || now - since > patience;
        (is_certain && now >= self.next_search_at).then(|| self.lately.share())
    }

    /// The estimate is searched for again. Unless a loss is found, the next search must wait for longer.
    pub(super) fn searched(&mut self, now: f64) {
        let patience = self.patience.max(SUNK_SECONDS);
        *self = Self {
            patience: (2.0 * patience).min(LONGEST_PATIENCE),
            next_search_at: now + patience,
            ..Self::default()
        };
    }

    /// A loss was found.
    pub(super) fn confirmed(&mut self) {
        *self = Self::default();
    }

    /// A trial has told that it was the pace.
    pub(super) fn refuted(&mut self) {
        self.clear();
        self.is_tried = true;
    }

    /// It was the pace, or is being found out.
    pub(super) fn clear(&mut self) {
        *self = Self {
            lately: self.lately,
            clean: self.clean,
            peak: self.peak,
            vouched: self.vouched,
            is_proven: self.is_proven,
            height: self.height,
            sunk_since: self.sunk_since,
            patience: self.patience,
            next_search_at: self.next_search_at,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A suspicion after these rejections in calls of 25 that left in dips. Each call of which any were rejected was a mark.
    fn after(rejections: &[f64]) -> Suspicion {
        let mut suspicion = Suspicion::default();
        suspicion.keep_peak(1000.0, 1.0);
        for rejected in rejections {
            suspicion.hear(25.0, *rejected, 900.0);
            if *rejected > 0.0 {
                suspicion.marked(true, 900.0);
            }
        }
        suspicion
    }

    #[test]
    fn six_marks_in_dips_are_suspicious_and_five_are_not() {
        assert!(after(&[2.0; 5]).share().is_none());
        assert!(
            after(&[2.0; 6])
                .share()
                .is_some_and(|share| (share - 0.08).abs() < 1e-9)
        );
    }

    #[test]
    fn a_mark_after_the_dip_ends_the_suspicion() {
        let mut suspicion = after(&[2.0; 6]);
        suspicion.marked(false, 900.0);
        assert!(suspicion.share().is_none());
    }

    #[test]
    fn a_mark_by_chance_long_before_the_others_does_not_make_them_look_like_bursts() {
        let suspicion = after(&[
            1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0, 8.0, 8.0, 7.0, 8.0, 8.0, 8.0,
        ]);
        assert!(suspicion.share().is_some_and(|share| share > 0.3));
    }

    #[test]
    fn marks_that_come_in_bursts_are_those_of_an_empty_bucket() {
        assert!(after(&[1.0, 20.0, 1.0, 1.0, 18.0, 1.0, 1.0]).share().is_none());
    }

    #[test]
    fn an_estimate_that_has_sunk_for_long_is_searched_for_again_but_ever_more_seldom() {
        let mut suspicion = after(&[2.0; 2]);
        assert!(suspicion.has_sunk(0.0, 700.0, false).is_none());
        assert!(suspicion.has_sunk(1.0, 500.0, false).is_none());
        assert!(suspicion.has_sunk(4.1, 500.0, false).is_some());
        suspicion.searched(4.1);
        suspicion.keep_peak(1000.0, 1.0);
        assert!(suspicion.has_sunk(4.2, 500.0, false).is_none());
        assert!(suspicion.has_sunk(7.0, 500.0, false).is_none());
        assert!(suspicion.has_sunk(7.3, 500.0, false).is_some());
    }

    #[test]
    fn marks_prove_an_estimate_only_if_they_exceed_a_loss() {
        let sunk = |exceed| {
            let mut suspicion = Suspicion::default();
            suspicion.keep_peak(1000.0, 0.0);
            suspicion.marked(false, 400.0);
            suspicion.has_sunk(0.0, 400.0, exceed);
            suspicion.has_sunk(4.0, 400.0, exceed)
        };
        assert!(sunk(true).is_none() && sunk(false).is_some());
    }

    #[test]
    fn clean_dips_prove_the_estimate() {
        let mut suspicion = Suspicion::default();
        suspicion.keep_peak(1000.0, 0.0);
        assert!(!suspicion.is_proven());
        for _ in 0..14 {
            suspicion.hear(25.0, 0.0, 500.0);
        }
        assert!(suspicion.is_proven());
        assert_eq!(suspicion.peak(), Some(500.0));
        assert!(suspicion.has_sunk(0.0, 500.0, false).is_none() && suspicion.has_sunk(9.0, 500.0, false).is_none());
    }

    #[test]
    fn a_capacity_that_fell_all_at_once_has_not_sunk_unless_it_seemed_so_for_a_trial() {
        let sunk = |is_tried: bool| {
            let mut suspicion = Suspicion::default();
            suspicion.keep_peak(1000.0, 0.0);
            if is_tried {
                suspicion.refuted();
            }
            suspicion.explained(400.0);
            suspicion.marked(false, 400.0);
            suspicion.has_sunk(0.0, 400.0, false);
            suspicion.has_sunk(4.0, 400.0, false)
        };
        assert!(sunk(false).is_none() && sunk(true).is_some());
    }
}
