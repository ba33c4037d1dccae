//! An item has here as many bytes as there, whatever its attributes are.

use std::collections::HashMap;

use aws_batch_delivery::deliver_batch_to_dynamo;
use aws_batch_delivery::targets::dynamo::{MAX_ITEM_BYTES, item_size};
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::emulators::Emulators;
use crate::limits::{deliver_to_table, options};
use crate::table::{Item, Table, numbered, put_item, puts, text};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn an_item_of_409_600_bytes_is_delivered_and_one_byte_more_is_refused_whatever_its_types_are() {
    let emulators = Emulators::find().await;
    let table = Table::with_id(&emulators, "largest").await;
    let kinds = kinds();
    let largest = |(id, value): &(String, AttributeValue)| put_item(of_size(id, value.clone(), MAX_ITEM_BYTES));
    deliver_to_table(&table, kinds.iter().map(largest).collect()).await;
    assert_eq!(table.ids().await.len(), kinds.len());

    // One byte more is handed back unsent, and it would have been refused.
    for (id, value) in kinds {
        let item = of_size(&id, value, MAX_ITEM_BYTES + 1);
        let put = table
            .client
            .put_item()
            .table_name(&table.name)
            .set_item(Some(item.clone()));
        let refused = put.send().await.unwrap_err().into_service_error().to_string();
        let error = deliver_batch_to_dynamo(&table.client, &table.name, [put_item(item)], &options())
            .await
            .unwrap_err();
        assert_eq!(
            (error.report.calls, error.undelivered().len()),
            (0, 1),
            "{id}: {refused}"
        );
    }
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn the_other_items_are_delivered_when_one_is_too_large() {
    let emulators = Emulators::find().await;
    let table = Table::with_id(&emulators, "neighbours").await;
    let mut writes = puts(24);
    writes.insert(7, put_item(of_size("large", text(""), MAX_ITEM_BYTES + 1)));
    let error = deliver_batch_to_dynamo(&table.client, &table.name, writes, &options())
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, error.report.calls), (24, 1));
    let [undelivered] = error.undelivered() else {
        panic!("{error:?}")
    };
    assert_eq!((undelivered.position, undelivered.attempts), (7, 0));
    assert_eq!(
        undelivered.cause.to_string(),
        "not sent: the item has 409601 bytes, the limit is 409600"
    );
    assert_eq!(table.ids().await, (0..24).map(numbered).collect::<Vec<_>>());
    table.remove().await;
}

/// Numbers with even and odd counts of digits, before and behind the point, of either sign.
const NUMBERS: [&str; 16] = [
    "0",
    "7",
    "-7",
    "10",
    "12",
    "120",
    "123",
    "-1234",
    "0.5",
    "0.012",
    "-0.12",
    "1234567890.123456789",
    "-99e20",
    "1e-9",
    "1e125",
    "-12345678901234567890123456789012345678",
];

/// Values of every type, each with a name of its own.
fn kinds() -> Vec<(String, AttributeValue)> {
    let number = |number: &str| AttributeValue::N(number.to_owned());
    let strings = |members: &[&str]| members.iter().map(ToString::to_string).collect::<Vec<_>>();
    let large = "x".repeat(100_000);
    let map = || {
        AttributeValue::M(HashMap::from([
            ("größe".to_owned(), AttributeValue::Bool(true)),
            ("number".to_owned(), number("-12.5")),
            ("blob".to_owned(), AttributeValue::B(Blob::new(vec![7; 100_000]))),
        ]))
    };
    let nested = HashMap::from([
        (
            "list".to_owned(),
            AttributeValue::L(vec![AttributeValue::Null(true); 1_000]),
        ),
        ("map".to_owned(), map()),
        ("empty".to_owned(), AttributeValue::L(Vec::new())),
        ("none".to_owned(), AttributeValue::M(HashMap::new())),
    ]);
    let blobs = [vec![0; 3], vec![1; 5], vec![2; 100_000]].map(Blob::new);
    let named = [
        ("text", text("ü€😀")),
        ("empty text", text("")),
        ("binary", AttributeValue::B(Blob::new(vec![0xFF; 300_000]))),
        ("empty binary", AttributeValue::B(Blob::new([0; 0]))),
        ("true", AttributeValue::Bool(true)),
        ("false", AttributeValue::Bool(false)),
        ("null", AttributeValue::Null(true)),
        ("texts", AttributeValue::Ss(strings(&["a", "bcd", "ü", &large]))),
        ("numbers", AttributeValue::Ns(strings(&NUMBERS))),
        ("blobs", AttributeValue::Bs(blobs.to_vec())),
        ("empty list", AttributeValue::L(Vec::new())),
        ("list", AttributeValue::L(NUMBERS.map(number).to_vec())),
        ("empty map", AttributeValue::M(HashMap::new())),
        ("map", map()),
        ("nested", AttributeValue::M(nested)),
    ];
    let named = named.into_iter().map(|(id, value)| (id.to_owned(), value));
    let numbers = NUMBERS
        .iter()
        .map(|digits| (format!("number {digits}"), number(digits)));
    named.chain(numbers).collect()
}

/// An item with this value that is filled up to this size.
fn of_size(id: &str, value: AttributeValue, bytes: usize) -> Item {
    let mut item = Item::from([("id".to_owned(), text(id)), ("value".to_owned(), value)]);
    item.insert("rest".to_owned(), text(""));
    let rest = bytes - item_size(&item);
    item.insert("rest".to_owned(), text("x".repeat(rest)));
    item
}
