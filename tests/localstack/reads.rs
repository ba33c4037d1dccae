//! Items are read by their keys, in the order of the keys.

use std::collections::HashMap;

use aws_batch_delivery::targets::dynamo::DynamoReads;
use aws_batch_delivery::{Delivery, DeliveryOptions, deliver_batch_to_dynamo};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use futures::StreamExt;

use crate::emulators::Emulators;
use crate::table::{Item, Table};

const ITEMS: usize = 1_000;

/// 100 items of so many bytes are more than an answer takes.
const LARGE: usize = 300_000;

fn key(number: usize) -> Item {
    HashMap::from([("id".to_owned(), AttributeValue::S(format!("item {number}")))])
}

fn item(number: usize, bytes: usize) -> Item {
    let mut item = key(number);
    item.insert("number".to_owned(), AttributeValue::N(number.to_string()));
    item.insert("text".to_owned(), AttributeValue::S("x".repeat(bytes)));
    item
}

async fn filled(emulators: &Emulators, name: &str, items: usize, bytes: usize) -> Table {
    let table = Table::with_id(emulators, name).await;
    let writes = (0..items).map(|number| {
        let put = PutRequest::builder().set_item(Some(item(number, bytes)));
        WriteRequest::builder().put_request(put.build().unwrap()).build()
    });
    deliver_batch_to_dynamo(&table.client, &table.name, writes, &DeliveryOptions::default())
        .await
        .unwrap();
    table
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn items_come_in_the_order_of_their_keys_and_none_for_a_key_without_one() {
    let emulators = Emulators::find().await;
    let table = filled(&emulators, "reads", ITEMS, 10).await;
    // Some twice, some not there.
    let asked: Vec<usize> = (0..2 * ITEMS).map(|number| number * 7 % (ITEMS + 100)).collect();
    let expected: Vec<Option<Item>> = asked
        .iter()
        .map(|number| (*number < ITEMS).then(|| item(*number, 10)))
        .collect();
    let keys = || asked.iter().map(|number| key(*number));
    let options = DeliveryOptions::default();
    let items = Delivery::reads_from_dynamo(table.client.clone(), &table.name)
        .options(options.clone())
        .get(keys())
        .await
        .unwrap();
    assert_eq!(items, expected);

    let reads = Delivery::reads_from_dynamo(table.client.clone(), &table.name).map_target(DynamoReads::consistent);
    let streamed = reads.get_stream(futures::stream::iter(keys()));
    let streamed: Vec<Option<Item>> = streamed.map(Result::unwrap).collect().await;
    assert_eq!(streamed, expected);

    let numbers = reads
        .map_target(|reads| reads.attributes(["number"]))
        .get([key(5)])
        .await
        .unwrap();
    let mut expected = key(5);
    expected.insert("number".to_owned(), AttributeValue::N("5".to_owned()));
    assert_eq!(numbers, [Some(expected)]);
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn items_that_are_too_many_for_an_answer_come_with_the_next_one() {
    let emulators = Emulators::find().await;
    let table = filled(&emulators, "large-reads", 120, LARGE).await;
    let options = DeliveryOptions::default();
    let items = Delivery::reads_from_dynamo(table.client.clone(), &table.name)
        .options(options.clone())
        .get((0..120).map(key))
        .await
        .unwrap();
    let expected: Vec<_> = (0..120).map(|number| Some(item(number, LARGE))).collect();
    assert!(items == expected, "the items are not those that were written");
    table.remove().await;
}
