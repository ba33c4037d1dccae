//! Strategies that do not depend on timers.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::backoff::{Admission, BackoffStrategy, Outcome, Pace, Retry, Waiter};

/// A wait that ends in no execution: a waiter has to be woken by the end of a call.
const FAR: Duration = Duration::from_hours(1);

/// Limits the entries in flight.
pub(super) struct Limited {
    pub(super) most: usize,
    pub(super) state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) in_flight: usize,
    /// The entries of each waiter that was let through.
    pub(super) admitted: Vec<usize>,
}

impl Limited {
    pub(super) fn to(most: usize) -> Self {
        Self {
            most,
            state: Mutex::default(),
        }
    }
}

impl BackoffStrategy for Limited {
    fn delay(&self, _: Retry) -> Duration {
        Duration::ZERO
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Limited {
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        let mut state = self.state.lock().unwrap();
        if state.in_flight < self.most {
            state.admitted.push(waiter.entries);
            Admission::Go(1)
        } else {
            Admission::WaitUntil(now + FAR)
        }
    }

    fn depart(&self, _: Instant, entries: usize) {
        let mut state = self.state.lock().unwrap();
        state.in_flight += entries;
        assert!(state.in_flight <= self.most, "two calls left on one permit");
    }

    fn observe(&self, outcome: &Outcome) {
        self.state.lock().unwrap().in_flight -= outcome.sent;
    }
}

/// Lets one call leave in each interval.
pub(super) struct Paced {
    pub(super) interval: Duration,
    next: Mutex<Option<Instant>>,
}

impl Paced {
    pub(super) fn by(interval: Duration) -> Self {
        Self {
            interval,
            next: Mutex::default(),
        }
    }
}

impl BackoffStrategy for Paced {
    fn delay(&self, _: Retry) -> Duration {
        self.interval
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Paced {
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        match *self.next.lock().unwrap() {
            Some(next) if next > now => Admission::WaitUntil(next),
            _ => Admission::Go(waiter.entries),
        }
    }

    fn depart(&self, now: Instant, _: usize) {
        *self.next.lock().unwrap() = Some(now + self.interval);
    }
}

/// Lets no call leave until it is reset.
#[derive(Default)]
pub(super) struct Closed(Mutex<bool>);

impl BackoffStrategy for Closed {
    fn delay(&self, _: Retry) -> Duration {
        Duration::ZERO
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for Closed {
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        if *self.0.lock().unwrap() {
            Admission::Go(waiter.entries)
        } else {
            Admission::WaitUntil(now + FAR)
        }
    }

    fn reset(&self) {
        *self.0.lock().unwrap() = true;
    }
}
