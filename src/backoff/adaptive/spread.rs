//! Whether rejections are spread over the calls as by chance.

/// What the sum of the squared deviations, in variances, must exceed to be no chance, and how much more for each call: an
/// upper bound of the 99.9th percentile of the chi-squared distribution. An empty bucket rejects most of one call and
/// nothing of the next; chance rejects a little of each.
const BURSTS: f64 = 10.0;
const BURSTS_PER_CALL: f64 = 2.0;

/// Calls that count when older ones fade.
const MEMORY: f64 = 20.0;

/// The rejections of some calls.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spread {
    calls: f64,
    sent: f64,
    rejected: f64,
    /// The sum of the squares of the rejections, each divided by the entries of its call.
    squares: f64,
}

impl Spread {
    pub(super) fn hear(&mut self, sent: f64, rejected: f64) {
        if sent > 0.0 {
            self.calls += 1.0;
            self.sent += sent;
            self.rejected += rejected;
            self.squares += rejected * rejected / sent;
        }
    }

    /// Older calls count less: about [`MEMORY`] of them count.
    pub(super) fn fade(&mut self) {
        let weight = 1.0 - 1.0 / MEMORY;
        self.calls *= weight;
        self.sent *= weight;
        self.rejected *= weight;
        self.squares *= weight;
    }

    pub(super) fn share(&self) -> f64 {
        self.rejected / self.sent.max(1.0)
    }

    pub(super) fn sent(&self) -> f64 {
        self.sent
    }

    pub(super) fn rejected(&self) -> f64 {
        self.rejected
    }

    /// Whether they come in bursts, and not as by chance (Pearson's test).
    pub(super) fn comes_in_bursts(&self) -> bool {
        let share = self.share();
        let variance = share * (1.0 - share);
        let bound = BURSTS + BURSTS_PER_CALL * self.calls;
        variance > 0.0 && self.squares - self.rejected * share > bound * variance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(rejections: &[f64]) -> Spread {
        let mut spread = Spread::default();
        for rejected in rejections {
            spread.hear(25.0, *rejected);
        }
        spread
    }

    #[test]
    fn a_few_of_each_call_are_chance() {
        assert!(!spread(&[2.0, 4.0, 1.0, 3.0, 2.0, 5.0, 0.0, 3.0]).comes_in_bursts());
        assert!(!spread(&[0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0]).comes_in_bursts());
    }

    #[test]
    fn most_of_one_call_and_nothing_of_the_others_is_a_burst() {
        assert!(spread(&[0.0, 0.0, 14.0, 0.0, 0.0, 6.0, 0.0, 0.0]).comes_in_bursts());
        assert!(spread(&[0.0, 25.0, 0.0, 25.0]).comes_in_bursts());
    }

    #[test]
    fn nothing_or_everything_is_no_burst() {
        assert!(!spread(&[0.0, 0.0]).comes_in_bursts());
        assert!(!spread(&[25.0, 25.0]).comes_in_bursts());
        assert!(!Spread::default().comes_in_bursts());
    }
}
