//! What the service can take, from mark to mark.

/// How long a stretch between two marks counts, in seconds: its weight falls to a third in that time. Longer is steadier,
/// shorter follows a capacity that changes; half or double of it makes no difference of 0.5% in any scenario.
const MEMORY: f64 = 1.0;

/// The longest time that vouches for an estimate after the capacity has changed, in seconds. What comes next then
/// soon outweighs it.
const EVIDENCE: f64 = 0.3;

/// Bounds of a rate in entries a second, so that no arithmetic leaves the numbers: one, the least that can be
/// provisioned, and more than all of AWS takes.
const LOWEST: f64 = 1.0;
const HIGHEST: f64 = 1e9;

/// Accepted entries, and the time in which the service accepted them, of stretches that began and ended with an empty
/// bucket. In such a stretch the service accepts exactly what it can.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Estimate {
    accepted: f64,
    seconds: f64,
}

impl Estimate {
    /// An estimate that the next stretch may well overrule.
    pub(super) fn guessed(rate: f64, seconds: f64) -> Self {
        let seconds = seconds.clamp(0.0, EVIDENCE);
        Self {
            accepted: rate * seconds,
            seconds,
        }
    }

    /// One more stretch, from which older ones fade.
    pub(super) fn add_fading(&mut self, accepted: f64, seconds: f64) {
        let weight = (-seconds / MEMORY).exp();
        self.accepted *= weight;
        self.seconds *= weight;
        self.add(accepted, seconds);
    }

    /// One more stretch.
    pub(super) fn add(&mut self, accepted: f64, seconds: f64) {
        self.accepted += accepted;
        self.seconds += seconds;
    }

    /// Entries that vouch for it.
    pub(super) fn entries(&self) -> f64 {
        self.accepted
    }

    /// Entries a second, reckoned over `least` seconds if it is shorter.
    pub(super) fn rate_over(&self, least: f64) -> f64 {
        let rate = self.accepted / self.seconds.max(least);
        if rate.is_finite() {
            rate.clamp(LOWEST, HIGHEST)
        } else {
            LOWEST
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_stretch_weighs_more_and_an_older_one_less() {
        let mut estimate = Estimate::default();
        estimate.add_fading(1000.0, 1.0);
        estimate.add_fading(500.0, 1.0);
        let faded = (-1.0_f64).exp();
        let expected = (1000.0 * faded + 500.0) / (faded + 1.0);
        assert!((estimate.rate_over(0.0) - expected).abs() < 1e-9);
    }

    #[test]
    fn a_guess_keeps_its_rate_and_is_vouched_for_by_little() {
        let guess = Estimate::guessed(800.0, 5.0);
        assert!((guess.rate_over(0.0) - 800.0).abs() < 1e-9);
        assert!((guess.seconds - 0.3).abs() < 1e-9);
    }

    #[test]
    fn a_rate_is_always_a_positive_number() {
        for (accepted, seconds) in [(0.0, 0.0), (5.0, 0.0), (0.0, 5.0), (f64::MAX, 1e-9)] {
            let mut estimate = Estimate::default();
            estimate.add(accepted, seconds);
            let rate = estimate.rate_over(0.0);
            assert!(rate > 0.0 && rate.is_finite(), "{accepted} in {seconds} s: {rate}");
        }
    }
}
