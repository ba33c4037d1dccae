//! DynamoDB: writes to a table, and reads from one.

use std::collections::HashMap;

use aws_batch_delivery::conformance::{Fixture, Reply, Said, Service, check};
use aws_batch_delivery::targets::Limits;
use aws_batch_delivery::targets::dynamo::{DynamoReads, DynamoTable, KeyRead};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use serde_json::{Value, json};

use crate::cases;
use crate::throttles::paces;
use crate::wire::{Wire, config, of_the_call};

/// From the errors of the two calls in the SDK. A single entry is throttled without a code.
const THROTTLES: &[&str] = &[
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
];

fn writing_client(throttled: &'static str, answer: impl Fn(&[usize]) -> Reply + Send + Sync + 'static) -> Client {
    let wire = Wire::of_json(move |request| {
        let writes = request["RequestItems"]["films"]
            .as_array()
            .expect("the call is for one table");
        let id = |write: &Value| write["PutRequest"]["Item"]["id"]["N"].as_str()?.parse().ok();
        let numbers: Vec<usize> = writes
            .iter()
            .map(|write| id(write).expect("a put has its id"))
            .collect();
        match answer(&numbers) {
            Reply::Each { said, strangers } => {
                let is_left = |(_, said): &(&Value, Said)| *said != Said::Accepted;
                let left = writes.iter().zip(said).filter(is_left).map(|(write, _)| write.clone());
                let stranger = json!({"PutRequest": {"Item": {"id": {"N": "-1"}}}});
                let left: Vec<Value> = left.chain(std::iter::repeat_n(stranger, strangers)).collect();
                let unprocessed = if left.is_empty() {
                    json!({})
                } else {
                    json!({"films": left})
                };
                (200, json!({"UnprocessedItems": unprocessed}).to_string())
            }
            Reply::Whole(said) => of_the_call(said, throttled, "ValidationException"),
        }
    });
    Client::from_conf(config!(aws_sdk_dynamodb, wire))
}

struct Writes;

impl Fixture for Writes {
    type Target = DynamoTable;

    fn target(&self, service: Service, limits: Option<Limits>) -> DynamoTable {
        let client = writing_client(THROTTLES[0], move |numbers| service.call(numbers));
        let table = DynamoTable::new(client, "films").key("id");
        limits.into_iter().fold(table, DynamoTable::with_limits)
    }

    fn entry(&self, number: usize, bytes: usize) -> WriteRequest {
        let item = HashMap::from([
            ("id".to_owned(), AttributeValue::N(number.to_string())),
            ("text".to_owned(), AttributeValue::S("x".repeat(bytes))),
        ]);
        let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    }

    fn number(&self, write: &WriteRequest) -> usize {
        let item = write.put_request().map(PutRequest::item).unwrap();
        item["id"].as_n().unwrap().parse().unwrap()
    }

    fn entry_replies(&self) -> &[Said] {
        &[Said::Accepted, Said::Throttled]
    }

    fn answers_for_unsent_entries(&self) -> bool {
        true
    }
}

fn reading_client(throttled: &'static str, answer: impl Fn(&[usize]) -> Reply + Send + Sync + 'static) -> Client {
    let wire = Wire::of_json(move |request| {
        let keys = request["RequestItems"]["films"]["Keys"].as_array();
        let keys = keys.expect("the call is for one table");
        let id = |key: &Value| key["id"]["N"].as_str()?.parse().ok();
        let numbers: Vec<usize> = keys.iter().map(|key| id(key).expect("a key has its id")).collect();
        match answer(&numbers) {
            Reply::Each { said, strangers } => {
                let told = keys.iter().zip(&said);
                let of = |read: bool| told.clone().filter(move |(_, said)| (**said == Said::Accepted) == read);
                let stranger = json!({"id": {"N": "-1"}});
                let items = of(true).map(|(key, _)| key.clone());
                let items: Vec<Value> = items.chain(std::iter::repeat_n(stranger, strangers)).collect();
                let left: Vec<&Value> = of(false).map(|(key, _)| key).collect();
                let unprocessed = if left.is_empty() {
                    json!({})
                } else {
                    json!({"films": {"Keys": left}})
                };
                (
                    200,
                    json!({"Responses": {"films": items}, "UnprocessedKeys": unprocessed}).to_string(),
                )
            }
            Reply::Whole(said) => of_the_call(said, throttled, "ValidationException"),
        }
    });
    Client::from_conf(config!(aws_sdk_dynamodb, wire))
}

struct Reads;

impl Fixture for Reads {
    type Target = DynamoReads;

    fn target(&self, service: Service, limits: Option<Limits>) -> DynamoReads {
        let client = reading_client(THROTTLES[0], move |numbers| service.call(numbers));
        let reads = DynamoReads::new(client, "films");
        limits.into_iter().fold(reads, DynamoReads::with_limits)
    }

    /// A key with a sort key that fills up the given length.
    fn entry(&self, number: usize, bytes: usize) -> KeyRead {
        let mut key = HashMap::from([("id".to_owned(), AttributeValue::N(number.to_string()))]);
        let length = if bytes > 4_000_000 {
            bytes
        } else {
            bytes.clamp(1, 1_000)
        };
        key.insert("part".to_owned(), AttributeValue::S("x".repeat(length)));
        KeyRead::new(key)
    }

    fn number(&self, read: &KeyRead) -> usize {
        read.key()["id"].as_n().unwrap().parse().unwrap()
    }

    fn entry_replies(&self) -> &[Said] {
        &[Said::Accepted, Said::Throttled]
    }

    fn answers_for_unsent_entries(&self) -> bool {
        true
    }
}

#[tokio::test(start_paused = true)]
async fn reads_keep_the_contract() {
    check(Reads, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn writes_keep_the_contract() {
    check(Writes, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn writes_are_paced_by_every_throttle() {
    for code in THROTTLES {
        let table = |bucket, limits| {
            DynamoTable::new(writing_client(code, bucket), "films")
                .key("id")
                .with_limits(limits)
        };
        paces(code, &Writes, table).await;
    }
}

#[tokio::test(start_paused = true)]
async fn reads_are_paced_by_every_throttle() {
    for code in THROTTLES {
        let reads = |bucket, limits| DynamoReads::new(reading_client(code, bucket), "films").with_limits(limits);
        paces(code, &Reads, reads).await;
    }
}
