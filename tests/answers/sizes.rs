//! What is sent, measured in the SDK's own JSON: no call exceeds the limits of its service, and no entry is refused that fits.

use std::collections::HashMap;

use aws_batch_delivery::{Cause, Delivery, DeliveryError, Report};
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use serde_json::Value;

use super::bytes::Bytes;
use super::delivering::options;
use super::service::Service;
use super::{dynamo, sqs};

/// The limits of a call of DynamoDB: entries, and bytes of its body.
const WRITES: usize = 25;
const BODY: usize = 16 << 20;

/// Bytes of an item.
const ITEM: usize = 400 << 10;

/// The limits of a call of SQS: entries, and bytes of all messages, which are those of one message as well.
const MESSAGES: usize = 10;
const ALL_MESSAGES: usize = 1 << 20;

/// Lengths that a text or its parts may have.
const LENGTHS: [usize; 10] = [0, 1, 2, 15, 100, 1_000, 30_000, 100_000, 200_000, 409_590];

/// Characters that JSON writes as they are, in two bytes, in six, and such as have several bytes of their own.
const CHARACTERS: [&str; 6] = ["x", "\"", "\u{1}", "ü", "€", "😀"];

fn text(bytes: &mut Bytes<'_>) -> String {
    let character = bytes.one_of(&CHARACTERS);
    let length = bytes.one_of(&LENGTHS) + usize::from(bytes.next() % 16);
    character.repeat(length / character.len())
}

/// Items of which each has its number and some attributes.
pub(crate) fn of_writes(data: &[u8]) {
    let mut bytes = Bytes(data);
    let writes: Vec<_> = (0..bytes.next() % 60).map(|number| write(number, &mut bytes)).collect();
    let fits = |write: &WriteRequest| write.put_request().is_some_and(|put| size_of(put.item()) <= ITEM);
    let fitting = writes.iter().filter(|write| fits(write)).count();
    let service = Service::saying(&[], dynamo::Dynamo);
    let delivery = Delivery::to_dynamo(dynamo::client(&service), "orders")
        .options(options())
        .map_target(|table| table.key("id"));
    check(delivered(&delivery, writes), fitting, fits);
    for body in service.requests() {
        assert!(body.len() <= BODY, "a body has {} bytes", body.len());
        let request: Value = serde_json::from_slice(&body).expect("the SDK writes JSON");
        let writes = request["RequestItems"]["orders"].as_array().map_or(0, Vec::len);
        assert!((1..=WRITES).contains(&writes), "{writes} writes");
    }
}

fn write(number: u8, bytes: &mut Bytes<'_>) -> WriteRequest {
    let mut put = PutRequest::builder().item("id", AttributeValue::N(number.to_string()));
    for attribute in 0..bytes.next() % 4 {
        put = put.item(format!("a{attribute}"), value(bytes, 0));
    }
    let put = put.build().expect("it has an item");
    WriteRequest::builder().put_request(put).build()
}

fn value(bytes: &mut Bytes<'_>, level: usize) -> AttributeValue {
    match bytes.next() % if level < 4 { 8 } else { 5 } {
        0 => AttributeValue::B(Blob::new(text(bytes))),
        1 => AttributeValue::Bool(bytes.one_in(2)),
        2 => AttributeValue::Null(true),
        3 => AttributeValue::Ss(vec!["one".to_owned(), text(bytes) + "another"]),
        4 | 5 => AttributeValue::S(text(bytes)),
        6 => AttributeValue::L((0..bytes.next() % 5).map(|_| value(bytes, level + 1)).collect()),
        _ => AttributeValue::M(
            (0..bytes.next() % 5)
                .map(|name| (name.to_string(), value(bytes, level + 1)))
                .collect(),
        ),
    }
}

/// Bytes of an item by the rules of DynamoDB's developer guide ("item sizes and formats").
fn size_of(item: &HashMap<String, AttributeValue>) -> usize {
    item.iter().map(|(name, value)| name.len() + bytes_of(value)).sum()
}

