//! `SendMessageBatch`.

use aws_batch_delivery::Delivery;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use serde_json::{Value, json};

use super::bytes::Bytes;
use super::delivering::{conserves, options};
use super::nonsense::CODES;
use super::service::{Service, Speaks, client};

/// Some messages to a queue that answers as the bytes say.
pub(crate) fn answers(data: &[u8]) {
    let mut bytes = Bytes(data);
    let is_fifo = bytes.one_in(2);
    let messages: Vec<_> = (0..bytes.next() % 40)
        .map(|number| message(number, is_fifo, &mut bytes))
        .collect();
    let service = Service::saying(bytes.0, Sqs);
    let url = format!(
        "https://sqs.eu-central-1.amazonaws.com/1/events{}",
        if is_fifo { ".fifo" } else { "" }
    );
    let delivery = Delivery::to_sqs(client(&service), url).options(options());
    // The target may give a message of a FIFO queue its deduplication id.
    conserves(&delivery, &messages, |one, other| {
        (one.id(), one.message_body(), one.message_group_id())
            == (other.id(), other.message_body(), other.message_group_id())
    });
}

pub(crate) fn client(service: &Service) -> Client {
    client!(aws_sdk_sqs, service)
}

fn message(number: u8, is_fifo: bool, bytes: &mut Bytes<'_>) -> SendMessageBatchRequestEntry {
    let message = SendMessageBatchRequestEntry::builder()
        .id(number.to_string())
        .message_body(number.to_string());
    let message = if is_fifo {
        message.message_group_id((bytes.next() % 3).to_string())
    } else {
        message
    };
    message.build().expect("it has an id and a body")
}

pub(crate) struct Sqs;

impl Speaks for Sqs {
    fn takes(&self, request: &Value, _: &str) -> Value {
        let entries = request["Entries"].as_array().into_iter().flatten();
        json!({ "Successful": entries.map(|entry| accepted(&entry["Id"])).collect::<Vec<_>>(), "Failed": [] })
    }

    fn mixes(&self, request: &Value, bytes: &mut Bytes<'_>) -> Value {
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for entry in request["Entries"].as_array().into_iter().flatten() {
            let id = &entry["Id"];
            match bytes.next() % 12 {
                0..6 => successful.push(accepted(id)),
                6..9 => failed.push(json!({ "Id": id, "Code": bytes.one_of(&CODES), "SenderFault": bytes.one_in(2) })),
                9 => {
                    successful.push(accepted(id));
                    failed.push(json!({ "Id": id, "Code": bytes.one_of(&CODES), "SenderFault": bytes.one_in(2) }));
                }
                10 => successful.push(accepted(&json!(String::from_utf8_lossy(&bytes.some())))),
                _ => {}
            }
        }
        json!({ "Successful": successful, "Failed": failed })
    }
}

fn accepted(id: &Value) -> Value {
    json!({ "Id": id, "MessageId": "message", "MD5OfMessageBody": "", "SequenceNumber": "1" })
}
