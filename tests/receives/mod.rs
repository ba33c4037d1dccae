//! Queues as the input of deliveries, against the simulator.

mod endings;
mod order;
mod promise;
mod reading_ahead;
mod receive_counts;
mod reports;
mod visibility;

use aws_batch_delivery::Delivery;
use aws_batch_delivery::sources::Received;
use aws_batch_simulator::{Queue, QueueOptions, Simulator};
use aws_sdk_sqs::types::{MessageSystemAttributeName, SendMessageBatchRequestEntry};

/// A message whose body is its number.
fn message(number: usize) -> SendMessageBatchRequestEntry {
    let entry = SendMessageBatchRequestEntry::builder().id("0");
    entry.message_body(number.to_string()).build().unwrap()
}

/// A message of one of the groups in turn.
fn ordered(number: usize, groups: usize) -> SendMessageBatchRequestEntry {
    let entry = SendMessageBatchRequestEntry::builder().id("0");
    entry
        .message_body(number.to_string())
        .message_group_id((number % groups).to_string())
        .message_deduplication_id(number.to_string())
        .build()
        .unwrap()
}

/// A standard queue with messages whose bodies are the numbers from 0.
async fn filled(simulator: &Simulator, messages: usize) -> Queue {
    let queue = simulator.queue("orders", QueueOptions::default());
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url());
    delivery.deliver((0..messages).map(message)).await.unwrap();
    queue
}

/// A FIFO queue with such messages, in this many groups.
async fn filled_in_order(simulator: &Simulator, messages: usize, groups: usize) -> Queue {
    let queue = simulator.queue("orders.fifo", QueueOptions::default());
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url());
    let messages = (0..messages).map(|number| ordered(number, groups));
    delivery.deliver(messages).await.unwrap();
    queue
}

fn number(received: &Received) -> usize {
    received.message.body().unwrap().parse().unwrap()
}

fn group(received: &Received) -> String {
    let group = received.system_attribute(&MessageSystemAttributeName::MessageGroupId);
    group.unwrap().to_owned()
}
