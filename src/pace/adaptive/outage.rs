//! The attempts while every call is rejected as a whole.

use std::time::Duration;

use crate::jitter::Jitter;

/// The first gap between two attempts during an outage, in seconds.
const MIN_GAP: f64 = 0.016;

/// The longest gap in seconds, which varies by a quarter: how late it is noticed at most that the service accepts entries again.
const MAX_GAP: f64 = 1.0;

/// The attempts during an outage: single entries, ever more rarely. It is one of throttles: calls without an answer say nothing about the
/// capacity, and the engine's circuit breaker tests when they have one again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outage {
    pub(super) since: f64,
    /// Entries that were in flight as the search before it ended, which is all that is known of the capacity: the service would have
    /// accepted about as many by now. `None` if the capacity is known.
    pub(super) sought: Option<f64>,
    gap: f64,
    next_at: f64,
}

impl Outage {
    pub(super) fn new(now: f64, sought: Option<f64>) -> Self {
        Self {
            since: now,
            sought,
            gap: MIN_GAP,
            next_at: now + MIN_GAP,
        }
    }

    /// Seconds until the next attempt; `None` if it may leave now.
    pub(super) fn wait(&self, now: f64) -> Option<f64> {
        (now < self.next_at).then_some(self.next_at - now)
    }

    /// An attempt leaves. If it is not answered, the next one follows after the longest gap.
    pub(super) fn depart(&mut self, now: f64) {
        self.next_at = now + MAX_GAP;
    }

    /// An attempt was rejected.
    pub(super) fn rejected(&mut self, now: f64, jitter: &Jitter) {
        let gap = Duration::from_secs_f64(self.gap);
        // By a quarter, so that the attempts of many processes spread.
        self.next_at = now + jitter.between(gap * 3 / 4, gap * 5 / 4).as_secs_f64();
        self.gap = (2.0 * self.gap).min(MAX_GAP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_double_up_to_a_second() {
        let jitter = Jitter::seeded(1);
        let mut outage = Outage::new(0.0, None);
        let mut now = 0.0;
        for gap in [0.016, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.0, 1.0] {
            let wait = outage.wait(now).unwrap();
            assert!((0.74 * gap..=1.26 * gap).contains(&wait), "{wait} instead of {gap}");
            now += wait;
            assert!(outage.wait(now + 1e-9).is_none());
            outage.depart(now);
            outage.rejected(now, &jitter);
        }
    }

    #[test]
    fn an_attempt_without_an_answer_is_followed_by_another_after_a_second() {
        let mut outage = Outage::new(0.0, None);
        outage.depart(1.0);
        assert!(outage.wait(1.9).is_some() && outage.wait(2.0).is_none());
    }

    #[test]
    fn it_is_known_since_when_it_lasts() {
        let outage = Outage::new(7.0, None);
        assert!((outage.since - 7.0).abs() < 1e-9);
    }
}
