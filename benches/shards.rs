//! A Kinesis stream with eight shards, one of which gets ten times as many records as the others, in virtual time.
//!
//! Each shard of the simulated stream accepts 1,000 records per second, with a burst of one second; a call has up to 500 records and
//! takes 20 ms. A load shows how much of their capacity the other shards use while the hot one is throttled, and how long the load takes
//! compared with the time that the hot shard needs. A trickle of single records shows the latency of records of the other shards.
//!
//! A load of small records, with as many keys and evenly, shows what aggregation brings: in its shards, which then accept 1 MiB per
//! second as well, and in the number of records that the stream has.
//!
//! ```sh
//! cargo bench --features kinesis --bench shards
//! cargo bench --features kinesis --bench shards -- small    # the small records alone
//! ```

#![allow(clippy::cast_precision_loss, reason = "the counts of a simulation are small")]

use std::time::Duration;

use aws_batch_delivery::targets::kinesis::KinesisStream;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{Capacity, Latency, Simulator, Stream, StreamOptions};
use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use aws_smithy_async::rt::sleep::TokioSleep;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep_until};

const SHARDS: usize = 8;

/// The capacity of a shard, in records per second, and its burst. From the quotas of Kinesis.
const RATE: f64 = 1_000.0;

const ROUND_TRIP: Duration = Duration::from_millis(20);

/// Records of each shard but the first.
const COLD: usize = 20_000;

/// Records of the first one.
const HOT: usize = 10 * COLD;

/// The records that may wait in memory: so many that hot ones do not keep the others from being read. The default is 30,000.
const READ_AHEAD: usize = 400_000;

/// Records a second of each cold shard, in the trickle.
const TRICKLE: u32 = 300;

/// Bytes of the data of a small record.
const SMALL: usize = 100;

/// Keys of small records.
const KEYS: usize = 10_000;

/// How long a load of small records would take at the quotas, about.
const SMALL_SECONDS: usize = 30;

/// How long the trickle lasts.
const TRICKLE_SECONDS: u32 = 20;

/// A simulated stream with a capacity in records alone, and the target that puts records into it.
fn stream(seed: u64) -> (Stream, KinesisStream) {
    let options = StreamOptions::shards(SHARDS).capacity(Capacity::per_second(RATE).burst(RATE).starts_full());
    stream_with(seed, options)
}

fn stream_with(seed: u64, options: StreamOptions) -> (Stream, KinesisStream) {
    let simulator = Simulator::new(seed);
    simulator.set_latency(Latency::fixed(ROUND_TRIP));
    let stream = simulator.stream("orders", options);
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("simulator", "simulator", None, None, "simulator"))
        .sleep_impl(TokioSleep::new())
        .http_client(simulator.http_client());
    (stream, KinesisStream::new(Client::from_conf(config.build()), "orders"))
}

/// A record for this shard.
fn record(shard: usize) -> PutRecordsRequestEntry {
    let first_hash_key = (u128::MAX / SHARDS as u128 + 1) * shard as u128;
    let record = PutRecordsRequestEntry::builder()
        .data(Blob::new("x"))
        .partition_key("k");
    let record = record.explicit_hash_key(first_hash_key.to_string());
    record.build().expect("a record has its data")
}

async fn load(seed: u64, read_ahead: usize) {
    let mut records = vec![0; HOT];
    records.extend((1..SHARDS).flat_map(|shard| vec![shard; COLD]));
    records.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    let (stream, target) = stream(seed);
    let started = Instant::now();
    let options = DeliveryOptions::default().read_ahead(read_ahead);
    let delivery = Delivery::new(target).options(options);
    let records = records.into_iter().map(record);
    let report = delivery.deliver(records).await.expect("all of it is delivered");
    let taken = started.elapsed().as_secs_f64();
    let fewest = (HOT as f64 - RATE) / RATE;
    let stored = stream.records();
    let of_cold = |shard: usize| {
        let of_shard = || stored.iter().filter(|record| record.shard == shard);
        let last = of_shard().next_back().expect("there are records").put_at;
        (of_shard().count() as f64 - RATE) / RATE / (last - started).as_secs_f64()
    };
    let shares: Vec<f64> = (1..SHARDS).map(of_cold).collect();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    println!(
        "seed {seed}: read ahead {read_ahead}: the other shards get {:.1}% of their capacity, the least one {:.1}%; time / minimum \
         {:.3}; {} calls, {} records sent again",
        100.0 * mean,
        100.0 * least,
        taken / fewest,
        report.calls,
        report.resubmitted
    );
}

