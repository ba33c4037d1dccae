//! Entries and options that the tests share.

use std::time::Duration;

use aws_batch_simulator::{KeyType, Latency, Queue, QueueOptions, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

pub(crate) use crate::support::options::{no_delay, one_at_a_time};

/// The round trip, if a test needs one.
pub(crate) const ROUND_TRIP: Duration = Duration::from_millis(8);

/// A simulator with a table `orders`, keyed by `id`, that takes everything.
pub(crate) fn with_table() -> (Simulator, Table) {
    let simulator = Simulator::new(42);
    simulator.set_latency(Latency::fixed(ROUND_TRIP));
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S));
    (simulator, table)
}

/// A simulator with a queue of this name that takes everything.
pub(crate) fn with_queue(name: &str) -> (Simulator, Queue) {
    let simulator = Simulator::new(42);
    simulator.set_latency(Latency::fixed(ROUND_TRIP));
    let queue = simulator.queue(name, QueueOptions::default());
    (simulator, queue)
}

pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(crate) fn put(id: impl Into<String>) -> WriteRequest {
    put_with(id, "paid", AttributeValue::Bool(true))
}

pub(crate) fn put_with(id: impl Into<String>, name: &str, value: AttributeValue) -> WriteRequest {
    let put = PutRequest::builder().item("id", text(id)).item(name, value).build();
    WriteRequest::builder().put_request(put.unwrap()).build()
}

pub(crate) fn delete(id: impl Into<String>) -> WriteRequest {
    let delete = DeleteRequest::builder().key("id", text(id)).build();
    WriteRequest::builder().delete_request(delete.unwrap()).build()
}

/// A put of an item that is this large, as DynamoDB counts.
pub(crate) fn put_of_size(id: &str, bytes: usize) -> WriteRequest {
    let blob = vec![7; bytes - "id".len() - id.len() - "blob".len()];
    put_with(id, "blob", AttributeValue::B(Blob::new(blob)))
}

pub(crate) fn puts(count: usize) -> Vec<WriteRequest> {
    (0..count).map(|number| put(format!("{number:06}"))).collect()
}

pub(crate) fn message(id: impl Into<String>, body: impl Into<String>) -> SendMessageBatchRequestEntry {
    let entry = SendMessageBatchRequestEntry::builder().id(id).message_body(body);
    entry.build().unwrap()
}

pub(crate) fn messages(count: usize) -> Vec<SendMessageBatchRequestEntry> {
    (0..count)
        .map(|number| message(format!("{number}"), format!("body {number}")))
        .collect()
}
