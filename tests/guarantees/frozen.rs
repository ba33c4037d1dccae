//! The pace after the process was frozen.

use std::time::Duration;

use aws_batch_delivery::Delivery;
use aws_batch_simulator::{Capacity, KeyType, Latency, Simulator, TableOptions};
use tokio::time::{Instant, advance, sleep};

use crate::guarantees::entries::{ROUND_TRIP, puts};

/// Loads a table of 1,000 units/s and freezes the process in the middle. Returns the time that it ran, and how often an entry
/// was throttled.
async fn load(freeze: Duration, at: Duration) -> (Duration, u64) {
    let simulator = Simulator::new(42);
    simulator.set_latency(Latency::fixed(ROUND_TRIP));
    let capacity = Capacity::per_second(1_000.0);
    simulator.table("orders", TableOptions::key("id", KeyType::S).capacity(capacity));
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders");
    let started = Instant::now();
    let delivering = tokio::spawn(async move { delivery.deliver(puts(10_000)).await });
    sleep(at).await;
    advance(freeze).await;
    let report = delivering.await.unwrap().unwrap();
    (started.elapsed().saturating_sub(freeze), report.throttled)
}

#[tokio::test(start_paused = true)]
async fn a_freeze_does_not_slow_the_pace_down() {
    for at in [0.5, 3.0] {
        let at = Duration::from_secs_f64(at);
        let clean = load(Duration::ZERO, at).await;
        for freeze in [1.0, 33.0] {
            let frozen = load(Duration::from_secs_f64(freeze), at).await;
            let shown = format!("frozen at {at:?} for {freeze} s: {frozen:?} instead of {clean:?}");
            assert!(frozen.0 <= clean.0 && frozen.1 < 400, "{shown}");
        }
    }
}
