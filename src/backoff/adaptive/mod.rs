//! A pace that follows what the service can take.

mod change;
mod clock;
mod count;
mod credit;
mod estimate;
mod evidence;
mod floor;
mod outage;
mod pacer;
mod parking;
mod recent;
mod retries;
mod rules;
mod schedule;
mod search;
mod spread;
mod suspicion;
mod trial;
mod trip;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pacer::Pacer;
#[doc(hidden)]
pub use rules::Rule;
use rules::Rules;

use super::jitter::Jitter;
use super::{Admission, BackoffStrategy, Outcome, Retry, Waiter};
use crate::invalid::InvalidOption;

/// Paces all workers together by what the service can take, which it measures.
#[derive(Debug)]
pub struct Adaptive {
    rules: Rules,
    jitter: Jitter,
    pacer: Mutex<Pacer>,
}

impl Adaptive {
    fn with(rules: Rules, jitter: Jitter) -> Self {
        Self {
            rules,
            jitter,
            pacer: Mutex::new(Pacer::new(rules)),
        }
    }

    /// Makes the draws repeatable.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self::with(self.rules, Jitter::seeded(seed))
    }

    /// Switches a part off, to see what it buys.
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, rule: Rule) -> Self {
        self.rules.switch_off(rule);
        Self::with(self.rules, self.jitter)
    }

    /// Entries per second that the service can take, as measured; `None` before it has rejected anything.
    pub fn capacity(&self) -> Option<f64> {
        self.lock().capacity()
    }

    /// The share of entries that the service rejects whatever the pace, as measured. 0 when it rejects only what is too
    /// much.
    pub fn loss(&self) -> f64 {
        self.lock().floor()
    }

    // Every step of the pacer leaves a state that is good to go on with, so a poisoned lock is.
    fn lock(&self) -> MutexGuard<'_, Pacer> {
        self.pacer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Adaptive {
    fn default() -> Self {
        Self::with(Rules::default(), Jitter::default())
    }
}

impl BackoffStrategy for Adaptive {
    fn rest(&self, retry: Retry) -> Duration {
        if !self.rules.has(Rule::Parking) {
            return Duration::ZERO;
        }
        let unlucky = self.lock().retries_are_unlucky();
        parking::rest(retry, unlucky, &self.jitter)
    }

    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        self.lock().admit(now, waiter)
    }

    fn depart(&self, now: Instant, entries: usize) {
        self.lock().depart(now, entries);
    }

    fn observe(&self, outcome: &Outcome) {
        self.lock().observe(outcome, &self.jitter);
    }

    fn reset(&self) {
        *self.lock() = Pacer::new(self.rules);
    }
}
