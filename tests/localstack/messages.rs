//! Messages arrive in a queue, all of them, and where it is promised in their order.

use std::collections::{BTreeMap, BTreeSet};

use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_sqs};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use crate::emulators::Emulators;
use crate::queue::{Queue, messages, numbered};

const MESSAGES: usize = 10_000;

const ORDERED_MESSAGES: usize = 2_000;
const GROUPS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn ten_thousand_messages_arrive() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "messages").await;
    let report = deliver_batch_to_sqs(
        &queue.client,
        &queue.url,
        messages(MESSAGES),
        &DeliveryOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!(report.delivered, MESSAGES as u64);
    // The first calls feel their way with fewer messages.
    let fewest = MESSAGES as u64 / 10;
    assert!(report.calls <= fewest + report.resubmitted + fewest / 50, "{report}");

    let bodies = queue.bodies().await;
    // A message is there twice only if it was sent twice.
    assert!(
        bodies.len() as u64 <= MESSAGES as u64 + report.resubmitted,
        "{}",
        bodies.len()
    );
    let distinct: BTreeSet<String> = bodies.into_iter().collect();
    assert_eq!(distinct, (0..MESSAGES).map(numbered).collect());
    queue.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn messages_of_a_group_arrive_in_their_order() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "ordered.fifo").await;
    let entries = (0..ORDERED_MESSAGES).map(in_its_group);
    // Many calls in flight: those of one group wait for each other.
    let report = deliver_batch_to_sqs(&queue.client, &queue.url, entries, &DeliveryOptions::default())
        .await
        .unwrap();
    assert_eq!(report.delivered, ORDERED_MESSAGES as u64);

    let mut received: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for message in queue.drain().await {
        received.entry(message.group.unwrap()).or_default().push(message.body);
    }
    let mut sent: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for number in 0..ORDERED_MESSAGES {
        sent.entry(group(number)).or_default().push(numbered(number));
    }
    assert_eq!(received, sent);
    queue.remove().await;
}

fn in_its_group(number: usize) -> SendMessageBatchRequestEntry {
    let entry = SendMessageBatchRequestEntry::builder()
        .id(number.to_string())
        .message_body(numbered(number))
        .message_group_id(group(number))
        .message_deduplication_id(number.to_string());
    entry.build().unwrap()
}

/// Neighbours are in different groups, and each call has half of the groups.
fn group(number: usize) -> String {
    format!("group-{}", number * 7 % GROUPS)
}
