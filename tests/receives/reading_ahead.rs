//! How many messages are received before they are asked for.

use std::time::Duration;

use aws_batch_delivery::Delivery;
use aws_batch_delivery::sources::{Receive, Received};
use aws_batch_simulator::{Latency, QueueOptions, Simulator};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::StreamExt;
use tokio::time::{Instant, sleep};

use crate::receives::{filled, filled_in_order};

/// As MassTransit/MassTransit#1411 warns of: what one consumer has in advance, others wait for.
#[tokio::test(start_paused = true)]
async fn a_consumer_of_one_message_a_minute_hides_no_others() {
    let simulator = Simulator::new(1);
    simulator.set_latency(Latency::fixed(Duration::from_millis(8)));
    let queue = filled(&simulator, 200).await;
    let mut slow = Receive::new(simulator.sqs_client(), queue.url()).messages();
    for _ in 0..5 {
        let received = slow.next().await.unwrap().unwrap();
        sleep(Duration::from_mins(1)).await;
        assert_eq!(queue.in_flight(), 1);
        received.ticket.settle();
    }
    // Another consumer gets all the others.
    let rest = Receive::new(simulator.sqs_client(), queue.url()).until_empty_for(Duration::from_secs(1));
    let settled = rest
        .messages()
        .map(|received| received.unwrap().ticket.settle())
        .count();
    assert_eq!(settled.await, 195);
}

/// A message that waits for two seconds at most is hidden from another consumer for hardly longer than it takes to handle it.
#[tokio::test(start_paused = true)]
async fn a_message_waits_for_seconds_whatever_the_rate_is() {
    for (every, at_once) in [(20_000, 1), (3_000, 1), (500, 1), (50, 1), (2_000, 10)] {
        let every = Duration::from_millis(every);
        let simulator = Simulator::new(1);
        simulator.set_latency(Latency::fixed(Duration::from_millis(8)));
        let queue = filled(&simulator, 2_000).await;
        let mut messages = Receive::new(simulator.sqs_client(), queue.url()).messages();
        let started = Instant::now();
        while started.elapsed() < Duration::from_mins(1) {
            let mut in_hand = Vec::new();
            for _ in 0..at_once {
                in_hand.push(messages.next().await.unwrap().unwrap());
            }
            sleep(every).await;
            let ahead = queue.in_flight() - at_once;
            let of_three_seconds = at_once * 3_000 / usize::try_from(every.as_millis()).unwrap();
            assert!(ahead <= of_three_seconds, "{at_once} every {every:?}: {ahead}");
            for received in &in_hand {
                received.ticket.settle();
            }
        }
    }
}

/// Calls of ten, several at once, after fewer ones at the start.
#[tokio::test(start_paused = true)]
async fn a_fast_consumer_does_not_wait() {
    for is_fifo in [false, true] {
        let simulator = Simulator::new(1);
        let queue = if is_fifo {
            filled_in_order(&simulator, 5_000, 500).await
        } else {
            filled(&simulator, 5_000).await
        };
        simulator.set_latency(Latency::fixed(Duration::from_millis(10)));
        let copy = simulator.queue("copy", QueueOptions::default());
        let before = queue.consumer_statistics().calls;
        let messages = Receive::new(simulator.sqs_client(), queue.url()).max(5_000).messages();
        let started = Instant::now();
        let entry = |received: &Received| {
            let entry = SendMessageBatchRequestEntry::builder().id("0");
            entry.message_body(received.message.body().unwrap_or_default()).build()
        };
        let progress = messages.progress();
        let report = Delivery::to_sqs(simulator.sqs_client(), copy.url())
            .try_map_entries(entry)
            .on_delivered(|_, received: &Received, _| received.ticket.settle())
            .try_deliver_stream(messages)
            .await
            .unwrap();
        progress.finished().await;
        assert_eq!(report.delivered, 5_000);
        let calls = queue.consumer_statistics().calls - before;
        let took = started.elapsed();
        assert!(
            took < Duration::from_millis(1_200) && calls < 1_150,
            "FIFO: {is_fifo}, {took:?}, {calls} calls"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_consumer_of_one_message_at_a_time_does_not_wait() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 5_000).await;
    simulator.set_latency(Latency::fixed(Duration::from_millis(10)));
    let mut messages = Receive::new(simulator.sqs_client(), queue.url()).max(5_000).messages();
    let started = Instant::now();
    while let Some(received) = messages.next().await {
        let received = received.unwrap();
        sleep(Duration::from_millis(1)).await;
        received.ticket.settle();
    }
    let (took, calls) = (started.elapsed(), queue.consumer_statistics().calls);
    assert!(
        took < Duration::from_millis(5_300) && calls < 1_050,
        "{took:?}, {calls} calls"
    );
}
