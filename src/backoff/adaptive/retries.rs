//! Whether entries that were rejected once are rejected again and again, so that it is their own fault.

/// Entries over which either share is reckoned. Of retries there are few, so that less must do.
const FRESH_MEMORY: f64 = 200.0;
const MEMORY: f64 = 50.0;

/// Retries are at fault when this many times the share of the fresh entries is rejected, and this much on top.
const TIMES: f64 = 2.0;
const MARGIN: f64 = 0.5;

/// Within this much on top it is mere chance.
const SLACK: f64 = 0.1;

/// So many retries at least must have been heard of.
const ENOUGH: f64 = 15.0;

/// Fresh entries are rejected often when more than this share is.
const OFTEN: f64 = 0.06;

/// How fresh entries and how retries fare.
#[derive(Debug, Default)]
pub(super) struct Retries {
    fresh: Share,
    retries: Share,
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
        self.fresh.hear(fresh.0, fresh.1, FRESH_MEMORY);
        self.retries.hear(retries.0, retries.1, MEMORY);
    }

    /// Whether retries fail for the same reason as fresh entries do: it is mere chance whom it hits.
    pub(super) fn are_unlucky(&self) -> bool {
        let fresh = self.fresh.get();
        fresh > OFTEN && self.retries.get() <= TIMES * fresh + SLACK
    }

    /// Whether far more of the retries are rejected than of the fresh entries.
    pub(super) fn are_at_fault(&self) -> bool {
        self.retries.sent > ENOUGH && self.retries.get() > TIMES * self.fresh.get() + MARGIN
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
}
