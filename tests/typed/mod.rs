//! Values of the caller are delivered, and handed back as they were.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod messages;
mod orders;
mod unserializable;

use std::time::Duration;

use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{KeyType, Queue, QueueOptions, Simulator, Table, TableOptions};

fn shop() -> (Simulator, Table, Delivery<DynamoTable>) {
    let simulator = Simulator::new(7);
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S));
    let options = DeliveryOptions::default().backoff(|_: u32| Duration::ZERO).retries(0);
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").options(options);
    (simulator, table, delivery)
}

fn queue() -> (Queue, Delivery<SqsQueue>) {
    let simulator = Simulator::new(7);
    let queue = simulator.queue("events", QueueOptions::default());
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url());
    (queue, delivery)
}
