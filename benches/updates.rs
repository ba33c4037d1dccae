//! Updates of single items, which are one call each, in virtual time: most of them under one partition key, and all of them against one
//! bucket.
//!
//! The table of the first has eight partitions of 1,000 write units a second. Five of seven writes are of items under one partition key,
//! whose partition is the limit; the others are spread over all partitions. The time of the others is compared with the time that they
//! take alone. They are puts, because the simulator takes half a millisecond to evaluate an update; for the pace both are a call of one
//! unit. The table of the second is a single bucket.
//!
//! ```sh
//! cargo bench --bench updates              # 500,000 of 700,000 under one key
//! cargo bench --bench updates -- --full    # 5,000,000 of 7,000,000, after the others
//! ```

#![allow(clippy::cast_precision_loss, reason = "the counts of a simulation are small")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::dynamo::{DynamoWrites, ItemWrite};
use aws_batch_delivery::{Delivery, DeliveryOptions, Report};
use aws_batch_simulator::{Capacity, KeyType, Latency, Simulator, Table, TableOptions, Throughput};
use aws_sdk_dynamodb::types::AttributeValue;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

/// Write units a second of one partition. From the documentation of DynamoDB.
const PARTITION: f64 = 1_000.0;

const PARTITIONS: u32 = 8;

/// Of how many updates this many are under one partition key.
const HOT: (u64, u64) = (5, 7);

/// Partition keys of the other updates.
const COLD_KEYS: u64 = 20_000;

/// Units a second of the single bucket.
const BUCKET: f64 = 1_000.0;

/// Updates against the single bucket.
const UPDATES: u64 = 30_000;

/// The key of an item that no other write is of.
fn key(customer: String, number: u64) -> HashMap<String, AttributeValue> {
    HashMap::from([
        ("customer".to_owned(), AttributeValue::S(customer)),
        ("number".to_owned(), AttributeValue::N(number.to_string())),
    ])
}

fn update(customer: String, number: u64) -> ItemWrite {
    ItemWrite::update(key(customer, number), "SET seen = :seen").value(":seen", AttributeValue::Bool(true))
}

fn table(seed: u64, options: TableOptions, round_trip: Latency) -> (Delivery<DynamoWrites>, Table) {
    let simulator = Simulator::new(seed);
    simulator.set_latency(round_trip);
    let table = simulator.table("orders", options.sort_key("number", KeyType::N).counts_only());
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders")
        .map_target(|table| table.key_with_sort("customer", "number"))
        .item_writes();
    (delivery, table)
}

fn sent_again(report: &Report) -> f64 {
    100.0 * report.resubmitted as f64 / (report.delivered + report.resubmitted) as f64
}

/// Delivers single writes, and returns the report and how long those of the other keys took.
async fn deliver(seed: u64, count: u64, read_ahead: usize, with_hot: bool) -> (Report, f64) {
    let throughput = Throughput::provisioned(f64::from(PARTITIONS) * PARTITION)
        .partitions(PARTITIONS as usize)
        .burst(Duration::from_secs(1));
    let options = TableOptions::key("customer", KeyType::S).throughput(throughput);
    let (delivery, _) = table(seed, options, Latency::fixed(Duration::from_millis(10)));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let is_hot: Arc<[bool]> = (0..count)
        .map(|_| random.random_range(0..HOT.1) < HOT.0)
        .filter(|is_hot| with_hot || !is_hot)
        .collect();
    let kinds = Arc::clone(&is_hot);
    let writes = (0..kinds.len()).zip(0..).map(move |(place, number)| {
        let customer = if kinds[place] {
            "busy".to_owned()
        } else {
            format!("customer {}", random.random_range(0..COLD_KEYS))
        };
        ItemWrite::put(key(customer, number))
    });
    let last = Arc::new(Mutex::new(Instant::now()));
    let (started, telling) = (Instant::now(), Arc::clone(&last));
    let options = DeliveryOptions::default()
        .concurrency(128)
        .read_ahead(read_ahead)
        .read_ahead_bytes(usize::MAX)
        .give_up_after(Duration::MAX);
    let delivery = delivery.options(options).on_delivered(move |position, _, _| {
        let position = usize::try_from(position).expect("a place in memory");
        if !is_hot[position] {
            *telling.lock().expect("no panic") = Instant::now();
        }
    });
    let report = delivery.deliver(writes).await.expect("all of it is delivered");
    let last = *last.lock().expect("no panic");
    (report, (last - started).as_secs_f64())
}

/// `count` writes, most of them under one key, and how the others do compared with `alone`.
async fn hot_key(seed: u64, count: u64, read_ahead: usize, alone: f64) {
    let on_the_wall = std::time::Instant::now();
    let (report, others) = deliver(seed, count, read_ahead, true).await;
    let hot = (count * HOT.0 / HOT.1) as f64;
    println!(
        "seed {seed}: {count} writes, read ahead {read_ahead}: time / minimum of the hot key {:.3}; the others take {others:.0} s, alone \
         {alone:.0} s; {:.2}% sent again; run in {:.0} s",
        report.elapsed.as_secs_f64() / (hot / PARTITION),
        sent_again(&report),
        on_the_wall.elapsed().as_secs_f64()
    );
}

/// Updates of different items against one bucket.
async fn bucket(seed: u64, calls: usize, (median, spread): (Duration, f64)) {
    let capacity = Capacity::per_second(BUCKET).burst(BUCKET * 0.3);
    let options = TableOptions::key("customer", KeyType::S).capacity(capacity);
    let (delivery, table) = table(seed, options, Latency::lognormal(median, spread));
    let options = DeliveryOptions::default()
        .concurrency(calls)
        .give_up_after(Duration::MAX);
    let updates = (0..UPDATES).map(|number| update(format!("customer {number}"), number));
    let report = delivery.options(options).deliver(updates).await;
    let report = report.expect("all of it is delivered");
    let rejected = table.statistics().throttled as f64 / table.statistics().entries as f64;
    println!(
        "seed {seed}: one bucket, {calls} calls in flight, {median:?} with a spread of {spread}: time / minimum {:.4}; {:.2}% rejected",
        report.elapsed.as_secs_f64() / (UPDATES as f64 / BUCKET),
        100.0 * rejected
    );
}

fn main() {
    let is_full = std::env::args().any(|argument| argument == "--full");
    // In virtual time: a load of minutes takes seconds.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime starts");
    runtime.block_on(async {
        for (calls, millis) in [(16, 8), (16, 10), (16, 12), (64, 10)] {
            let median = Duration::from_millis(millis);
            // Without a spread nothing is random.
            bucket(0, calls, (median, 0.0)).await;
            for seed in 0..3 {
                bucket(seed, calls, (median, 0.3)).await;
            }
        }
        let small = 700_000;
        let (_, alone) = deliver(0, small, 30_000, false).await;
        for read_ahead in [30_000, usize::MAX] {
            hot_key(0, small, read_ahead, alone).await;
        }
        if is_full {
            let full = 10 * small;
            let (_, alone) = deliver(0, full, 30_000, false).await;
            hot_key(0, full, 30_000, alone).await;
        }
    });
}
