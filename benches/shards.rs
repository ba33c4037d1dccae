//! A stream of eight shards, one of which is given ten times as much as the others, in virtual time.
//!
//! Each shard takes 1,000 records a second and has at most one second's worth saved up; a call has up to 500 records and takes 20 ms.
//! A load shows how much of their capacity the other shards get while the hot one is throttled, and how long all of it takes
//! compared with what the hot shard needs. A trickle of single records shows how long those of the other shards take.
//!
//! The same for a FIFO queue, by the simulator: 50 groups, of which one takes 10 messages a second.
//!
//! ```sh
//! cargo bench --bench shards
//! ```

#![allow(clippy::cast_precision_loss, reason = "the counts of a simulation are small")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry, Report};
use aws_batch_simulator::{Capacity, Latency, Message, QueueOptions, Simulator};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep, sleep_until};

const SHARDS: usize = 8;

/// Records a second that a shard takes. From the quotas of Kinesis.
const RATE: f64 = 1_000.0;

const ROUND_TRIP: Duration = Duration::from_millis(20);

/// Records of each shard but the first.
const COLD: usize = 20_000;

/// Records of the first one.
const HOT: usize = 10 * COLD;

/// So many records may wait in memory, so that the hot ones do not keep the others from being read. The default is 30,000.
const READ_AHEAD: usize = 400_000;

/// Records a second of each cold shard, in the trickle.
const TRICKLE: u32 = 300;

/// How long the trickle lasts.
const TRICKLE_SECONDS: u32 = 20;

/// Groups of the FIFO queue, and messages of each.
const GROUPS: usize = 50;
const MESSAGES: usize = 400;

/// Messages a second of one of the groups.
const SLOW: f64 = 10.0;

struct Shard {
    saved: f64,
    at: Instant,
    accepted: Vec<Instant>,
}

#[derive(Clone)]
struct Stream(Arc<Mutex<Vec<Shard>>>);

impl Stream {
    fn new() -> Self {
        let shard = || Shard {
            saved: RATE,
            at: Instant::now(),
            accepted: Vec::new(),
        };
        Self(Arc::new(Mutex::new((0..SHARDS).map(|_| shard()).collect())))
    }

    /// When each record of a shard was accepted.
    fn accepted(&self, shard: usize) -> Vec<Instant> {
        self.0.lock().expect("no call panicked")[shard].accepted.clone()
    }
}

impl BatchTarget for Stream {
    /// The shard of a record.
    type Entry = usize;

    fn limits(&self) -> Limits {
        Limits::new(500, 10 << 20)
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(100)
    }

    fn partition_key(&self, shard: &usize) -> Option<u64> {
        Some(
            u64::try_from(*shard)
                .expect("a small number")
                .wrapping_mul(0x9E37_79B9_7F4A_7C15),
        )
    }

    async fn send(&self, records: &[usize]) -> Answer {
        sleep(ROUND_TRIP / 2).await;
        let verdicts = self.take(records);
        sleep(ROUND_TRIP / 2).await;
        Answer::Each(verdicts)
    }
}

impl Stream {
    fn take(&self, records: &[usize]) -> Vec<Verdict> {
        let now = Instant::now();
        let mut shards = self.0.lock().expect("no call panicked");
        let verdict = |record: &usize| {
            let shard = &mut shards[*record];
            shard.saved = (shard.saved + RATE * (now - shard.at).as_secs_f64()).min(RATE);
            shard.at = now;
            if shard.saved < 1.0 {
                let fault = Fault::new("ProvisionedThroughputExceededException");
                return Verdict::Rejected(Rejection::Throttled, fault);
            }
            shard.saved -= 1.0;
            shard.accepted.push(now);
            Verdict::Accepted
        };
        records.iter().map(verdict).collect()
    }
}

async fn load(seed: u64, read_ahead: usize) {
    let mut records = vec![0; HOT];
    records.extend((1..SHARDS).flat_map(|shard| vec![shard; COLD]));
    records.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    let stream = Stream::new();
    let started = Instant::now();
    let options = DeliveryOptions::default().read_ahead(read_ahead);
    let delivery = Delivery::new(stream.clone()).options(options);
    let report = delivery.deliver(records).await.expect("all of it is delivered");
    let taken = started.elapsed().as_secs_f64();
    let fewest = (HOT as f64 - RATE) / RATE;
    let of_cold = |shard: usize| {
        let accepted = stream.accepted(shard);
        let taken = (*accepted.last().expect("there are records") - started).as_secs_f64();
        (accepted.len() as f64 - RATE) / RATE / taken
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
    let producer = Delivery::new(Stream::new()).options(options).producer();
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
        let receipt = producer.enqueue(shard).await.expect("the producer is open");
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

/// Sends all messages, and tells how long those of the slow group and those of the others took.
async fn send(seed: u64, capacity: Capacity, is_strict: bool) -> (f64, f64, Report) {
    let simulator = Simulator::new(seed);
    simulator.set_latency(Latency::fixed(ROUND_TRIP));
    let queue = simulator.queue("orders.fifo", QueueOptions::default());
    queue.group_capacity("0", capacity);
    let messages = (0..GROUPS * MESSAGES).map(|number| {
        let message = SendMessageBatchRequestEntry::builder()
            .id("")
            .message_group_id((number % GROUPS).to_string())
            .message_deduplication_id(number.to_string())
            .message_body("order");
        message.build().expect("it has an id and a body")
    });
    let started = Instant::now();
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url());
    let delivery = if is_strict { delivery.strict_order() } else { delivery };
    let report = delivery.deliver(messages).await.expect("all of it is delivered");
    let is_slow = |message: &Message| message.group.as_deref() == Some("0");
    let messages = queue.messages();
    let taken = |slow: bool| {
        let sent = messages.iter().filter(|message| is_slow(message) == slow);
        let last = sent.map(|message| message.sent_at).max();
        (last.expect("there are messages") - started).as_secs_f64()
    };
    (taken(true), taken(false), report)
}

async fn groups(seed: u64, is_strict: bool) {
    let (_, alone, _) = send(seed, Capacity::unlimited(), is_strict).await;
    let limit = Capacity::per_second(SLOW).burst(1.0);
    let (slow, others, report) = send(seed, limit, is_strict).await;
    println!(
        "seed {seed}: one group of {GROUPS} takes {SLOW}/s{}: the others have {:.1}% of the rate that they have without it, and it has \
         {:.1}% of what it takes; {} calls, {} messages sent again",
        if is_strict { ", strict order" } else { "" },
        100.0 * alone / others,
        100.0 * MESSAGES as f64 / SLOW / slow,
        report.calls,
        report.resubmitted
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
        for seed in 0..3 {
            load(seed, READ_AHEAD).await;
            load(seed, 30_000).await;
            trickle(seed).await;
            groups(seed, false).await;
            groups(seed, true).await;
        }
    });
}
