//! Order, duplicates and poisoned entries, tested with the emulators.

use std::collections::HashMap;
use std::error::Error;

use aws_batch_delivery::targets::dynamo::{DynamoTable, TableWrite};
use aws_batch_delivery::{Cause, Delivery, deliver_batch_to_dynamo};
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, ScalarAttributeType, WriteRequest};

use crate::emulators::Emulators;
use crate::key_unknown::KeyUnknown;
use crate::limits::options;
use crate::queue::{Queue, message};
use crate::table::{Item, Table, delete, numbered, put, put_item, puts, text};

fn number(number: &str) -> AttributeValue {
    AttributeValue::N(number.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn writes_of_a_key_arrive_in_order_however_its_numbers_are_spelled() {
    let emulators = Emulators::find().await;
    let key = [("id", ScalarAttributeType::S), ("at", ScalarAttributeType::N)];
    let table = Table::create(&emulators, "order", &key).await;
    let write = |id: &str, at: &str, version: usize| {
        let item = [
            ("id", text(id)),
            ("at", number(at)),
            ("version", number(&version.to_string())),
        ];
        put_item(Item::from(item.map(|(name, value)| (name.to_owned(), value))))
    };
    let gone = DeleteRequest::builder().key("id", text("b")).key("at", number("1e0"));
    let gone = WriteRequest::builder().delete_request(gone.build().unwrap()).build();
    let spellings = ["1", "1.0", "10e-1", "+1", "01"];
    let mut writes = vec![write("b", "1", 0), gone];
    writes.extend((0..100).map(|version| write("a", spellings[version % 5], version)));
    let report = deliver_batch_to_dynamo(&table.client, &table.name, writes, &options())
        .await
        .unwrap();
    assert_eq!((report.delivered, report.calls), (102, 100));
    let items = table.items().await;
    let versions: Vec<&AttributeValue> = items.iter().map(|item| &item["version"]).collect();
    assert_eq!(versions, [&number("99")]);
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn the_same_key_twice_takes_two_calls_and_the_later_value_stands() {
    let emulators = Emulators::find().await;
    let table = Table::with_id(&emulators, "twice").await;
    let writes = [put("a", text("older")), put("a", text("newer"))];
    let report = deliver_batch_to_dynamo(&table.client, &table.name, writes, &options())
        .await
        .unwrap();
    assert_eq!((report.delivered, report.calls), (2, 2));
    assert_eq!(table.items().await[0]["value"], text("newer"));
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn keys_that_look_alike_when_joined_are_different_and_share_a_call() {
    let emulators = Emulators::find().await;
    let key = [("id", ScalarAttributeType::S), ("at", ScalarAttributeType::S)];
    let table = Table::create(&emulators, "joined", &key).await;
    let write = |id: &str, at: &str| {
        let item = [("id", text(id)), ("at", text(at))];
        put_item(Item::from(item.map(|(name, value)| (name.to_owned(), value))))
    };
    let writes = [
        write("ab", "cd"),
        write("a", "bcd"),
        write("abc", "d"),
        write("cd", "ab"),
    ];
    let report = deliver_batch_to_dynamo(&table.client, &table.name, writes, &options())
        .await
        .unwrap();
    assert_eq!((report.delivered, report.calls), (4, 1));
    assert_eq!(table.items().await.len(), 4);
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn under_last_write_wins_older_writes_that_wait_are_dropped_and_the_last_one_stands() {
    let emulators = Emulators::find().await;
    let table = Table::with_id(&emulators, "last").await;
    let writes = (0..1_000).map(|version| put(numbered(version % 3), number(&version.to_string())));
    let report = deliver_batch_to_dynamo(&table.client, &table.name, writes, &options().last_write_wins())
        .await
        .unwrap();
    assert_eq!(report.delivered + report.superseded, 1_000);
    assert!(report.superseded > 0 && report.delivered >= 3, "{report:?}");
    let mut items = table.items().await;
    items.sort_unstable_by_key(crate::table::id);
    let values: Vec<&AttributeValue> = items.iter().map(|item| &item["value"]).collect();
    assert_eq!(values, [&number("999"), &number("997"), &number("998")]);
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn duplicates_that_only_the_service_finds_are_written_one_after_the_other() {
    let emulators = Emulators::find().await;
    let table = Table::with_id(&emulators, "duplicates").await;
    let mut writes = puts(15);
    writes.extend((0..5).map(|version| put("a", number(&version.to_string()))));
    writes.push(delete(numbered(3)));
    let target = KeyUnknown(DynamoTable::new(table.client.clone(), &table.name));
    let report = Delivery::new(target).options(options()).deliver(writes).await.unwrap();
    assert_eq!(report.delivered, 21);
    let items = table.items().await;
    assert_eq!(items.len(), 15);
    let a = items.iter().find(|item| item["id"] == text("a")).unwrap();
    assert_eq!(a["value"], number("4"));
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn one_poisoned_put_is_handed_back_alone_with_the_words_of_the_service() {
    let emulators = Emulators::find().await;
    let table = Table::with_id(&emulators, "poison").await;
    let mut writes = puts(500);
    let keyless = Item::from([("name", text("nobody"))].map(|(name, value)| (name.to_owned(), value)));
    writes.insert(234, put_item(keyless));
    let target = KeyUnknown(DynamoTable::new(table.client.clone(), &table.name));
    let error = Delivery::new(target)
        .options(options())
        .deliver(writes.clone())
        .await
        .unwrap_err();
    assert_eq!(error.report.delivered, 500);
    assert!(error.report.calls <= 21 + 11, "{} calls", error.report.calls);
    let [undelivered] = error.undelivered() else {
        panic!("{error:?}")
    };
    assert_eq!(undelivered.position, 234);
    let Cause::Refused(fault) = &undelivered.cause else {
        panic!("{undelivered:?}")
    };
    assert_eq!(fault.code(), "ValidationException");
    assert!(fault.source().is_some());
    assert_eq!(table.ids().await.len(), 500);

    // Who may ask for the key does not even send it.
    let error = deliver_batch_to_dynamo(&table.client, &table.name, writes, &options())
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, error.report.calls), (500, 20));
    assert!(matches!(error.undelivered()[0].cause, Cause::Invalid(_)));
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn calls_mix_tables() {
    let emulators = Emulators::find().await;
    let one = Table::with_id(&emulators, "one").await;
    let other = Table::with_id(&emulators, "other").await;
    let tables = [&one.name, &other.name];
    let writes = puts(100)
        .into_iter()
        .flat_map(|put| tables.map(|table| TableWrite::new(table, put.clone())));
    let report = Delivery::to_dynamo_tables(emulators.dynamo(), tables)
        .options(options())
        .deliver(writes)
        .await
        .unwrap();
    assert_eq!((report.delivered, report.calls), (200, 8));
    assert_eq!((one.ids().await.len(), other.ids().await.len()), (100, 100));
    one.remove().await;
    other.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn messages_of_a_group_arrive_in_order_without_ids_of_the_callers() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "groups.fifo").await;
    // Each body comes ten times, and is a message of its own each time.
    let messages = (0..1_000).map(|number| {
        let mut message = message(format!("{:03}", number / 10));
        message.message_group_id = Some((number % 7).to_string());
        message
    });
    let report = Delivery::to_sqs(queue.client.clone(), &queue.url)
        .deliver(messages)
        .await
        .unwrap();
    assert_eq!(report.delivered, 1_000);
    assert!(report.calls < 200, "{} calls", report.calls);
    let mut groups: HashMap<String, Vec<String>> = HashMap::new();
    for received in queue.drain().await {
        groups.entry(received.group.unwrap()).or_default().push(received.body);
    }
    assert_eq!(groups.values().map(Vec::len).sum::<usize>(), 1_000);
    assert!(groups.values().all(|bodies| bodies.is_sorted()));
    queue.remove().await;
}
