//! The pace of a scan in read units.

use std::time::Duration;

use aws_batch_delivery::DeliveryOptions;
use aws_batch_delivery::sources::Scan;
use aws_batch_simulator::{Capacity, Latency, Simulator, Statistics, Table};
use futures::StreamExt;
use tokio::time::Instant;

use crate::scans::{by_id, filled, id};

/// The counts of a scan, and how long it took.
async fn scan(simulator: &Simulator, films: &Table, scan: Scan) -> (Statistics, Duration) {
    simulator.set_latency(Latency::fixed(Duration::from_millis(10)));
    let before = films.read_statistics();
    let started = Instant::now();
    let items = scan.items();
    assert_eq!(items.map(Result::unwrap).count().await, films.len());
    let mut read = films.read_statistics();
    read.calls -= before.calls;
    read.throttled -= before.throttled;
    read.units -= before.units;
    (read, started.elapsed())
}

#[expect(clippy::cast_precision_loss, reason = "a few calls")]
fn units_of_a_page(read: &Statistics) -> f64 {
    read.units / (read.calls - read.throttled) as f64
}

#[tokio::test(start_paused = true)]
async fn a_scan_takes_what_the_table_gives_with_few_throttles() {
    println!("units/s  items  bytes  pages  throttled  units   seconds  units/s");
    for (capacity, items, bytes) in [(25.0, 2_000, 2_000), (100.0, 3_000, 4_000), (1_000.0, 4_000, 8_000)] {
        let simulator = Simulator::new(3);
        let films = filled(&simulator, by_id(), items, bytes).await;
        films.set_read_capacity(Capacity::per_second(capacity).burst(capacity));
        let (read, elapsed) = scan(&simulator, &films, Scan::new(simulator.dynamo_client(), "films")).await;
        let seconds = elapsed.as_secs_f64();
        println!(
            "{capacity:7}  {items:5}  {bytes:5}  {:5}  {:9}  {:6.0}  {seconds:7.1}  {:7.1}",
            read.calls - read.throttled,
            read.throttled,
            read.units,
            read.units / seconds
        );
        assert!(read.throttled * 2 < read.calls, "{read:?}");
        assert!(read.units / seconds > 0.8 * capacity, "{read:?} in {seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_are_small_where_the_pace_is_low() {
    let simulator = Simulator::new(3);
    let films = filled(&simulator, by_id(), 3_000, 2_000).await;
    films.set_read_capacity(Capacity::per_second(25.0));
    let (read, _) = scan(&simulator, &films, Scan::new(simulator.dynamo_client(), "films")).await;
    assert!(units_of_a_page(&read) <= 25.0 / 3.0, "{read:?}");
    films.set_read_capacity(Capacity::unlimited());
    let limited = Scan::new(simulator.dynamo_client(), "films");
    let limited = limited.options(DeliveryOptions::default().max_rate(100.0));
    let (read, elapsed) = scan(&simulator, &films, limited).await;
    assert!(units_of_a_page(&read) <= 100.0 / 3.0, "{read:?}");
    assert_eq!(read.throttled, 0);
    let rate = read.units / elapsed.as_secs_f64();
    assert!((80.0..120.0).contains(&rate), "{rate} units/s");
}

#[tokio::test(start_paused = true)]
async fn pages_are_full_where_nothing_limits_them() {
    let simulator = Simulator::new(3);
    let films = filled(&simulator, by_id(), 2_000, 4_000).await;
    let one = Scan::new(simulator.dynamo_client(), "films").segments(1);
    let (read, _) = scan(&simulator, &films, one).await;
    // Three pages that grow, and 8 MB.
    assert!(read.calls <= 12, "{read:?}");
}

#[tokio::test(start_paused = true)]
async fn a_segment_without_capacity_waits_alone() {
    let simulator = Simulator::new(3);
    let films = filled(&simulator, by_id(), 4_000, 1_000).await;
    simulator.set_latency(Latency::fixed(Duration::from_millis(10)));
    films.set_read_capacity(Capacity::per_second(200.0).burst(200.0));
    films.read_range(Capacity::none(), |item| item["id"]["S"] == "7");
    let mut items = Scan::new(simulator.dynamo_client(), "films").segments(8).items();
    let started = Instant::now();
    let mut others = 0;
    let seen = tokio::time::timeout(Duration::from_mins(2), async {
        while let Some(item) = items.next().await {
            assert_ne!(id(&item.unwrap()), "7");
            others += 1;
            if others == 3_400 {
                return started.elapsed();
            }
        }
        unreachable!("an item cannot be read")
    });
    let elapsed = seen.await.expect("the other segments are read");
    println!("3,400 items of the other segments after {:.1} s", elapsed.as_secs_f64());
    films.read_range(Capacity::unlimited(), |_| false);
    assert_eq!(items.map(Result::unwrap).count().await + others, 4_000);
}
