//! What the service can accept: measured from one congestion signal to the next.

/// No span counts as shorter than this, in seconds.
const MIN_SPAN: f64 = 1e-3;

/// Accepted entries from which the end of a search measures anything.
const MIN_ACCEPTED: f64 = 4.0;

/// Signals lower the estimate by at most this share a second, so that a few rejections in a short time do not.
const MAX_DECLINE: f64 = 0.2;

/// The signal after a long time without one lowers the estimate by half at most.
const MIN_REMAINDER: f64 = 0.5;

/// Measurements fade to a third in this many seconds. Longer is steadier, shorter follows changes; half or double makes no difference of
/// 0.5% in any scenario of the bench.
const MEMORY: f64 = 1.0;

/// A guess counts like a measurement of this many seconds, so that the next one soon outweighs it.
const GUESS_SECONDS: f64 = 0.3;

/// Bounds of an estimate in entries a second: the least that can be provisioned, and more than all of AWS accepts.
const MIN_RATE: f64 = 1.0;
const MAX_RATE: f64 = 1e9;

/// The capacity, and what was accepted since the last signal.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    /// Entries a second, once known.
    rate: Option<f64>,
    /// Entries that were accepted between signals, and the seconds between these. At a signal the service has no capacity left, so that
    /// it accepts between two of them exactly what it can.
    measured: f64,
    seconds: f64,
    /// When the service had no capacity left last, as far as known.
    signal_at: Option<f64>,
    /// Entries accepted since.
    accepted: f64,
    /// The highest rate so far.
    highest: f64,
}

impl Estimate {
    pub(super) fn new(initial: Option<f64>) -> Self {
        let mut estimate = Self::default();
        if let Some(rate) = initial {
            estimate.guess(rate);
        }
        estimate
    }

    /// Entries a second, once known.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// The highest that it was.
    pub(super) fn highest(&self) -> f64 {
        self.highest.max(self.rate.unwrap_or(0.0))
    }

    /// Takes this for the capacity until it is measured.
    pub(super) fn guess(&mut self, rate: f64) {
        self.measure_as(rate);
        self.rate = Some(self.measured_rate());
    }

    pub(super) fn observe(&mut self, accepted: f64) {
        self.accepted += accepted;
    }

    /// What was accepted so far says nothing about the time after it.
    pub(super) fn forget_span(&mut self) {
        self.signal_at = None;
        self.accepted = 0.0;
    }

    /// The service had no capacity left then. What it accepted since the last signal is what it can accept.
    pub(super) fn signal(&mut self, seen_at: f64) {
        self.highest = self.highest();
        let seconds = seen_at - self.signal_at.unwrap_or(seen_at);
        if let Some(rate) = self.rate.filter(|_| seconds > 0.0) {
            let weight = (-seconds / MEMORY).exp();
            self.measured = self.measured * weight + self.accepted;
            self.seconds = self.seconds * weight + seconds;
            let measured = self.measured_rate();
            let floor = rate * (1.0 - MAX_DECLINE * seconds).max(MIN_REMAINDER);
            if measured < floor {
                self.measure_as(floor);
            }
            self.rate = Some(measured.max(floor));
        }
        if seconds > 0.0 || self.signal_at.is_none() {
            self.begin_span(seen_at);
        }
    }

    /// A search found that no more than this is accepted between two moments.
    pub(super) fn begin(&mut self, from: f64, until: f64, accepted: f64) {
        if until > from {
            self.measure(accepted, until - from);
        }
        self.begin_span(until);
    }

    /// A call in flight at the end of the search was rejected: what was accepted up to then belongs to the first estimate, too.
    pub(super) fn extend(&mut self, seen_at: f64) {
        if let Some(last) = self.signal_at.filter(|last| *last < seen_at) {
            self.measure(self.accepted, seen_at - last);
            self.begin_span(seen_at);
        }
    }

    /// Ends the first measurement, where `recent` entries a second were accepted lately. Whether there is an estimate now.
    pub(super) fn settle(&mut self, recent: f64) -> bool {
        if self.measured >= MIN_ACCEPTED {
            self.rate = Some(self.measured_rate());
        } else if recent > 0.0 {
            // All rejections came at one moment, so that nothing was measured between them. But no more is accepted than lately.
            self.guess(recent);
        } else {
            return false;
        }
        true
    }

    /// Lowers it by this part of it.
    pub(super) fn lower(&mut self, part: f64) {
        self.highest = self.highest();
        if let Some(rate) = self.rate {
            self.measured *= 1.0 - part;
            self.rate = Some((rate * (1.0 - part)).max(MIN_RATE));
        }
    }

    /// Is at least this from now on.
    pub(super) fn raise_to(&mut self, rate: f64) {
        if self.rate.is_some_and(|estimate| estimate < rate) {
            self.guess(rate);
        }
    }

    /// Goes by the little that was measured.
    pub(super) fn guess_accepted(&mut self) {
        self.guess(self.measured.max(self.accepted) / self.seconds.max(MIN_SPAN));
    }

    /// Whether nothing at all was accepted.
    pub(super) fn has_nothing(&self) -> bool {
        self.accepted <= 0.0 && self.measured <= 0.0
    }

    fn begin_span(&mut self, at: f64) {
        self.signal_at = Some(at);
        self.accepted = 0.0;
    }

    fn measure(&mut self, accepted: f64, seconds: f64) {
        self.measured += accepted;
        self.seconds += seconds;
    }

