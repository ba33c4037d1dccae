//! Which keys of a table are one key.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, InvalidEntry};
use aws_sdk_dynamodb::config::BehaviorVersion;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};

use crate::order::service::options;

/// The versions of each call.
type Calls = Arc<Mutex<Vec<Vec<String>>>>;

/// A table with the keys of a real one, but without a type for its key. It throttles the first call with this version.
struct AnyType {
    table: DynamoTable,
    throttled: Mutex<Option<&'static str>>,
    calls: Calls,
}

impl AnyType {
    fn throttling(version: Option<&'static str>) -> (Self, Calls) {
        let config = aws_sdk_dynamodb::Config::builder().behavior_version(BehaviorVersion::latest());
        let client = aws_sdk_dynamodb::Client::from_conf(config.build());
        let calls = Calls::default();
        let target = Self {
            table: DynamoTable::new(client, "orders").key("id"),
            throttled: Mutex::new(version),
            calls: Arc::clone(&calls),
        };
        (target, calls)
    }
}

impl BatchTarget for AnyType {
    type Entry = WriteRequest;

    fn limits(&self) -> Limits {
        BatchTarget::limits(&self.table)
    }

    fn check(&self, entry: &WriteRequest) -> Result<usize, InvalidEntry> {
        self.table.check(entry)
    }

    fn lane(&self, entry: &WriteRequest) -> Option<Lane> {
        self.table.lane(entry)
    }

    fn supersedes(&self, newer: &WriteRequest, older: &WriteRequest) -> bool {
        self.table.supersedes(newer, older)
    }

    async fn send(&self, chunk: &[WriteRequest]) -> Answer {
        tokio::time::sleep(Duration::from_millis(8)).await;
        let versions: Vec<String> = chunk.iter().map(version).collect();
        self.calls.lock().unwrap().push(versions.clone());
        let mut throttled = self.throttled.lock().unwrap();
        let verdict = |version: &String| match throttled.take_if(|throttled| version == throttled) {
            Some(_) => Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled")),
            None => Verdict::Accepted,
        };
        Answer::Each(versions.iter().map(verdict).collect())
    }
}

fn version(write: &WriteRequest) -> String {
    write.put_request().unwrap().item()["version"].as_s().unwrap().clone()
}

fn put(id: AttributeValue, version: &str) -> WriteRequest {
    let put = PutRequest::builder()
        .item("id", id)
        .item("version", AttributeValue::S(version.to_owned()));
    WriteRequest::builder().put_request(put.build().unwrap()).build()
}

/// A text, a number and binary that look the same, two versions of each.
fn of_three_types() -> [WriteRequest; 6] {
    let text = || AttributeValue::S("1".to_owned());
    let number = |number: &str| AttributeValue::N(number.to_owned());
    let binary = || AttributeValue::B(Blob::new("1"));
    [
        put(text(), "S0"),
        put(number("1"), "N0"),
        put(binary(), "B0"),
        put(text(), "S1"),
        put(number("1.0"), "N1"),
        put(binary(), "B1"),
    ]
}

#[tokio::test(start_paused = true)]
async fn keys_that_differ_only_by_type_are_different_keys() {
    let (target, calls) = AnyType::throttling(None);
    let report = Delivery::new(target)
        .options(options(0))
        .deliver(of_three_types())
        .await
        .unwrap();
    assert_eq!(report.delivered, 6);
    assert_eq!(*calls.lock().unwrap(), [["S0", "N0", "B0"], ["S1", "N1", "B1"]]);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_key_does_not_hold_up_the_same_key_of_another_type() {
    let (target, calls) = AnyType::throttling(Some("N0"));
    Delivery::new(target)
        .options(options(1_000))
        .deliver(of_three_types())
        .await
        .unwrap();
    let expected = [vec!["S0", "N0", "B0"], vec!["S1", "B1"], vec!["N0"], vec!["N1"]];
    assert_eq!(*calls.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn the_last_write_wins_only_over_those_of_its_own_type() {
    let (target, calls) = AnyType::throttling(None);
    let report = Delivery::new(target)
        .options(options(0).last_write_wins())
        .deliver(of_three_types())
        .await
        .unwrap();
    assert_eq!((report.delivered, report.superseded), (3, 3));
    assert_eq!(*calls.lock().unwrap(), [["S1", "N1", "B1"]]);
}
