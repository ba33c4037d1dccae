//! A load that the number of calls in flight holds only a little above the capacity.

use std::sync::Mutex;
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Limits, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use tokio::time::{Instant, sleep};

use crate::custom_target::numbers::throttle;

/// Entries that the service accepts in a second.
const CAPACITY: f64 = 1_000.0;

/// A token bucket that is a round trip away, and takes one entry with each call.
struct Distant {
    round_trip: Duration,
    /// The tokens at this time.
    level: Mutex<(f64, Instant)>,
}

impl BatchTarget for Distant {
    type Entry = usize;

    fn limits(&self) -> Limits {
        Limits::new(1, 100)
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, _: &[usize]) -> Answer {
        sleep(self.round_trip / 2).await;
        let is_accepted = {
            let mut level = self.level.lock().unwrap();
            let now = Instant::now();
            let tokens = (level.0 + CAPACITY * (now - level.1).as_secs_f64()).min(CAPACITY);
            let is_accepted = tokens >= 1.0;
            *level = (if is_accepted { tokens - 1.0 } else { tokens }, now);
            is_accepted
        };
        sleep(self.round_trip / 2).await;
        Answer::Each(vec![if is_accepted { Verdict::Accepted } else { throttle() }])
    }
}

/// Five seconds of the capacity, with 16 calls in flight: at 10 ms they are 1.6 times as many as the service accepts.
#[tokio::test(start_paused = true)]
async fn a_load_that_the_calls_in_flight_hold_above_the_capacity_finds_it_within_some_round_trips() {
    for round_trip in [10, 12].map(Duration::from_millis) {
        let target = Distant {
            round_trip,
            level: Mutex::new((0.0, Instant::now())),
        };
        let options = DeliveryOptions::default().concurrency(16);
        let report = Delivery::new(target).options(options).deliver(0..5_000).await.unwrap();
        assert_eq!(report.delivered, 5_000);
        assert!(
            report.resubmitted <= 150,
            "{} were sent again at a round trip of {round_trip:?}",
            report.resubmitted
        );
    }
}