    fn measure_as(&mut self, rate: f64) {
        self.measured = rate * GUESS_SECONDS;
        self.seconds = GUESS_SECONDS;
    }

    fn measured_rate(&self) -> f64 {
        let rate = self.measured / self.seconds.max(MIN_SPAN);
        if rate.is_finite() {
            rate.clamp(MIN_RATE, MAX_RATE)
        } else {
            MIN_RATE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_about;
    use super::*;

    #[test]
    fn what_is_accepted_from_one_signal_to_the_next_is_the_capacity() {
        let mut estimate = Estimate::new(Some(500.0));
        estimate.signal(1.0);
        for _ in 0..100 {
            estimate.observe(10.0);
        }
        estimate.signal(2.0);
        let rate = estimate.rate().unwrap();
        assert!(
            (850.0..1000.0).contains(&rate),
            "half a second of a guess fades: {rate}"
        );
        for second in 2..20 {
            estimate.observe(1000.0);
            estimate.signal(f64::from(second + 1));
        }
        assert!((estimate.rate().unwrap() - 1000.0).abs() < 1.0);
    }

    #[test]
    fn signals_of_a_service_that_takes_nothing_lower_it_by_a_fifth_in_a_second() {
        let mut estimate = Estimate::new(Some(1000.0));
        estimate.signal(0.0);
        estimate.signal(1.0);
        assert!((estimate.rate().unwrap() - 800.0).abs() < 1e-9);
    }

    #[test]
    fn a_search_that_measured_nothing_goes_by_what_was_accepted_lately() {
        let mut estimate = Estimate::default();
        estimate.begin(1.0, 1.0, 0.0);
        assert!(estimate.has_nothing() && !estimate.settle(0.0));
        assert!(estimate.settle(700.0));
        assert!((estimate.rate().unwrap() - 700.0).abs() < 1e-6);

        let mut slow = Estimate::default();
        slow.begin(1.0, 1.0, 0.0);
        assert!(slow.settle(10.0), "a low rate is a rate, too");
    }

    #[test]
    fn a_signal_weighs_as_much_as_the_time_since_the_one_before() {
        let mut estimate = Estimate::new(Some(1000.0));
        estimate.signal(1.0);
        estimate.observe(500.0);
        estimate.signal(1.5);
        // 0.3 s of a guess, half a second old, and 500 entries in half a second.
        let kept = (-0.5_f64).exp() * 0.3;
        assert_about(estimate.rate().unwrap(), (1000.0 * kept + 500.0) / (kept + 0.5));
        // A signal at the same moment changes nothing.
        estimate.observe(7.0);
        estimate.signal(1.5);
        assert_about(estimate.accepted, 7.0);
    }

    #[test]
    fn a_long_silence_lowers_it_by_half_at_most() {
        let mut estimate = Estimate::new(Some(1000.0));
        estimate.signal(0.0);
        estimate.signal(100.0);
        assert_about(estimate.rate().unwrap(), 500.0);
    }

    #[test]
    fn the_first_estimate_reaches_to_the_last_rejection_of_the_calls_in_flight() {
        let mut estimate = Estimate::default();
        estimate.begin(1.0, 1.1, 100.0);
        estimate.observe(10.0);
        estimate.extend(1.05);
        assert_about(estimate.accepted, 10.0);
        estimate.extend(1.2);
        assert_about(estimate.accepted, 0.0);
        assert_about(estimate.measured, 110.0);
        assert!(estimate.settle(0.0));
        assert_about(estimate.rate().unwrap(), 550.0);
    }

    #[test]
    fn a_guess_counts_like_a_third_of_a_second() {
        let guess = Estimate::new(Some(800.0));
        assert_about(guess.rate().unwrap(), 800.0);
        assert_about(guess.seconds, 0.3);
    }

    #[test]
    fn a_rate_is_always_a_positive_number() {
        for (measured, seconds) in [(0.0, 0.0), (5.0, 0.0), (0.0, 5.0), (f64::MAX, 1e-9)] {
            let estimate = Estimate {
                measured,
                seconds,
                ..Estimate::default()
            };
            let rate = estimate.measured_rate();
            assert!(rate > 0.0 && rate.is_finite(), "{measured} in {seconds} s: {rate}");
        }
    }

    #[test]
    fn it_falls_by_a_part_and_the_next_signals_measure_it_again() {
        let mut estimate = Estimate::new(Some(1000.0));
        estimate.lower(0.3);
        assert_about(estimate.rate().unwrap(), 700.0);
        estimate.signal(0.0);
        for second in 1..20 {
            estimate.observe(1000.0);
            estimate.signal(f64::from(second));
        }
        assert!((estimate.rate().unwrap() - 1000.0).abs() < 1.0);
        Estimate::default().lower(0.5);
    }

    #[test]
    fn a_least_estimate_raises_a_lower_one_alone() {
        let mut estimate = Estimate::new(Some(100.0));
        estimate.raise_to(50.0);
        assert_about(estimate.rate().unwrap(), 100.0);
        estimate.raise_to(300.0);
        assert_about(estimate.rate().unwrap(), 300.0);
    }

    #[test]
    fn a_search_of_which_little_was_accepted_goes_by_that() {
        let mut estimate = Estimate::default();
        estimate.begin(1.0, 1.5, 2.0);
        assert!(!estimate.has_nothing() && !estimate.settle(0.0));
        estimate.guess_accepted();
        assert_about(estimate.rate().unwrap(), 4.0);
    }
}
