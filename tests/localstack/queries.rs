//! The items of one partition key, of a table and of an index.

use std::collections::BTreeSet;

use aws_batch_delivery::sources::Scan;
use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_dynamo};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection, ProjectionType,
    ScalarAttributeType,
};
use futures::TryStreamExt;

use crate::emulators::{Emulators, unique};
use crate::table::{Item, Table, put_item, text};

const ORDERS: usize = 60;

/// Orders of two customers. All have one state, so that all are tied in the index.
async fn orders(emulators: &Emulators) -> Table {
    let (client, name) = (emulators.dynamo(), unique("orders"));
    let attribute = |name: &str| {
        let definition = AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(ScalarAttributeType::S);
        definition.build().unwrap()
    };
    let key = |name: &str, role: KeyType| {
        let element = KeySchemaElement::builder().attribute_name(name).key_type(role);
        element.build().unwrap()
    };
    let index = GlobalSecondaryIndex::builder()
        .index_name("by_state")
        .key_schema(key("state", KeyType::Hash))
        .key_schema(key("placed", KeyType::Range))
        .projection(Projection::builder().projection_type(ProjectionType::All).build());
    client
        .create_table()
        .table_name(&name)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(["customer", "order", "state", "placed"].map(attribute).into()))
        .key_schema(key("customer", KeyType::Hash))
        .key_schema(key("order", KeyType::Range))
        .global_secondary_indexes(index.build().unwrap())
        .send()
        .await
        .unwrap();
    let item = |(customer, order): (&str, usize)| {
        put_item(Item::from([
            ("customer".to_owned(), text(customer)),
            ("order".to_owned(), text(format!("{order:04}"))),
            ("state".to_owned(), text("open")),
            ("placed".to_owned(), text("2026-11-27")),
        ]))
    };
    let writes = (0..ORDERS).flat_map(|order| [("ada", order), ("ben", order)]).map(item);
    deliver_batch_to_dynamo(&client, &name, writes, &DeliveryOptions::default())
        .await
        .unwrap();
    Table { client, name }
}

fn order(item: &Item) -> (String, String) {
    let text = |name: &str| item[name].as_s().unwrap().clone();
    (text("customer"), text("order"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn the_items_of_a_partition_key_come_in_order_whatever_the_pages() {
    let emulators = Emulators::find().await;
    let table = orders(&emulators).await;
    let condition = "customer = :customer AND #order >= :first";
    let query = Scan::query(table.client.clone(), &table.name, condition)
        .name("#order", "order")
        .value(":customer", text("ben"))
        .value(":first", text("0010"));
    let counted = query.clone().count().await.unwrap();
    assert_eq!(counted.items, ORDERS as u64 - 10);
    let items: Vec<Item> = query.page_items(7).items().try_collect().await.unwrap();
    let expected = (10..ORDERS).map(|order| ("ben".to_owned(), format!("{order:04}")));
    assert_eq!(
        items.iter().map(order).collect::<Vec<_>>(),
        expected.collect::<Vec<_>>()
    );
    table.remove().await;
}

/// Emulators and clients that continue after the keys of the index alone skip items or never end:
/// <https://github.com/getmoto/moto/issues/7761>, <https://github.com/floci-io/floci/issues/587>.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn items_that_are_tied_in_an_index_are_read_once() {
    let emulators = Emulators::find().await;
    let table = orders(&emulators).await;
    let all: BTreeSet<_> = table.items().await.iter().map(order).collect();
    let query = Scan::query(table.client.clone(), &table.name, "#state = :state")
        .name("#state", "state")
        .value(":state", text("open"));
    let scan = Scan::new(table.client.clone(), &table.name).segments(3);
    for reads in [query, scan] {
        let items = reads.index("by_state").page_items(7).items();
        let items: Vec<Item> = items.try_collect().await.unwrap();
        assert_eq!(items.len(), 2 * ORDERS);
        assert_eq!(items.iter().map(order).collect::<BTreeSet<_>>(), all);
    }
    table.remove().await;
}
