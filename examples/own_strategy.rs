//! A custom strategy: at most a fixed number of entries a second, however many workers share it, and a delay of one second for
//! each rejected entry.
//!
//! A strategy needs one method, `delay`; the pace for all workers is its optional second part. It has no clock and does no
//! I/O: the delivery passes it the time. This one paces writes to a simulated table that accepts 1,000 a second.
//!
//! ```text
//! cargo run --bin own_strategy
//! cargo test --bin own_strategy
//! ```

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Pace, Retry, Waiter};
use aws_batch_delivery::{Delivery, DeliveryOptions, Report};
use aws_batch_simulator::{Capacity, KeyType, Simulator, TableOptions};
use serde::Serialize;

/// A fixed number of entries a second, evenly spread.
struct FixedRate {
    interval: Duration,
    /// When the next entry may leave.
    next_at: Mutex<Option<Instant>>,
}

impl FixedRate {
    fn per_second(entries: u32) -> Self {
        Self {
            interval: Duration::from_secs(1) / entries,
            next_at: Mutex::default(),
        }
    }
}

impl BackoffStrategy for FixedRate {
    fn delay(&self, _: Retry) -> Duration {
        Duration::from_secs(1)
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for FixedRate {
    /// Called for the worker that has waited longest, and again at the returned time.
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        match *self.next_at.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(next_at) if next_at > now => Admission::WaitUntil(next_at),
            _ => Admission::Go(waiter.entries),
        }
    }

    /// The entries that leave use their share of the rate, so the next call waits that long.
    fn depart(&self, now: Instant, entries: usize) {
        let entries = u32::try_from(entries).unwrap_or(u32::MAX);
        *self.next_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(now + self.interval * entries);
    }
}

#[derive(Serialize)]
struct Order {
    id: u32,
}

/// Delivers 2,000 orders at this rate.
async fn deliver(rate: u32) -> Result<Report> {
    let simulator = Simulator::new(1);
    let capacity = Capacity::per_second(1_000.0).burst(100.0).starts_full();
    let options = TableOptions::key("id", KeyType::N).capacity(capacity);
    simulator.table("orders", options);

    let options = DeliveryOptions::default().backoff(FixedRate::per_second(rate));
    let orders = Delivery::to_dynamo(simulator.dynamo_client(), "orders").options(options);
    let orders = orders.put_items();
    Ok(orders.deliver((0..2_000).map(|id| Order { id })).await?)
}

#[tokio::main]
async fn main() -> Result<()> {
    for rate in [500, 2_000] {
        let report = deliver(rate).await?;
        println!("{rate} a second: {report}, {} throttled", report.throttled);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_rate_that_the_table_takes_is_kept_and_nothing_is_throttled() {
        let report = deliver(500).await.unwrap();
        assert_eq!((report.delivered, report.throttled), (2_000, 0));
        assert!((3.9..4.1).contains(&report.elapsed.as_secs_f64()), "{report}");
    }

    #[tokio::test(start_paused = true)]
    async fn at_a_higher_rate_everything_is_delivered_as_well() {
        let report = deliver(2_000).await.unwrap();
        assert_eq!(report.delivered, 2_000);
        assert!(report.throttled > 0);
    }
}
