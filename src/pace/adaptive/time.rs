//! Time in seconds: a clock, and tokens that are earned as time passes.

use std::time::{Duration, Instant};

/// No plan of the pacer looks further ahead. This also bounds waits that are infinite or not a number.
const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// How long a call waits at most before it asks again, in seconds: the pace may have risen meanwhile.
pub(super) const ASK_AGAIN: f64 = 0.02;

/// Unused tokens are kept for so long, in seconds. Longer than the timers of any system are late (15.6 ms), so that no timer costs
/// pace; short, so that a client that was idle does not make up for it in one burst.
pub(super) const BURST: f64 = 0.02;

/// The longest debt, in seconds of the pace. A debt that was made at a high pace is not paid off at a low one that may be wrong: a call of
/// 10,000 log events would wait for minutes. At 50 entries/s this is more than the largest call of the other services.
const MAX_DEBT: f64 = 10.0;

/// Turns moments into seconds since the first one.
#[derive(Debug, Default)]
pub(super) struct Clock {
    origin: Option<Instant>,
    /// The last moment that was the present.
    pub(super) latest: Option<Instant>,
    now: f64,
    /// What is added because clocks were set back, in seconds.
    added: f64,
}

impl Clock {
    /// The present in seconds. It never goes back.
    pub(super) fn now(&mut self, now: Instant) -> f64 {
        self.origin.get_or_insert(now);
        self.latest = Some(now);
        let seconds = self.at(now);
        if seconds < self.now {
            self.added += self.now - seconds;
        } else {
            self.now = seconds;
        }
        self.now
    }

    /// Seconds since the first moment; negative for a moment before it.
    pub(super) fn at(&self, at: Instant) -> f64 {
        let origin = self.origin.unwrap_or(at);
        let since = match at.checked_duration_since(origin) {
            Some(since) => since.as_secs_f64(),
            None => -origin.duration_since(at).as_secs_f64(),
        };
        since + self.added
    }
}

/// The moment `seconds` after `now`.
pub(super) fn after(now: Instant, seconds: f64) -> Instant {
    let wait = Duration::try_from_secs_f64(seconds).unwrap_or(MAX_WAIT).min(MAX_WAIT);
    now.checked_add(wait).unwrap_or(now)
}

/// A token bucket that may be in debt: a call leaves when it is not, and may take more tokens than there are.
#[derive(Debug, Default)]
pub(super) struct TokenBucket {
    tokens: f64,
    earned_at: f64,
}

impl TokenBucket {
    pub(super) fn empty(now: f64) -> Self {
        Self {
            tokens: 0.0,
            earned_at: now,
        }
    }

    /// Adds what the pace has brought up to now. Tokens of `burst` seconds are kept, or a single one.
    pub(super) fn earn(&mut self, now: f64, pace: f64, burst: f64) {
        self.pay_off(now, pace, burst);
        self.tokens = self.tokens.max(-pace * MAX_DEBT);
    }

    /// The same, with debts of any length: for a rate that is certain.
    pub(super) fn pay_off(&mut self, now: f64, pace: f64, burst: f64) {
        let seconds = (now - self.earned_at).max(0.0);
        // A clock that was set back must not stop the earning. What is then earned twice is no more than a burst.
        self.earned_at = now;
        self.tokens = (self.tokens + pace * seconds).min((pace * burst).max(1.0));
    }

    pub(super) fn spend(&mut self, tokens: f64) {
        self.tokens -= tokens;
    }

    /// Gives back what was not used.
    pub(super) fn give_back(&mut self, tokens: f64) {
        self.tokens += tokens;
    }

    /// Takes a token if there is a whole one.
    pub(super) fn take_one(&mut self) -> bool {
        let takes = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(takes));
        takes
    }

    /// Drops what was saved, and keeps debts.
    pub(super) fn drop_saved(&mut self) {
        self.tokens = self.tokens.min(0.0);
    }

    /// Seconds until a call may leave; `None` if it may now.
    pub(super) fn wait(&self, pace: f64) -> Option<f64> {
        (self.tokens < 0.0).then(|| (-self.tokens / pace).min(ASK_AGAIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_the_first_are_negative() {
        let mut clock = Clock::default();
        let now = Instant::now() + Duration::from_secs(10);
        assert!(clock.now(now).abs() < f64::EPSILON);
        assert!((clock.at(now + Duration::from_millis(1500)) - 1.5).abs() < 1e-9);
        assert!((clock.at(now.checked_sub(Duration::from_secs(2)).unwrap()) + 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_present_never_goes_back_and_goes_on_after_a_clock_was_set_back() {
        let mut clock = Clock::default();
        let start = Instant::now() + Duration::from_secs(100);
        let moments = [0, 10, 3, 4, 9, 12].map(|second| clock.now(start + Duration::from_secs(second)));
        for (moment, expected) in moments.into_iter().zip([0.0, 10.0, 10.0, 11.0, 16.0, 19.0]) {
            assert!((moment - expected).abs() < 1e-9, "{moments:?}");
        }
    }

    #[test]
    fn a_wait_that_is_no_duration_is_an_hour() {
        let now = Instant::now();
        assert_eq!(after(now, f64::INFINITY), now + MAX_WAIT);
        assert_eq!(after(now, f64::NAN), now + MAX_WAIT);
        assert_eq!(after(now, 0.25), now + Duration::from_millis(250));
    }

    #[test]
    fn a_chunk_is_paid_off_at_the_pace() {
        let mut bucket = TokenBucket::empty(0.0);
        assert!(bucket.wait(1000.0).is_none());
        bucket.spend(25.0);
        assert!((bucket.wait(10_000.0).unwrap() - 0.0025).abs() < 1e-9);
        assert!((bucket.wait(1000.0).unwrap() - 0.02).abs() < 1e-9);
        bucket.earn(0.025, 1000.0, BURST);
        assert!(bucket.wait(1000.0).is_none());
    }

    #[test]
    fn a_debt_made_at_a_high_pace_is_limited_at_a_low_one() {
        let mut bucket = TokenBucket::empty(0.0);
        bucket.spend(1000.0);
        bucket.earn(0.0, 1.0, BURST);
        bucket.earn(10.0, 1.0, BURST);
        assert!(bucket.wait(1.0).is_none());
    }

    #[test]
    fn only_a_little_is_saved() {
        let mut bucket = TokenBucket::empty(0.0);
        bucket.earn(100.0, 1000.0, BURST);
        bucket.spend(20.0);
        assert!(bucket.wait(1000.0).is_none());
        bucket.spend(1.0);
        assert!(bucket.wait(1000.0).is_some());
    }

    #[test]
    fn a_clock_that_jumps_back_does_not_stop_the_earning() {
        let mut bucket = TokenBucket::empty(10.0);
        bucket.spend(25.0);
        bucket.earn(0.0, 1000.0, BURST);
        assert!((bucket.tokens + 25.0).abs() < 1e-9);
        bucket.earn(0.025, 1000.0, BURST);
        assert!(bucket.wait(1000.0).is_none());
    }
}
