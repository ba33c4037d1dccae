//! Firehose: records to a delivery stream.

use aws_batch_delivery::conformance::{Fixture, Reply, Service, Statement, check};
use aws_batch_delivery::targets::Limits;
use aws_batch_delivery::targets::firehose::FirehoseStream;
use aws_sdk_firehose::Client;
use aws_sdk_firehose::primitives::Blob;
use aws_sdk_firehose::types::Record;
use serde_json::{Value, json};

use crate::conformance::throttles::paces;
use crate::conformance::wire::{Wire, by_place, config, of_the_call};
use crate::conformance::{cases, number, text};

/// From the errors of `PutRecordBatch` in the SDK, which names only this one for a single record, and from those that all services
/// share.
const THROTTLES: &[&str] = &["ServiceUnavailableException", "ThrottlingException"];

fn client(throttled: &'static str, answer: impl Fn(&[usize]) -> Reply + Send + Sync + 'static) -> Client {
    let wire = Wire::of_json(move |request| {
        let records = request["Records"].as_array().expect("a batch has records");
        let data = |record: &Value| {
            let data = aws_smithy_types::base64::decode(record["Data"].as_str()?).ok()?;
            Some(number(&String::from_utf8(data).ok()?))
        };
        let numbers: Vec<usize> = records
            .iter()
            .map(|record| data(record).expect("a record has its text"))
            .collect();
        match answer(&numbers) {
            Reply::Each { said, strangers } => {
                let records = by_place(&said, strangers, &json!({"RecordId": "r"}), throttled);
                // The counter is wrong, and must be ignored.
                (
                    200,
                    json!({"RequestResponses": records, "FailedPutCount": 0}).to_string(),
                )
            }
            Reply::Whole(said) => of_the_call(said, throttled, "InvalidArgumentException"),
        }
    });
    Client::from_conf(config!(aws_sdk_firehose, wire))
}

struct Records;

impl Fixture for Records {
    type Target = FirehoseStream;

    fn target(&self, service: Service, limits: Option<Limits>) -> FirehoseStream {
        let client = client(THROTTLES[0], move |numbers| service.call(numbers));
        let target = FirehoseStream::new(client, "orders");
        limits.into_iter().fold(target, FirehoseStream::with_limits)
    }

    fn entry(&self, number: usize, bytes: usize) -> Record {
        let record = Record::builder().data(Blob::new(text(number, bytes)));
        record.build().unwrap()
    }

    fn number(&self, entry: &Record) -> usize {
        number(std::str::from_utf8(entry.data().as_ref()).unwrap())
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
        let stream = |bucket, limits| FirehoseStream::new(client(code, bucket), "orders").with_limits(limits);
        paces(code, &Records, stream).await;
    }
}
