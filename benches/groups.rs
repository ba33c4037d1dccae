//! A FIFO queue with 50 message groups, of which one takes 10 messages a second, in virtual time.
//!
//! It shows the rate of the other groups, compared with the rate that they have without the slow group, and how much of its capacity
//! the slow group uses.
//!
//! ```sh
//! cargo bench --bench groups
//! ```

#![allow(clippy::cast_precision_loss, reason = "the counts of a simulation are small")]

use std::time::Duration;

use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_delivery::{Delivery, Report};
use aws_batch_simulator::{Capacity, Latency, Message, QueueOptions, Simulator};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use tokio::time::Instant;

/// From the call to its answer.
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// Groups of the FIFO queue, and messages of each.
const GROUPS: usize = 50;
const MESSAGES: usize = 400;

/// Messages a second of one of the groups.
const SLOW: f64 = 10.0;

/// Sends the messages of the groups from `first` on, and tells how long those of the slow group and those of the others took.
async fn send(seed: u64, first: usize, is_strict: bool) -> (f64, f64, Report) {
    let simulator = Simulator::new(seed);
    simulator.set_latency(Latency::fixed(ROUND_TRIP));
    let queue = simulator.queue("orders.fifo", QueueOptions::default());
    queue.group_capacity("0", Capacity::per_second(SLOW).burst(1.0));
    let numbers = (0..GROUPS * MESSAGES).filter(|number| number % GROUPS >= first);
    let messages = numbers.map(|number| {
        let message = SendMessageBatchRequestEntry::builder()
            .id("")
            .message_group_id((number % GROUPS).to_string())
            .message_deduplication_id(number.to_string())
            .message_body("order");
        message.build().expect("it has an id and a body")
    });
    let started = Instant::now();
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url());
    let delivery = if is_strict {
        delivery.map_target(SqsQueue::strict_order)
    } else {
        delivery
    };
    let report = delivery.deliver(messages).await.expect("all of it is delivered");
    let is_slow = |message: &Message| message.group.as_deref() == Some("0");
    let messages = queue.messages();
    let taken = |slow: bool| {
        let sent = messages.iter().filter(|message| is_slow(message) == slow);
        let last = sent.map(|message| message.sent_at).max();
        last.map_or(0.0, |last| (last - started).as_secs_f64())
    };
    (taken(true), taken(false), report)
}

async fn groups(seed: u64, is_strict: bool) {
    let (_, alone, _) = send(seed, 1, is_strict).await;
    let (slow, others, report) = send(seed, 0, is_strict).await;
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
            groups(seed, false).await;
            groups(seed, true).await;
        }
    });
}
