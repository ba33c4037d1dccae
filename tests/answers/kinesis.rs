//! `PutRecords`.

use aws_batch_delivery::Delivery;
use aws_batch_delivery::targets::kinesis::KinesisStream;
use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use serde_json::{Value, json};

use super::bytes::Bytes;
use super::delivering::{conserves, options};
use super::nonsense::CODES;
use super::service::{Service, Speaks, client};

/// Some records to a stream that answers as the bytes say.
pub(crate) fn answers(data: &[u8]) {
    let mut bytes = Bytes(data);
    let records = (0..bytes.next() % 40).map(|number| {
        let record = PutRecordsRequestEntry::builder().data(Blob::new([number]));
        record
            .partition_key((bytes.next() % 8).to_string())
            .build()
            .expect("it has data and a key")
    });
    let records: Vec<_> = records.collect();
    let service = Service::saying(bytes.0, Kinesis);
    let mut delivery = Delivery::to_kinesis(client(&service), "orders").options(options());
    if data.len().is_multiple_of(2) {
        delivery = delivery.map_target(KinesisStream::aggregated);
    }
    conserves(&delivery, &records, |one, other| one == other);
}

fn client(service: &Service) -> Client {
    client!(aws_sdk_kinesis, service)
}

struct Kinesis;

impl Speaks for Kinesis {
    fn takes(&self, request: &Value, _: &str) -> Value {
        let records = request["Records"].as_array().into_iter().flatten();
        json!({ "FailedRecordCount": 0, "Records": records.map(|_| accepted()).collect::<Vec<_>>() })
    }

    fn mixes(&self, request: &Value, bytes: &mut Bytes<'_>) -> Value {
        let mut records = Vec::new();
        for _ in request["Records"].as_array().into_iter().flatten() {
            match bytes.next() % 10 {
                0..5 => records.push(accepted()),
                5..8 => records.push(json!({ "ErrorCode": bytes.one_of(&CODES), "ErrorMessage": "by chance" })),
                8 => records.push(json!({})),
                // The answer is shorter or longer than the call.
                _ if bytes.one_in(2) => records.extend([accepted(), accepted()]),
                _ => {}
            }
        }
        json!({ "FailedRecordCount": bytes.next(), "Records": records })
    }
}

fn accepted() -> Value {
    json!({ "SequenceNumber": "1", "ShardId": "shardId-000000000000" })
}
