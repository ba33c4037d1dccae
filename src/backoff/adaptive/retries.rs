//! Whether entries that were rejected once are rejected again.

/// Retries that the share is reckoned over.
const MEMORY: f64 = 50.0;

/// How retries fare.
#[derive(Debug, Default)]
pub(super) struct Retries {
    sent: f64,
    rejected: f64,
}

impl Retries {
    pub(super) fn hear(&mut self, sent: f64, rejected: f64) {
        self.sent += sent;
        self.rejected += rejected;
        if self.sent > MEMORY {
            let weight = MEMORY / self.sent;
            self.sent *= weight;
            self.rejected *= weight;
        }
    }

    /// Whether far more of them are rejected than of all entries, so that it is the entries' own fault.
    pub(super) fn fail_more_than(&self, share: f64) -> bool {
        self.rejected > 0.5 * (1.0 + share) * self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_that_fare_like_all_entries_are_not_at_fault() {
        let mut retries = Retries::default();
        (0..100).for_each(|_| retries.hear(10.0, 3.0));
        assert!(!retries.fail_more_than(0.3));
        (0..10).for_each(|_| retries.hear(10.0, 10.0));
        assert!(retries.fail_more_than(0.3));
    }
}