fn bytes_of(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        // A byte for two digits, and one more.
        AttributeValue::N(number) => number.trim_end_matches('0').len().div_ceil(2) + 1,
        AttributeValue::B(blob) => blob.as_ref().len(),
        AttributeValue::Bool(_) | AttributeValue::Null(_) => 1,
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::L(values) => 3 + values.iter().map(|value| 1 + bytes_of(value)).sum::<usize>(),
        AttributeValue::M(map) => 3 + map.len() + size_of(map),
        other => unreachable!("{other:?} is not made"),
    }
}

/// Messages with attributes.
pub(crate) fn of_messages(data: &[u8]) {
    let mut bytes = Bytes(data);
    let messages: Vec<_> = (0..bytes.next() % 40)
        .map(|number| message(number, &mut bytes))
        .collect();
    let fits = |message: &SendMessageBatchRequestEntry| size_of_message(message) <= ALL_MESSAGES;
    let fitting = messages.iter().filter(|message| fits(message)).count();
    let service = Service::saying(&[], sqs::Sqs);
    let url = "https://sqs.eu-central-1.amazonaws.com/1/events";
    let delivery = Delivery::to_sqs(sqs::client(&service), url).options(options());
    check(delivered(&delivery, messages), fitting, fits);
    for body in service.requests() {
        let request: Value = serde_json::from_slice(&body).expect("the SDK writes JSON");
        // The first call asks the queue for its largest message.
        let Some(entries) = request["Entries"].as_array() else {
            continue;
        };
        assert!((1..=MESSAGES).contains(&entries.len()), "{} messages", entries.len());
        let bytes: usize = entries.iter().map(sent_bytes).sum();
        assert!(bytes <= ALL_MESSAGES, "the messages of a call have {bytes} bytes");
    }
}

fn message(number: u8, bytes: &mut Bytes<'_>) -> SendMessageBatchRequestEntry {
    // Three in a row are as long as a message may be.
    let body = (0..bytes.next() % 4)
        .map(|_| text(bytes))
        .collect::<String>()
        .replace('\u{1}', "x")
        + "body";
    let mut message = SendMessageBatchRequestEntry::builder()
        .id(number.to_string())
        .message_body(body);
    for attribute in 0..bytes.next() % 3 {
        let value = MessageAttributeValue::builder().data_type("String");
        let value = value.string_value(text(bytes).replace('\u{1}', "x") + "value");
        message = message.message_attributes(format!("a{attribute}"), value.build().expect("it has a type"));
    }
    message.build().expect("it has an id and a body")
}

fn size_of_message(message: &SendMessageBatchRequestEntry) -> usize {
    let attributes = message.message_attributes().into_iter().flatten();
    let attributes =
        attributes.map(|(name, value)| name.len() + value.data_type().len() + value.string_value().map_or(0, str::len));
    message.message_body().len() + attributes.sum::<usize>()
}

/// The same, as it was sent.
fn sent_bytes(entry: &Value) -> usize {
    let length = |value: &Value| value.as_str().map_or(0, str::len);
    let attributes = entry["MessageAttributes"].as_object().into_iter().flatten();
    let attributes =
        attributes.map(|(name, value)| name.len() + length(&value["DataType"]) + length(&value["StringValue"]));
    length(&entry["MessageBody"]) + attributes.sum::<usize>()
}

fn delivered<T: aws_batch_delivery::targets::BatchTarget>(
    delivery: &Delivery<T>,
    entries: Vec<T::Entry>,
) -> Result<Report, DeliveryError<T::Entry>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(delivery.deliver(entries))
}

/// All that fit are delivered, and the others are handed back, each for its size.
fn check<E>(delivered: Result<Report, DeliveryError<E>>, fitting: usize, fits: impl Fn(&E) -> bool) {
    let (report, undelivered) = match delivered {
        Ok(report) => (report, Vec::new()),
        Err(error) => (error.report.clone(), error.into_undelivered()),
    };
    assert_eq!(report.delivered, fitting as u64, "{report:?}");
    for undelivered in undelivered {
        assert!(!fits(&undelivered.entry), "{}", undelivered.cause);
        assert!(matches!(undelivered.cause, Cause::Invalid(_)), "{}", undelivered.cause);
    }
}
