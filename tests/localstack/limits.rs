//! No call is refused for its count, its size or its ids.

use aws_batch_delivery::backoff::Exponential;
use aws_batch_delivery::targets::sqs::{MAX_BATCH_BYTES, message_size};
use aws_batch_delivery::{DeliveryOptions, Report, deliver_batch_to_dynamo, deliver_batch_to_sqs};
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};

use crate::emulators::Emulators;
use crate::queue::{self, Queue, message, messages};
use crate::table::{self, Table, delete, numbered, put, puts, text};

/// 390 KB, somewhat less than an item may have.
const LARGE: usize = 390 * 1024;

/// With a strategy that has no say in how large the calls are.
pub(crate) fn options() -> DeliveryOptions {
    DeliveryOptions::default().backoff(Exponential::full_jitter())
}

/// Delivers all of them, each sent once.
pub(crate) async fn deliver_to_table(table: &Table, writes: Vec<WriteRequest>) -> Report {
    let count = writes.len() as u64;
    let report = deliver_batch_to_dynamo(&table.client, &table.name, writes, &options())
        .await
        .unwrap();
    assert_eq!((report.delivered, report.resubmitted), (count, 0));
    report
}

/// Delivers all of them, each sent once.
async fn deliver_to_queue(queue: &Queue, entries: Vec<SendMessageBatchRequestEntry>) -> Report {
    let count = entries.len() as u64;
    let report = deliver_batch_to_sqs(&queue.client, &queue.url, entries, &options())
        .await
        .unwrap();
    assert_eq!((report.delivered, report.resubmitted), (count, 0));
    report
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn a_hundred_and_one_puts_take_five_calls() {
    let emulators = Emulators::find().await;
    let table = Table::with_id(&emulators, "puts").await;
    let report = deliver_to_table(&table, puts(101)).await;
    assert_eq!(report.calls, 5);
    assert_eq!(table.ids().await, (0..101).map(numbered).collect::<Vec<_>>());
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn deletes_and_puts_share_their_calls() {
    let emulators = Emulators::find().await;
    let table = Table::with_id(&emulators, "mixed").await;
    deliver_to_table(&table, puts(50)).await;

    // Every second one goes, and as many new ones come in between.
    let change = |number| {
        if number % 2 == 0 {
            delete(numbered(number))
        } else {
            put(numbered(number + 100), text("new"))
        }
    };
    let report = deliver_to_table(&table, (0..50).map(change).collect()).await;
    assert_eq!(report.calls, 2);
    let odd = |number: &usize| number % 2 == 1;
    let expected = (0..50).filter(odd).chain((100..150).filter(odd)).map(numbered);
    assert_eq!(table.ids().await, expected.collect::<Vec<_>>());
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn large_binary_items_share_a_call_as_base64() {
    let emulators = Emulators::find().await;
    let value = |number| AttributeValue::B(Blob::new(vec![u8::try_from(number).unwrap(); LARGE]));
    // 25 times 520 KB of base64.
    assert_eq!(calls_for_large_items(&emulators, value).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn large_texts_of_quotes_are_split_by_their_escapes() {
    let emulators = Emulators::find().await;
    // 780 KB each with the backslashes, of which 21 fit into 16 MiB.
    assert_eq!(calls_for_large_items(&emulators, |_| text("\"".repeat(LARGE))).await, 2);
}

/// Delivers 25 items with such a value each, and reads them back.
async fn calls_for_large_items(emulators: &Emulators, value: impl Fn(usize) -> AttributeValue) -> u64 {
    let table = Table::with_id(emulators, "large").await;
    let writes = (0..25).map(|number| put(numbered(number), value(number))).collect();
    let report = deliver_to_table(&table, writes).await;

    let mut items = table.items().await;
    items.sort_unstable_by_key(table::id);
    assert_eq!(items.len(), 25);
    for (number, item) in items.iter().enumerate() {
        assert_eq!(table::id(item), numbered(number));
        assert!(item["value"] == value(number), "item {number} has changed");
    }
    table.remove().await;
    report.calls
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn eleven_messages_with_one_id_take_two_calls() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "eleven").await;
    for id in ["same", "", "not an id!"] {
        let mut entries = messages(11);
        for entry in &mut entries {
            entry.id = id.to_owned();
        }
        let report = deliver_to_queue(&queue, entries).await;
        assert_eq!(report.calls, 2);
        assert_eq!(queue.bodies().await, (0..11).map(queue::numbered).collect::<Vec<_>>());
    }
    queue.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn a_batch_of_exactly_the_limit_takes_one_call_and_one_byte_more_takes_two() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "limit").await;
    for (bytes, calls) in [(MAX_BATCH_BYTES, 1), (MAX_BATCH_BYTES + 1, 2)] {
        // Two bytes a letter, so that bytes and letters do not agree.
        let mut bodies: Vec<String> = (0..9).map(|_| "ü".repeat(52_000)).collect();
        let rest = bytes - bodies.iter().map(String::len).sum::<usize>();
        bodies.push("x".repeat(rest));
        bodies.sort_unstable();

        let report = deliver_to_queue(&queue, bodies.iter().map(message).collect()).await;
        assert_eq!(report.calls, calls);
        assert!(queue.bodies().await == bodies, "the bodies have changed");
    }
    queue.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn the_largest_message_is_as_large_here_as_there() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "largest").await;
    let largest = with_attributes(MAX_BATCH_BYTES);
    let body = largest.message_body.clone();
    deliver_to_queue(&queue, vec![largest]).await;
    assert!(queue.bodies().await == [body], "the body has changed");

    // One byte more is handed back unsent, and it would have been refused.
    let larger = with_attributes(MAX_BATCH_BYTES + 1);
    let send = queue.client.send_message().queue_url(&queue.url);
    let send = send
        .message_body(larger.message_body())
        .set_message_attributes(larger.message_attributes.clone());
    let refused = send.send().await.unwrap_err().into_service_error();
    let error = deliver_batch_to_sqs(&queue.client, &queue.url, [larger], &options())
        .await
        .unwrap_err();
    assert_eq!((error.report.calls, error.undelivered().len()), (0, 1), "{refused}");
    queue.remove().await;
}

/// A message with attributes that is this large, as SQS counts.
fn with_attributes(bytes: usize) -> SendMessageBatchRequestEntry {
    let text = MessageAttributeValue::builder()
        .data_type("String.label")
        .string_value("välue");
    let binary = MessageAttributeValue::builder()
        .data_type("Binary")
        .binary_value(aws_sdk_sqs::primitives::Blob::new([7; 9]));
    let entry = SendMessageBatchRequestEntry::builder()
        .id("large")
        .message_body("")
        .message_attributes("text", text.build().unwrap())
        .message_attributes("binary", binary.build().unwrap());
    let mut entry = entry.build().unwrap();
    entry.message_body = "x".repeat(bytes - message_size(&entry));
    entry
}
