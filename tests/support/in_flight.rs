//! A strategy that lets few entries be in flight at once.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Exponential, Outcome, Pace, Retry, Waiter};

/// A wait that is over after every bound: it has to end with a call.
const FAR: Duration = Duration::from_hours(10);

/// At most this many entries in flight, and the default delays.
pub(crate) struct InFlight {
    most: usize,
    now: Mutex<usize>,
    delays: Exponential,
}

impl InFlight {
    pub(crate) fn at_most(most: usize) -> Self {
        Self {
            most,
            now: Mutex::new(0),
            delays: Exponential::default(),
        }
    }
}

impl BackoffStrategy for InFlight {
    fn delay(&self, retry: Retry) -> Duration {
        self.delays.delay(retry)
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for InFlight {
    fn admit(&self, now: Instant, _: &Waiter) -> Admission {
        let free = self.most - *self.now.lock().unwrap();
        if free > 0 {
            Admission::Go(free)
        } else {
            Admission::WaitUntil(now + FAR)
        }
    }

    fn depart(&self, _: Instant, entries: usize) {
        *self.now.lock().unwrap() += entries;
    }

    fn observe(&self, outcome: &Outcome) {
        *self.now.lock().unwrap() -= outcome.sent;
    }
}
