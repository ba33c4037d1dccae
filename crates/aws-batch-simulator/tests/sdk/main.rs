//! The simulator, driven by the real SDK clients.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod buckets;
#[cfg(feature = "eventbridge")]
mod buses;
mod capacity;
mod conditions;
mod dead_letter_queues;
#[cfg(feature = "firehose")]
mod delivery_streams;
mod faults;
#[cfg(feature = "cloudwatch-logs")]
mod log_streams;
#[cfg(feature = "cloudwatch")]
mod namespaces;
mod objects;
mod queues;
mod reads;
mod receipts;
mod scans;
mod server;
mod single_writes;
#[cfg(feature = "kinesis")]
mod streams;
mod tables;
mod throughput;
#[cfg(feature = "sns")]
mod topics;
mod transaction_conditions;
mod transactions;
mod vector_indexes;

use aws_batch_simulator::{KeyType, TableOptions};
use aws_sdk_dynamodb::Client as Dynamo;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::batch_write_item::{BatchWriteItemError, BatchWriteItemOutput};
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};
use aws_sdk_sqs::Client as Sqs;
use aws_sdk_sqs::operation::send_message_batch::{SendMessageBatchError, SendMessageBatchOutput};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

fn by_id() -> TableOptions {
    TableOptions::key("id", KeyType::S)
}

fn string(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

fn put_of<const N: usize>(attributes: [(&str, AttributeValue); N]) -> WriteRequest {
    let item = attributes.map(|(name, value)| (name.to_owned(), value)).into();
    let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
    WriteRequest::builder().put_request(put).build()
}

fn put(id: impl Into<String>) -> WriteRequest {
    put_of([("id", string(id))])
}

fn delete(id: impl Into<String>) -> WriteRequest {
    let delete = DeleteRequest::builder().key("id", string(id)).build().unwrap();
    WriteRequest::builder().delete_request(delete).build()
}

fn puts(ids: impl IntoIterator<Item = usize>) -> Vec<WriteRequest> {
    ids.into_iter().map(|id| put(id.to_string())).collect()
}

/// One call without the SDK's own retries.
async fn write(
    dynamo: &Dynamo,
    table: &str,
    writes: Vec<WriteRequest>,
) -> Result<BatchWriteItemOutput, SdkError<BatchWriteItemError>> {
    let once = aws_sdk_dynamodb::config::Config::builder().retry_config(RetryConfig::disabled());
    let call = dynamo.batch_write_item().request_items(table, writes);
    call.customize().config_override(once).send().await
}

/// How many writes came back.
fn unprocessed(output: &BatchWriteItemOutput) -> usize {
    output
        .unprocessed_items()
        .into_iter()
        .flatten()
        .map(|(_, writes)| writes.len())
        .sum()
}

fn message(id: impl Into<String>, body: impl Into<String>) -> SendMessageBatchRequestEntry {
    entry(id).message_body(body).build().unwrap()
}

fn entry(id: impl Into<String>) -> aws_sdk_sqs::types::builders::SendMessageBatchRequestEntryBuilder {
    SendMessageBatchRequestEntry::builder().id(id)
}

fn messages(bodies: impl IntoIterator<Item = usize>) -> Vec<SendMessageBatchRequestEntry> {
    bodies
        .into_iter()
        .map(|body| message(body.to_string(), body.to_string()))
        .collect()
}

/// One call without the SDK's own retries.
async fn send(
    sqs: &Sqs,
    url: impl Into<String>,
    entries: Vec<SendMessageBatchRequestEntry>,
) -> Result<SendMessageBatchOutput, SdkError<SendMessageBatchError>> {
    let once = aws_sdk_sqs::config::Config::builder().retry_config(RetryConfig::disabled());
    let call = sqs.send_message_batch().queue_url(url).set_entries(Some(entries));
    call.customize().config_override(once).send().await
}
