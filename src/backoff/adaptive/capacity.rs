//! What the service can take: measured from one congestion signal to the next.

use super::answer::Answer;
use super::estimate::Estimate;

/// No time is measured more finely than this, in seconds.
const LEAST_SPAN: f64 = 1e-3;

/// Accepted entries that are worth an estimate at the end of a search.
const WORTH: f64 = 4.0;

/// Signals lower the estimate by at most so much a second, as a share: rejections that do not depend on the pace would pull it
/// down for ever. A capacity that falls faster is found by a probe.
const DECLINE: f64 = 0.02;

/// The capacity, and what is known since the last signal.
#[derive(Debug, Default)]
pub(super) struct Capacity {
    /// Entries a second, when known.
    rate: Option<f64>,
    estimate: Estimate,
    /// When the service had no capacity left last, as far as known.
    signal_at: Option<f64>,
    /// Entries accepted since.
    accepted: f64,
}

impl Capacity {
    pub(super) fn new(initial: Option<f64>) -> Self {
        let mut capacity = Self::default();
        if let Some(rate) = initial {
            capacity.guess(rate);
        }
        capacity
    }

    /// Entries a second, when known.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Takes a rate for the capacity until it is measured.
    pub(super) fn guess(&mut self, rate: f64) {
        self.estimate = Estimate::guessed(rate, f64::INFINITY);
        self.rate = Some(self.estimate.rate_over(LEAST_SPAN));
    }

    pub(super) fn hear(&mut self, answer: &Answer) {
        self.accepted += answer.accepted;
    }

    /// What was accepted so far says nothing of the time after it.
    pub(super) fn forget_stretch(&mut self) {
        self.signal_at = None;
        self.accepted = 0.0;
    }

    /// The service had no capacity left then. What it accepted since the last signal is what it can take.
    pub(super) fn signal(&mut self, seen_at: f64) {
        let seconds = seen_at - self.signal_at.unwrap_or(seen_at);
        if let Some(rate) = self.rate.filter(|_| seconds > 0.0) {
            self.estimate.add_fading(self.accepted, seconds);
            let measured = self.estimate.rate_over(LEAST_SPAN);
            let floor = rate * (1.0 - DECLINE * seconds).max(0.5);
            if measured < floor {
                self.estimate = Estimate::guessed(floor, f64::INFINITY);
            }
            self.rate = Some(measured.max(floor));
        }
        if seconds > 0.0 || self.signal_at.is_none() {
            self.signal_at = Some(seen_at);
            self.accepted = 0.0;
        }
    }

    /// A search found that no more is accepted than this between two moments.
    pub(super) fn begin(&mut self, from: f64, until: f64, accepted: f64) {
        if until > from {
            self.estimate.add(accepted, until - from);
        }
        self.signal_at = Some(until);
        self.accepted = 0.0;
    }

    /// What was accepted up to a rejection belongs to the first estimate, too.
    pub(super) fn extend(&mut self, seen_at: f64) {
        if let Some(last) = self.signal_at.filter(|last| *last < seen_at) {
            self.estimate.add(self.accepted, seen_at - last);
            self.signal_at = Some(seen_at);
            self.accepted = 0.0;
        }
    }

    /// The first estimate is complete, where `recent` is what was accepted lately, in entries a second. Whether it is worth
    /// anything.
    pub(super) fn settle(&mut self, recent: f64) -> bool {
        let is_measured = self.estimate.entries() >= WORTH;
        if !is_measured && recent > 0.0 {
            // The last rejections came at one moment, so that nothing was measured between them. But no more is accepted than
            // what was accepted lately.
            self.estimate = Estimate::guessed(recent, f64::INFINITY);
        }
        let is_worth = is_measured || recent > 0.0;
        if is_worth {
            self.rate = Some(self.estimate.rate_over(LEAST_SPAN));
        }
        is_worth
    }

    /// Nothing at all was accepted since the search began to look.
    pub(super) fn has_nothing(&self) -> bool {
        self.accepted <= 0.0 && self.estimate.entries() <= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::assert_about;
    use super::*;

    fn answer(seen_at: f64, accepted: f64, rejected: f64) -> Answer {
        Answer {
            sent_at: seen_at,
            seen_at,
            now: seen_at,
            sent: accepted + rejected,
            accepted,
            rejected,
            fresh: accepted + rejected,
            fresh_rejected: rejected,
        }
    }

    #[test]
    fn what_is_accepted_from_one_signal_to_the_next_is_the_capacity() {
        let mut capacity = Capacity::new(Some(500.0));
        capacity.signal(1.0);
        for tick in 1..=100 {
            capacity.hear(&answer(1.0 + f64::from(tick) / 100.0, 10.0, 0.0));
        }
        capacity.signal(2.0);
        let rate = capacity.rate().unwrap();
        assert!(
            (850.0..1000.0).contains(&rate),
            "half a second of a guess fades: {rate}"
        );
        for second in 2..20 {
            capacity.hear(&answer(f64::from(second) + 0.5, 1000.0, 0.0));
            capacity.signal(f64::from(second + 1));
        }
        assert!((capacity.rate().unwrap() - 1000.0).abs() < 1.0);
    }

    #[test]
    fn signals_of_a_service_that_takes_nothing_lower_it_by_two_percent_a_second() {
        let mut capacity = Capacity::new(Some(1000.0));
        capacity.signal(0.0);
        capacity.signal(1.0);
        assert!((capacity.rate().unwrap() - 980.0).abs() < 1e-9);
    }

    #[test]
    fn a_search_that_measured_nothing_goes_by_what_was_accepted_lately() {
        let mut capacity = Capacity::default();
        capacity.begin(1.0, 1.0, 0.0);
        assert!(capacity.has_nothing() && !capacity.settle(0.0));
        assert!(capacity.settle(700.0));
        assert!((capacity.rate().unwrap() - 700.0).abs() < 1e-6);

        let mut slow = Capacity::default();
        slow.begin(1.0, 1.0, 0.0);
        assert!(slow.settle(10.0), "a low rate is a rate, too");
    }

    #[test]
    fn a_signal_weighs_as_much_as_the_time_since_the_one_before() {
        let mut capacity = Capacity::new(Some(1000.0));
        capacity.signal(1.0);
        capacity.hear(&answer(1.1, 500.0, 0.0));
        capacity.signal(1.5);
        // 0.3 s of a guess, half a second old, and 500 entries in half a second.
        let kept = (-0.5_f64).exp() * 0.3;
        assert_about(capacity.rate().unwrap(), (1000.0 * kept + 500.0) / (kept + 0.5));
        // A signal at the same moment changes nothing.
        capacity.hear(&answer(1.6, 7.0, 0.0));
        capacity.signal(1.5);
        assert_about(capacity.accepted, 7.0);
    }

    #[test]
    fn a_long_silence_lowers_it_by_half_at_most() {
        let mut capacity = Capacity::new(Some(1000.0));
        capacity.signal(0.0);
        capacity.signal(100.0);
        assert_about(capacity.rate().unwrap(), 500.0);
    }

    #[test]
    fn the_first_estimate_reaches_to_the_last_rejection_of_the_calls_in_flight() {
        let mut capacity = Capacity::default();
        capacity.begin(1.0, 1.1, 100.0);
        capacity.hear(&answer(1.05, 10.0, 0.0));
        capacity.extend(1.05);
        assert_about(capacity.accepted, 10.0);
        capacity.extend(1.2);
        assert_about(capacity.accepted, 0.0);
        assert_about(capacity.estimate.entries(), 110.0);
        assert!(capacity.settle(0.0));
        assert_about(capacity.rate().unwrap(), 550.0);
    }
}
