//! DynamoDB: writes to a table in batches, alone and in transactions, and reads from one.

use std::collections::HashMap;

use aws_batch_delivery::conformance::{Fixture, Reply, Service, Statement, check};
use aws_batch_delivery::targets::Limits;
use aws_batch_delivery::targets::dynamo::{
    DynamoReads, DynamoTable, DynamoTransactions, DynamoWrites, ItemWrite, KeyRead, Transaction,
};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Put, PutRequest, TransactWriteItem, WriteRequest};
use serde_json::{Value, json};

use crate::conformance::cases;
use crate::conformance::throttles::{paces, paces_single};
use crate::conformance::wire::{Wire, config, of_the_call};

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
                let is_left = |(_, said): &(&Value, Statement)| *said != Statement::Accepted;
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

    fn entry_replies(&self) -> &[Statement] {
        &[Statement::Accepted, Statement::Throttled]
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
                let of = |read: bool| {
                    told.clone()
                        .filter(move |(_, said)| (**said == Statement::Accepted) == read)
                };
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

    fn entry_replies(&self) -> &[Statement] {
        &[Statement::Accepted, Statement::Throttled]
    }

    fn answers_for_unsent_entries(&self) -> bool {
        true
    }
}

/// A client of a service that takes one entry with each call: a put, or a transaction whose first action is one.
fn single_client(throttled: &'static str, answer: impl Fn(&[usize]) -> Reply + Send + Sync + 'static) -> Client {
    let wire = Wire::of_json(move |request| {
        let item = match &request["TransactItems"] {
            Value::Null => &request["Item"],
            actions => &actions[0]["Put"]["Item"],
        };
        let id = item["id"]["N"].as_str().expect("a put has its id");
        let said = match answer(&[id.parse().expect("the id is a number")]) {
            Reply::Each { said, .. } => said[0],
            Reply::Whole(said) => said,
        };
        match said {
            Statement::Accepted => (200, "{}".to_owned()),
            Statement::ConditionFailed => {
                let stands = json!({"id": {"N": id}, "text": {"S": "of another writer"}});
                let failed = json!({"__type": "com.amazonaws#ConditionalCheckFailedException", "Item": stands});
                (400, failed.to_string())
            }
            said => of_the_call(said, throttled, "ValidationException"),
        }
    });
    Client::from_conf(config!(aws_sdk_dynamodb, wire))
}

struct ItemWrites;

impl Fixture for ItemWrites {
    type Target = DynamoWrites;

    fn target(&self, service: Service, limits: Option<Limits>) -> DynamoWrites {
        let client = single_client(THROTTLES[0], move |numbers| service.call(numbers));
        let table = DynamoTable::new(client, "films").key("id");
        limits.into_iter().fold(table, DynamoTable::with_limits).into()
    }

    fn entry(&self, number: usize, bytes: usize) -> ItemWrite {
        let item = Writes.entry(number, bytes).put_request.unwrap().item;
        ItemWrite::put(item).condition("attribute_not_exists(id)")
    }

    fn number(&self, write: &ItemWrite) -> usize {
        write.attributes().unwrap()["id"].as_n().unwrap().parse().unwrap()
    }

    fn entry_replies(&self) -> &[Statement] {
        &[Statement::Accepted, Statement::Throttled, Statement::ConditionFailed]
    }
}

struct Transactions;

impl Fixture for Transactions {
    type Target = DynamoTransactions;

    fn target(&self, service: Service, _: Option<Limits>) -> DynamoTransactions {
        DynamoTransactions::new(single_client(THROTTLES[0], move |numbers| service.call(numbers)))
    }

    /// A put of the number, and puts of as many other items as the bytes need.
    fn entry(&self, number: usize, bytes: usize) -> Transaction {
        const OF_ITEM: usize = 300_000;
        let first = Writes.entry(number, bytes.min(OF_ITEM));
        let more = (1..).map(|item| (item, bytes.saturating_sub(item * OF_ITEM).min(OF_ITEM)));
        let more = more.take_while(|(_, bytes)| *bytes > 0);
        let puts = std::iter::once(first).chain(more.map(|(item, bytes)| Writes.entry(1_000_000 + item, bytes)));
        Transaction::new(puts.map(|write| {
            let put = Put::builder()
                .table_name("films")
                .set_item(write.put_request.map(|put| put.item));
            TransactWriteItem::builder().put(put.build().unwrap()).build()
        }))
    }

    fn number(&self, transaction: &Transaction) -> usize {
        let put = transaction.actions()[0].put().unwrap();
        put.item()["id"].as_n().unwrap().parse().unwrap()
    }

    fn entry_replies(&self) -> &[Statement] {
        &[Statement::Accepted, Statement::Throttled]
    }
}

#[tokio::test(start_paused = true)]
async fn single_writes_keep_the_contract() {
    check(ItemWrites, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn transactions_keep_the_contract() {
    check(Transactions, cases()).await;
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
async fn single_writes_are_paced_by_a_throttle() {
    paces_single(THROTTLES[0], &ItemWrites, |bucket| {
        let client = single_client(THROTTLES[0], bucket);
        DynamoTable::new(client, "films").key("id").into()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn transactions_are_paced_by_a_throttle() {
    paces_single(THROTTLES[0], &Transactions, |bucket| {
        DynamoTransactions::new(single_client(THROTTLES[0], bucket))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn reads_are_paced_by_every_throttle() {
    for code in THROTTLES {
        let reads = |bucket, limits| DynamoReads::new(reading_client(code, bucket), "films").with_limits(limits);
        paces(code, &Reads, reads).await;
    }
}
