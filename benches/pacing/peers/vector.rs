//! Vector's adaptive request concurrency: additive increase and multiplicative decrease of the requests in flight, steered by
//! their round trips.
//!
//! Modelled after Vector's documentation of the feature and the public source of its controller and retry policy, in their
//! state of 2026, with the documented defaults:
//!
//! - one request in flight at first, 200 at most;
//! - once in each mean round trip: if the limit was reached without back pressure, and the mean round trip since the last time is
//!   not above the moving average (weight 0.4), one more; after back pressure, or if the mean is 2.5 deviations or more above the
//!   average, 0.9 times as many;
//! - a request that waits for its retry stays in flight; retries wait a uniform part of 1, 2, 3, 5, 8, 13, 21, 30 s.
//!
//! A request that failed as a whole is back pressure. One that failed in part is retried in part; it is neither back pressure nor
//! a measurement of the round trip.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Outcome, Pace, Retry, Waiter};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::answered::Answered;

/// The most requests in flight.
const MOST: usize = 200;
/// The factor of the limit after back pressure.
const DECREASE: f64 = 0.9;
/// Weight of a new mean in the moving average.
const ALPHA: f64 = 0.4;
/// Deviations above the average that count as back pressure.
const DEVIATIONS: f64 = 2.5;
/// The longest wait before a retry in seconds.
const LONGEST: u64 = 30;

/// Adaptive request concurrency.
pub(crate) struct VectorConcurrency {
    controller: Mutex<Controller>,
}

struct Controller {
    began: Option<Instant>,
    random: SmallRng,
    answered: Answered,
    limit: usize,
    in_flight: usize,
    /// When requests that wait for their retry stop waiting.
    retries: Vec<f64>,
    /// The moving average and variance of the round trip.
    past: Option<(f64, f64)>,
    next_update: f64,
    /// Sum and count of the round trips since the last update.
    present: (f64, u32),
    pushed_back: bool,
    reached_limit: bool,
}

impl VectorConcurrency {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            controller: Mutex::new(Controller {
                began: None,
                random: SmallRng::seed_from_u64(seed),
                answered: Answered::default(),
                limit: 1,
                in_flight: 0,
                retries: Vec::new(),
                past: None,
                next_update: 0.0,
                present: (0.0, 0),
                pushed_back: false,
                reached_limit: false,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Controller> {
        self.controller.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Controller {
    fn seconds(&mut self, now: Instant) -> f64 {
        let began = *self.began.get_or_insert(now);
        now.saturating_duration_since(began).as_secs_f64()
    }

    /// Requests in flight, with those that wait for their retry.
    fn held(&mut self, now: f64) -> usize {
        self.retries.retain(|until| *until > now);
        self.in_flight + self.retries.len()
    }

    fn update(&mut self, now: f64) {
        let (sum, count) = self.present;
        let mean = (count > 0).then(|| sum / f64::from(count));
        let Some((average, variance)) = self.past else {
            if let Some(mean) = mean {
                self.past = Some((mean, 0.0));
                self.next_update = now + mean;
            }
            return;
        };
        if now < self.next_update {
            return;
        }
        let threshold = average + DEVIATIONS * variance.sqrt();
        if self.limit < MOST && self.reached_limit && !self.pushed_back && mean.is_some_and(|mean| mean <= average) {
            self.limit += 1;
        } else if self.limit > 1 && (self.pushed_back || mean.unwrap_or(0.0) >= threshold) {
            self.limit = ((self.limit as f64 * DECREASE) as usize).max(1);
        }
        let mut average = average;
        if let Some(mean) = mean {
            let difference = mean - average;
            average += ALPHA * difference;
            let variance = (1.0 - ALPHA) * (variance + ALPHA * difference * difference);
            self.past = Some((average, variance));
        }
        self.next_update = now + average;
        self.present = (0.0, 0);
        self.pushed_back = false;
        self.reached_limit = false;
    }
}

impl BackoffStrategy for VectorConcurrency {
    fn delay(&self, retry: Retry) -> Duration {
        let (mut previous, mut seconds) = (1, 1);
        for _ in 1..retry.number.min(10) {
            (previous, seconds) = (seconds, previous + seconds);
        }
        let mut controller = self.lock();
        let rest = seconds.min(LONGEST) as f64 * controller.random.random::<f64>();
        let waits = controller.answered.current().map(|call| {
            let first = !call.asked;
            call.asked = true;
            (call.at, first)
        });
        if let Some((at, true)) = waits {
            controller.retries.push(at + rest);
        }
        Duration::from_secs_f64(rest)
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for VectorConcurrency {
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        let mut controller = self.lock();
        let moment = controller.seconds(now);
        if controller.held(moment) < controller.limit {
            return Admission::Go(waiter.entries);
        }
        let next = controller.retries.iter().copied().fold(f64::INFINITY, f64::min);
        let seconds = (next - moment).clamp(0.001, 60.0);
        Admission::WaitUntil(now + Duration::from_secs_f64(seconds))
    }

    fn depart(&self, now: Instant, _: usize) {
        let mut controller = self.lock();
        let moment = controller.seconds(now);
        controller.in_flight += 1;
        if controller.held(moment) >= controller.limit {
            controller.reached_limit = true;
        }
    }

    fn observe(&self, outcome: &Outcome) {
        let mut controller = self.lock();
        let now = controller.seconds(outcome.answered_at);
        controller.in_flight -= 1;
        let throttled = outcome.throttled == outcome.sent;
        controller.pushed_back |= throttled;
        if outcome.accepted == outcome.sent {
            let trip = outcome.answered_at.saturating_duration_since(outcome.sent_at);
            controller.present.0 += trip.as_secs_f64();
            controller.present.1 += 1;
            // A sequence of attempts has ended.
            controller.update(now);
        }
        controller.answered.push(now, throttled);
    }

    fn cooldown(&self) -> Duration {
        self.lock().answered.pop();
        Duration::ZERO
    }
}
