//! The order of the groups of a FIFO queue.

use std::time::Duration;

use aws_batch_delivery::Delivery;
use aws_batch_delivery::sources::{Receive, Received};
use aws_batch_simulator::{QueueOptions, Simulator};
use aws_sdk_sqs::types::{MessageSystemAttributeName, SendMessageBatchRequestEntry};
use futures::{FutureExt, StreamExt};
use tokio::time::advance;

use crate::receives::{filled_in_order, group, number};

#[tokio::test(start_paused = true)]
async fn the_next_message_of_a_group_is_handed_out_when_the_one_before_was_settled() {
    let simulator = Simulator::new(1);
    let queue = filled_in_order(&simulator, 6, 2).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url()).messages();
    let first = messages.next().await.unwrap().unwrap();
    let other = messages.next().await.unwrap().unwrap();
    assert_ne!(group(&first), group(&other));
    advance(Duration::from_secs(1)).await;
    assert!(messages.next().now_or_never().is_none());
    first.ticket.settle();
    let next = messages.next().await.unwrap().unwrap();
    assert_eq!((group(&next), number(&next)), (group(&first), number(&first) + 2));
}

#[tokio::test(start_paused = true)]
async fn a_delivery_moves_the_groups_of_a_queue_in_their_order() {
    let simulator = Simulator::new(1);
    let queue = filled_in_order(&simulator, 200, 7).await;
    let copy = simulator.queue("copy.fifo", QueueOptions::default());
    let messages = Receive::new(simulator.sqs_client(), queue.url())
        .until_empty_for(Duration::from_secs(5))
        .messages();
    let progress = messages.progress();
    let entry = |received: &Received| {
        let attribute = |name| received.system_attribute(&name).map(str::to_owned);
        SendMessageBatchRequestEntry::builder()
            .id("0")
            .message_body(received.message.body().unwrap_or_default())
            .set_message_group_id(attribute(MessageSystemAttributeName::MessageGroupId))
            .set_message_deduplication_id(attribute(MessageSystemAttributeName::MessageDeduplicationId))
            .build()
    };
    let report = Delivery::to_sqs(simulator.sqs_client(), copy.url())
        .try_map_entries(entry)
        .on_delivered(|_, received: &Received, _| received.ticket.settle())
        .try_deliver_stream(messages)
        .await
        .unwrap();
    assert_eq!(report.delivered, 200);
    assert_eq!(progress.finished().await.deleted, 200);
    assert!(queue.is_empty());
    let moved = copy.messages();
    for group in 0..7 {
        let of_group = moved.iter().filter(|message| message.group == Some(group.to_string()));
        let numbers: Vec<usize> = of_group.map(|message| message.body.parse().unwrap()).collect();
        assert!(numbers.is_sorted() && numbers.len() >= 200 / 7, "{numbers:?}");
    }
}

/// When a message of a group fails, those that were received with it stay hidden and lose no receive.
#[tokio::test(start_paused = true)]
async fn messages_behind_one_that_fails_are_not_received_again() {
    let simulator = Simulator::new(1);
    let queue = filled_in_order(&simulator, 120, 2).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url())
        .until_empty_for(Duration::from_secs(5))
        .messages();
    let mut counts = vec![Vec::new(); 120];
    while let Some(received) = messages.next().await {
        let received = received.unwrap();
        let number = number(&received);
        counts[number].push(received.receive_count());
        match (number % 10 == 4, received.receive_count()) {
            (true, 1..=3) => received.ticket.release_after(Duration::from_secs(30)),
            (true, 4..=6) => drop(received.ticket),
            _ => received.ticket.settle(),
        }
    }
    for (number, counts) in counts.into_iter().enumerate() {
        let expected: Vec<u32> = if number % 10 == 4 { (1..=7).collect() } else { vec![1] };
        assert_eq!(counts, expected, "message {number}");
    }
    assert!(queue.is_empty());
}
