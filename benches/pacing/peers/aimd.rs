//! The simplest pace with feedback: additive increase and multiplicative decrease of a rate that all workers share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Outcome, Pace, Retry, Waiter};

/// The factor of the rate after a throttle.
const DECREASE: f64 = 0.9;
/// The increase in each second without a throttle, as a share of the rate.
const INCREASE: f64 = 0.25;
/// The least increase in each second, in entries per second.
const LEAST_INCREASE: f64 = 25.0;
/// The initial rate: a full call in a tenth of a second.
const FIRST: f64 = 250.0;
/// Until the first throttle the rate doubles in this time.
const DOUBLES: f64 = 0.25;
/// All throttles within this many seconds cause one decrease.
const DEAF: f64 = 0.1;
/// Entries that may leave at once.
const DEPTH: f64 = 25.0;

/// Additive increase, multiplicative decrease.
#[derive(Default)]
pub(crate) struct Aimd(Mutex<Option<State>>);

struct State {
    rate: f64,
    tokens: f64,
    at: Instant,
    decreased: Option<Instant>,
}

impl Aimd {
    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn new(now: Instant) -> Self {
        Self {
            rate: FIRST,
            tokens: DEPTH,
            at: now,
            decreased: None,
        }
    }

    fn advance(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.rate = match self.decreased {
            None => self.rate * (passed / DOUBLES).exp2().min(2.0),
            Some(_) => self.rate + (INCREASE * self.rate).max(LEAST_INCREASE) * passed,
        };
        self.tokens = (self.tokens + self.rate * passed).min(DEPTH.max(self.rate / 100.0));
        self.at = now;
    }
}

impl BackoffStrategy for Aimd {
    fn delay(&self, retry: Retry) -> Duration {
        Duration::from_millis(25 << retry.number.min(6))
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Aimd {
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        let mut state = self.state();
        let state = state.get_or_insert_with(|| State::new(now));
        state.advance(now);
        if state.tokens >= 0.0 {
            return Admission::Go(waiter.entries);
        }
        let wait = (-state.tokens / state.rate).max(0.001);
        Admission::WaitUntil(now + Duration::from_secs_f64(wait))
    }

    fn depart(&self, _: Instant, entries: usize) {
        if let Some(state) = self.state().as_mut() {
            state.tokens -= entries as f64;
        }
    }

    fn observe(&self, outcome: &Outcome) {
        if let Some(state) = self.state().as_mut()
            && outcome.throttled > 0
            && state
                .decreased
                .is_none_or(|last| outcome.sent_at > last + Duration::from_secs_f64(DEAF))
        {
            state.rate = (state.rate * DECREASE).max(1.0);
            state.decreased = Some(outcome.answered_at);
        }
    }
}
