//! The two sides that are compared, for both services.

use std::sync::{Arc, Mutex};

use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use tokio::task::JoinSet;

use crate::immediate::{all_sent, all_written};

/// Calls in flight: the crate's default.
const CONCURRENCY: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Service {
    Dynamo,
    Sqs,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Side {
    Bare,
    Crate,
}

impl Service {
    pub(crate) const ALL: [Self; 2] = [Self::Dynamo, Self::Sqs];
}

/// Entries, ready for one side to be sent.
pub(crate) enum Load {
    Writes(Vec<WriteRequest>),
    WriteChunks(Vec<Vec<WriteRequest>>),
    Messages(Vec<SendMessageBatchRequestEntry>),
    MessageChunks(Vec<Vec<SendMessageBatchRequestEntry>>),
}

impl Load {
    pub(crate) fn new(service: Service, side: Side, entries: usize) -> Self {
        match (service, side) {
            (Service::Dynamo, Side::Crate) => Self::Writes((0..entries).map(write).collect()),
            (Service::Dynamo, Side::Bare) => Self::WriteChunks(chunks((0..entries).map(write), 25)),
            (Service::Sqs, Side::Crate) => Self::Messages((0..entries).map(message).collect()),
            (Service::Sqs, Side::Bare) => Self::MessageChunks(chunks((0..entries).map(message), 10)),
        }
    }

    /// Sends everything.
    pub(crate) async fn send(self, by: Senders) {
        match self {
            Self::Writes(writes) => {
                let entries = writes.len() as u64;
                let delivery = Delivery::to_dynamo(by.dynamo, "orders")
                    .map_target(|table| table.key("id"))
                    .options(by.options);
                let report = delivery.deliver(writes).await.expect("the service takes everything");
                assert_eq!(report.delivered, entries);
            }
            Self::Messages(messages) => {
                let entries = messages.len() as u64;
                let delivery = Delivery::to_sqs(by.sqs, QUEUE).options(by.options);
                let report = delivery.deliver(messages).await.expect("the service takes everything");
                assert_eq!(report.delivered, entries);
            }
            Self::WriteChunks(chunks) => {
                let client = by.dynamo;
                each(chunks, move |chunk| {
                    let call = client.batch_write_item().request_items("orders", chunk);
                    async move { drop(call.send().await.expect("the service takes everything")) }
                })
                .await;
            }
            Self::MessageChunks(chunks) => {
                let client = by.sqs;
                each(chunks, move |chunk| {
                    let call = client.send_message_batch().queue_url(QUEUE).set_entries(Some(chunk));
                    async move { drop(call.send().await.expect("the service takes everything")) }
                })
                .await;
            }
        }
    }
}

const QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders";

/// What both sides send with: the clients, and the crate's options, whose clones share one pace.
#[derive(Clone)]
pub(crate) struct Senders {
    dynamo: aws_sdk_dynamodb::Client,
    sqs: aws_sdk_sqs::Client,
    options: DeliveryOptions,
}

impl Senders {
    pub(crate) fn new() -> Self {
        let options = DeliveryOptions::default().concurrency(CONCURRENCY);
        Self {
            dynamo: dynamo(),
            sqs: sqs(),
            options,
        }
    }
}

/// As many tasks as calls may be in flight take one chunk after another.
async fn each<C, F>(chunks: Vec<C>, send: impl Fn(C) -> F + Clone + Send + 'static)
where
    C: Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let chunks = Arc::new(Mutex::new(chunks.into_iter()));
    let mut workers = JoinSet::new();
    for _ in 0..CONCURRENCY {
        let (chunks, send) = (Arc::clone(&chunks), send.clone());
        workers.spawn(async move {
            loop {
                let next = chunks.lock().expect("no task panics").next();
                let Some(chunk) = next else { return };
                send(chunk).await;
            }
        });
    }
    workers.join_all().await;
}

fn chunks<E>(entries: impl Iterator<Item = E>, size: usize) -> Vec<Vec<E>> {
    let mut chunks = Vec::new();
    let mut entries = entries.peekable();
    while entries.peek().is_some() {
        chunks.push(entries.by_ref().take(size).collect());
    }
    chunks
}

/// An order of some 250 bytes.
fn write(number: usize) -> WriteRequest {
    let put = PutRequest::builder()
        .item("id", AttributeValue::S(format!("order-{number:012}")))
        .item("customer", AttributeValue::S(format!("customer-{}", number % 1_000)))
        .item("status", AttributeValue::S("shipped".to_owned()))
        .item("total", AttributeValue::N(format!("{}.95", number % 500)))
        .item("placed", AttributeValue::S("2026-11-21T10:15:30Z".to_owned()))
        .item("gift", AttributeValue::Bool(false))
        .item("note", AttributeValue::S("leave it with the neighbours, ".repeat(4)))
        .build()
        .expect("an item is there");
    WriteRequest::builder().put_request(put).build()
}

/// A message of some 250 bytes.
fn message(number: usize) -> SendMessageBatchRequestEntry {
    SendMessageBatchRequestEntry::builder()
        .id((number % 10).to_string())
        .message_body(format!(
            r#"{{"id":"order-{number:012}","customer":"customer-{}","status":"shipped","note":"{}"}}"#,
            number % 1_000,
            "leave it with the neighbours, ".repeat(4)
        ))
        .build()
        .expect("id and body are there")
}

fn dynamo() -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::for_tests())
        .http_client(all_written())
        .build();
    aws_sdk_dynamodb::Client::from_conf(config)
}

fn sqs() -> aws_sdk_sqs::Client {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::for_tests())
        .http_client(all_sent())
        .build();
    aws_sdk_sqs::Client::from_conf(config)
}