async fn trickle(seed: u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let options = DeliveryOptions::default().read_ahead(READ_AHEAD).buffer(READ_AHEAD);
    let (_, target) = stream(seed);
    let producer = Delivery::new(target).options(options).producer();
    let started = Instant::now();
    let length = f64::from(TRICKLE_SECONDS);
    let mut arrivals: Vec<(f64, usize)> = Vec::new();
    for shard in 0..SHARDS {
        let share = if shard == 0 { 10 } else { 1 };
        let records = share * TRICKLE * TRICKLE_SECONDS;
        arrivals.extend((0..records).map(|_| (random.random_range(0.0..length), shard)));
    }
    arrivals.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut waiting = Vec::new();
    for (at, shard) in arrivals {
        sleep_until(started + Duration::from_secs_f64(at)).await;
        let receipt = producer.enqueue(record(shard)).await.expect("the producer is open");
        if shard > 0 {
            let handed_over = Instant::now();
            waiting.push(tokio::spawn(async move {
                receipt.await.expect("it is delivered");
                handed_over.elapsed()
            }));
        }
    }
    let mut latencies = Vec::new();
    for receipt in waiting {
        latencies.push(receipt.await.expect("no panic"));
    }
    latencies.sort_unstable();
    let quantile = |part: usize| latencies[(latencies.len() - 1) * part / 1_000].as_secs_f64() * 1e3;
    println!(
        "seed {seed}: trickle: records of the other shards take {:.0} ms at the median, {:.0} ms at p99, {:.0} ms at p99.9",
        quantile(500),
        quantile(990),
        quantile(999)
    );
    let _ = producer.close_within(Duration::ZERO).await;
}

/// Small records through this target, at both quotas of the shards.
async fn small(seed: u64, name: &str, a_second: usize, target: impl FnOnce(KinesisStream) -> KinesisStream) {
    let (stream, plain) = stream_with(seed, StreamOptions::shards(SHARDS));
    let records = SHARDS * a_second * SMALL_SECONDS;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let records = std::iter::repeat_with(move || {
        let record = PutRecordsRequestEntry::builder().data(Blob::new([b'x'; SMALL]));
        let record = record.partition_key(format!("device-{:05}", random.random_range(0..KEYS)));
        record.build().expect("a record has its data")
    })
    .take(records);
    let started = Instant::now();
    let report = Delivery::new(target(plain))
        .deliver(records)
        .await
        .expect("all of it is delivered");
    let taken = started.elapsed().as_secs_f64();
    let stored = stream.records();
    let bytes: usize = stored
        .iter()
        .map(|record| record.data.len() + record.partition_key.len())
        .sum();
    let of_a_shard = report.delivered as f64 / taken / SHARDS as f64;
    println!(
        "seed {seed}: {name}: {} records of {SMALL} bytes in {} Kinesis records, {:.1} in each; {of_a_shard:.0} records and {:.0} KiB a \
         second for each shard; {} calls, {:.2}% of the records sent again",
        report.delivered,
        stored.len(),
        report.delivered as f64 / stored.len() as f64,
        bytes as f64 / 1_024.0 / taken / SHARDS as f64,
        report.calls,
        100.0 * report.resubmitted as f64 / report.delivered as f64,
    );
}

fn main() {
    // In virtual time: a load of minutes takes a second.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime starts");
    runtime.block_on(async {
        let is_small_alone = std::env::args().any(|argument| argument == "small");
        for seed in 0..3 {
            if !is_small_alone {
                load(seed, READ_AHEAD).await;
                load(seed, 30_000).await;
                trickle(seed).await;
            }
            small(seed, "plain", 1_000, |plain| plain).await;
            small(seed, "aggregated", 8_000, KinesisStream::aggregated).await;
            small(seed, "plain, ordered", 1_000, KinesisStream::ordered).await;
            small(seed, "aggregated, ordered", 8_000, |plain| plain.aggregated().ordered()).await;
        }
    });
}
