//! What is measured, by a telemetry provider of the test's own. It is set for the whole process; so each test has a destination
//! of its own.

mod causes;
mod durations;
mod figures;
mod meters;
mod names;
mod pace;

use std::time::Duration;

use aws_batch_simulator::{KeyType, Latency, Queue, QueueOptions, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

/// The round trip of all calls.
const ROUND_TRIP: Duration = Duration::from_millis(8);

fn simulator() -> Simulator {
    let simulator = Simulator::new(42);
    simulator.set_latency(Latency::fixed(ROUND_TRIP));
    simulator
}

/// A table of this name, keyed by `id`, that takes everything.
fn with_table(name: &str) -> (Simulator, Table) {
    let simulator = simulator();
    let table = simulator.table(name, TableOptions::key("id", KeyType::S));
    (simulator, table)
}

/// A queue of this name that takes everything.
fn with_queue(name: &str) -> (Simulator, Queue) {
    let simulator = simulator();
    let queue = simulator.queue(name, QueueOptions::default());
    (simulator, queue)
}

/// Puts of items that have the attribute of an index.
fn puts(count: usize) -> impl Iterator<Item = WriteRequest> {
    (0..count).map(|id| put(&id.to_string()))
}

fn put(id: &str) -> WriteRequest {
    let put = PutRequest::builder()
        .item("id", AttributeValue::S(id.into()))
        .item("customer", AttributeValue::S("c".into()));
    WriteRequest::builder().put_request(put.build().unwrap()).build()
}

fn message(body: &str) -> SendMessageBatchRequestEntry {
    let message = SendMessageBatchRequestEntry::builder().id("a").message_body(body);
    message.build().unwrap()
}
