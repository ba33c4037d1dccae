//! Kinesis: records to a stream.

use aws_batch_delivery::conformance::{Fixture, Reply, Service, Statement, check};
use aws_batch_delivery::targets::Limits;
use aws_batch_delivery::targets::kinesis::KinesisStream;
use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use serde_json::{Value, json};

use crate::conformance::throttles::paces;
use crate::conformance::wire::{Wire, by_place, config, of_the_call};
use crate::conformance::{cases, number, text};

/// From the errors of `PutRecords` in the SDK. The documentation names only the first one for a single record.
const THROTTLES: &[&str] = &["ProvisionedThroughputExceededException", "KMSThrottlingException"];

fn client(throttled: &'static str, answer: impl Fn(&[usize]) -> Reply + Send + Sync + 'static) -> Client {
    let wire = Wire::of_json(move |request| {
        let Some(records) = request["Records"].as_array() else {
            return (200, json!({"Shards": []}).to_string());
        };
        let key = |record: &Value| record["PartitionKey"].as_str().map(number);
        let numbers: Vec<usize> = records
            .iter()
            .map(|record| key(record).expect("a record has its key"))
            .collect();
        match answer(&numbers) {
            Reply::Each { said, strangers } => {
                let accepted = json!({"SequenceNumber": "1", "ShardId": "shardId-000000000000"});
                let records = by_place(&said, strangers, &accepted, throttled);
                // The counter is wrong, and must be ignored.
                (200, json!({"Records": records, "FailedRecordCount": 0}).to_string())
            }
            Reply::Whole(said) => of_the_call(said, throttled, "InvalidArgumentException"),
        }
    });
    Client::from_conf(config!(aws_sdk_kinesis, wire))
}

struct Records;

impl Fixture for Records {
    type Target = KinesisStream;

    fn target(&self, service: Service, limits: Option<Limits>) -> KinesisStream {
        let client = client(THROTTLES[0], move |numbers| service.call(numbers));
        let target = KinesisStream::new(client, "orders");
        limits.into_iter().fold(target, KinesisStream::with_limits)
    }

    fn entry(&self, number: usize, bytes: usize) -> PutRecordsRequestEntry {
        let record = PutRecordsRequestEntry::builder().partition_key(number.to_string());
        record.data(Blob::new(text(number, bytes))).build().unwrap()
    }

    fn number(&self, entry: &PutRecordsRequestEntry) -> usize {
        number(entry.partition_key().unwrap())
    }

    fn entry_replies(&self) -> &[Statement] {
        &[
            Statement::Accepted,
            Statement::Throttled,
            Statement::Failed,
            Statement::Unknown,
            Statement::Nothing,
        ]
    }

    fn answers_for_unsent_entries(&self) -> bool {
        true
    }
}

#[tokio::test(start_paused = true)]
async fn records_keep_the_contract() {
    check(Records, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn records_are_paced_by_every_throttle() {
    for code in THROTTLES {
        let stream = |bucket, limits| KinesisStream::new(client(code, bucket), "orders").with_limits(limits);
        paces(code, &Records, stream).await;
    }
}
