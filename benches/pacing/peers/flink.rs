//! Apache Flink's asynchronous sinks (those for DynamoDB, Kinesis and SQS): additive increase and multiplicative decrease of
//! the messages in flight.
//!
//! Modelled after the documentation of the sink API's default `CongestionControlRateLimitingStrategy` with
//! `AIMDScalingStrategy`, Flink 1.16 and later:
//!
//! - a request leaves when its messages fit into the limit of messages in flight;
//! - a batch is never larger than that limit;
//! - a request without failures raises the limit by 10, one with any failure halves it, down to 1;
//! - the limit begins at one batch, and ends at one batch for each request that may be in flight;
//! - failed entries go to the head of the buffer, and leave with the next request, without a delay.
//!
//! Not modelled: the buffer's bounds and its flush timer, which matter when the input is slow.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Outcome, Pace, Retry, Waiter};

/// Messages by which the limit rises.
const INCREASE: usize = 10;

/// The longest wait. A waiter is asked again after every answer, and there is always one in flight.
const PATIENCE: Duration = Duration::from_mins(1);

/// The rate limiting strategy of Flink's asynchronous sinks.
pub(crate) struct FlinkAimd {
    window: Mutex<Window>,
    most: usize,
}

struct Window {
    limit: usize,
    in_flight: usize,
}

impl FlinkAimd {
    /// For requests of `batch` messages, of which `requests` may be in flight.
    pub(crate) fn new(batch: usize, requests: usize) -> Self {
        Self {
            window: Mutex::new(Window {
                limit: batch,
                in_flight: 0,
            }),
            most: batch * requests,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BackoffStrategy for FlinkAimd {
    fn delay(&self, _: Retry) -> Duration {
        Duration::ZERO
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for FlinkAimd {
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        let window = self.lock();
        let batch = waiter.entries.min(window.limit);
        if window.in_flight + batch > window.limit {
            Admission::WaitUntil(now + PATIENCE)
        } else {
            Admission::Go(batch)
        }
    }

    fn depart(&self, _: Instant, entries: usize) {
        self.lock().in_flight += entries;
    }

    fn observe(&self, outcome: &Outcome) {
        let mut window = self.lock();
        window.in_flight -= outcome.sent;
        window.limit = if outcome.throttled + outcome.failed > 0 {
            // Half of an odd number is rounded up.
            window.limit.div_ceil(2)
        } else {
            (window.limit + INCREASE).min(self.most)
        };
    }
}
