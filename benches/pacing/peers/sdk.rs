//! The adaptive retry mode of the AWS SDKs: a token bucket for calls, whose rate follows CUBIC.
//!
//! Modelled after the retry behaviour in the AWS SDKs and Tools Reference Guide ("adaptive") and the public source of
//! `aws-smithy-runtime` 1.16 (`client_rate_limiter`, `strategy::standard`, `token_bucket`), retry specification 2.1:
//!
//! - no limit before the first throttle; from then on each call takes one token, and waits for it;
//! - the rate of calls is measured over half seconds and smoothed (0.8 of it new);
//! - a throttle sets the rate to 0.7 of the measured one or of the limit, whichever is lower; a success sets it to
//!   0.4 · (t - w)³ + the rate at the last throttle, with w = cube root of 0.3 · that rate / 0.4; never above twice the measured
//!   rate, never below 0.5 a second; the bucket holds one second;
//! - a throttled call is tried up to three times, after a uniform part of 1 s and 2 s, as long as the quota of 500 lasts
//!   (5 a retry, 1 back for a success, 5 for one of a retry).
//!
//! A throttle is a call that failed as a whole. A call with leftovers is a success to the SDK: the application sends them again
//! at once, as it does after a call that failed permanently.
//!
//! Simplified: an entry's rejections count as the attempts of its call, because calls are packed again for each attempt.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Outcome, Pace, Retry, Waiter};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::answered::Answered;

/// The factor of the rate after a throttle.
const BETA: f64 = 0.7;
/// How steeply the rate grows.
const SCALE: f64 = 0.4;
/// The weight of a new measurement.
const SMOOTH: f64 = 0.8;
/// The least rate, in calls per second.
const LEAST_RATE: f64 = 0.5;
/// The least capacity of the bucket, in tokens.
const LEAST_DEPTH: f64 = 1.0;
/// Attempts of one call.
const ATTEMPTS: u32 = 3;
/// The longest backoff in seconds.
const LONGEST: f64 = 20.0;
/// Retry tokens of a client.
const QUOTA: f64 = 500.0;
/// Retry tokens for one retry.
const RETRY_COST: f64 = 5.0;

/// The adaptive retry mode of the AWS SDKs.
pub(crate) struct SdkAdaptive {
    limiter: Mutex<Limiter>,
}

struct Limiter {
    began: Option<Instant>,
    random: SmallRng,
    answered: Answered,
    quota: f64,
    /// From the first throttle on.
    enabled: bool,
    /// Calls a second.
    rate: f64,
    depth: f64,
    tokens: f64,
    filled_at: f64,
    measured: f64,
    /// The half second that is being counted.
    half_second: f64,
    calls: u32,
    rate_at_throttle: f64,
    throttled_at: f64,
}

impl SdkAdaptive {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            limiter: Mutex::new(Limiter {
                began: None,
                random: SmallRng::seed_from_u64(seed),
                answered: Answered::default(),
                quota: QUOTA,
                enabled: false,
                rate: 0.0,
                depth: 0.0,
                tokens: 0.0,
                filled_at: 0.0,
                measured: LEAST_RATE,
                half_second: 0.0,
                calls: 0,
                rate_at_throttle: 0.0,
                throttled_at: 0.0,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Limiter> {
        self.limiter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Limiter {
    fn seconds(&mut self, now: Instant) -> f64 {
        let began = *self.began.get_or_insert(now);
        now.saturating_duration_since(began).as_secs_f64()
    }

    fn refill(&mut self, now: f64) {
        self.tokens = (self.tokens + self.rate * (now - self.filled_at)).min(self.depth);
        self.filled_at = now;
    }

    fn measure(&mut self, now: f64) {
        let half_second = (now * 2.0).floor() / 2.0;
        self.calls += 1;
        if half_second > self.half_second {
            let rate = f64::from(self.calls) / (half_second - self.half_second);
            self.measured = rate * SMOOTH + self.measured * (1.0 - SMOOTH);
            self.calls = 0;
            self.half_second = half_second;
        }
    }

    fn answer(&mut self, now: f64, throttled: bool) {
        self.measure(now);
        let rate = if throttled {
            let rate = if self.enabled {
                self.measured.min(self.rate)
            } else {
                self.measured
            };
            self.rate_at_throttle = rate;
            self.throttled_at = now;
            self.enabled = true;
            rate * BETA
        } else {
            let window = (self.rate_at_throttle * (1.0 - BETA) / SCALE).cbrt();
            SCALE * (now - self.throttled_at - window).powi(3) + self.rate_at_throttle
        };
        let rate = rate.min(2.0 * self.measured);
        self.refill(now);
        self.rate = rate.max(LEAST_RATE);
        self.depth = rate.max(LEAST_DEPTH);
        self.tokens = self.tokens.min(self.depth);
    }
}

impl BackoffStrategy for SdkAdaptive {
    fn delay(&self, retry: Retry) -> Duration {
        let mut limiter = self.lock();
        let attempt = (retry.number - 1) % ATTEMPTS + 1;
        let Some(call) = limiter.answered.current() else {
            return Duration::ZERO;
        };
        let (throttled, first) = (call.throttled, !call.asked);
        call.asked = true;
        if !throttled || attempt == ATTEMPTS {
            return Duration::ZERO;
        }
        if first {
            if limiter.quota < RETRY_COST {
                return Duration::ZERO;
            }
            limiter.quota -= RETRY_COST;
        }
        let most = f64::from(1_u32 << (attempt - 1)).min(LONGEST);
        Duration::from_secs_f64(most * limiter.random.random::<f64>())
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for SdkAdaptive {
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        let mut limiter = self.lock();
        let moment = limiter.seconds(now);
        if !limiter.enabled {
            return Admission::Go(waiter.entries);
        }
        limiter.refill(moment);
        if limiter.tokens >= 1.0 {
            return Admission::Go(waiter.entries);
        }
        let seconds = (1.0 - limiter.tokens) / limiter.rate;
        // The timers have a resolution of a millisecond.
        Admission::WaitUntil(now + Duration::from_secs_f64(seconds.max(0.001)))
    }

    fn depart(&self, now: Instant, _: usize) {
        let mut limiter = self.lock();
        let moment = limiter.seconds(now);
        if limiter.enabled {
            limiter.refill(moment);
            limiter.tokens -= 1.0;
        }
    }

    fn observe(&self, outcome: &Outcome) {
        let mut limiter = self.lock();
        let now = limiter.seconds(outcome.answered_at);
        let throttled = outcome.throttled == outcome.sent;
        limiter.answer(now, throttled);
        if outcome.accepted > 0 {
            let back = if outcome.fresh > 0 { 1.0 } else { RETRY_COST };
            limiter.quota = (limiter.quota + back).min(QUOTA);
        }
        limiter.answered.push(now, throttled);
    }

    fn cooldown(&self) -> Duration {
        self.lock().answered.pop();
        Duration::ZERO
    }
}
