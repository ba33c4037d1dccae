//! A group of a FIFO queue that is throttled alone.

use std::time::Duration;

use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_delivery::{Delivery, Report};
use aws_batch_simulator::{Message, Queue};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use tokio::time::Instant;

use crate::guarantees::entries::with_queue;

const GROUPS: u32 = 50;

/// Messages of each group.
const MESSAGES: u32 = 400;

/// Messages a second of the group that is throttled.
const SLOW: f64 = 10.0;

/// The messages of the groups from the first to the last; the group 0 is the one that is throttled.
fn messages(first: u32) -> impl Iterator<Item = SendMessageBatchRequestEntry> {
    let numbers = (0..GROUPS * MESSAGES).filter(move |number| number % GROUPS >= first);
    numbers.map(|number| {
        let message = SendMessageBatchRequestEntry::builder()
            .id("")
            .message_group_id(format!("{}", number % GROUPS))
            .message_deduplication_id(format!("{number}"))
            .message_body(format!("{}", number / GROUPS));
        message.build().unwrap()
    })
}

/// Delivers the messages of the groups from this one on, and tells when it began.
async fn deliver(first: u32) -> (Instant, Report, Queue) {
    let (simulator, queue) = with_queue("orders.fifo");
    queue.group_capacity("0", SLOW);
    let started = Instant::now();
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url()).map_target(SqsQueue::strict_order);
    let report = delivery.deliver(messages(first)).await.unwrap();
    (started, report, queue)
}

fn is_of_slow_group(message: &Message) -> bool {
    message.group.as_deref() == Some("0")
}

/// How long it took until the last message for which this holds was in the queue.
fn until_last(queue: &Queue, started: Instant, of: impl Fn(&Message) -> bool) -> Duration {
    let messages = queue.messages();
    let sent = messages
        .iter()
        .filter(|message| of(message))
        .map(|message| message.sent_at);
    sent.max().unwrap() - started
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_throttled_alone_slows_no_other_and_keeps_its_order() {
    let (started, _, queue) = deliver(1).await;
    let undisturbed = until_last(&queue, started, |message| !is_of_slow_group(message));
    let (started, report, queue) = deliver(0).await;
    let others = until_last(&queue, started, |message| !is_of_slow_group(message));
    assert!(
        others.as_secs_f64() <= undisturbed.as_secs_f64() / 0.95,
        "{others:?} instead of {undisturbed:?}"
    );
    let least = f64::from(MESSAGES) / SLOW;
    let slow = until_last(&queue, started, is_of_slow_group).as_secs_f64();
    assert!(slow <= 1.05 * least, "{slow} s instead of {least} s");
    assert!(report.resubmitted <= report.delivered / 100, "{report:?}");
    let messages = queue.messages();
    for group in 0..GROUPS {
        let group = group.to_string();
        let bodies = messages
            .iter()
            .filter(|message| message.group.as_deref() == Some(&*group))
            .map(|message| message.body.parse::<u32>().unwrap());
        assert!(bodies.eq(0..MESSAGES), "group {group}");
    }
}
