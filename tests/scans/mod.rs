//! Scans of tables as the input of deliveries, against the simulator.

mod copying;
mod endings;
mod pace;
mod promise;
mod reports;

use std::collections::HashMap;

use aws_batch_delivery::Delivery;
use aws_batch_simulator::{KeyType, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};

type Attributes = HashMap<String, AttributeValue>;

fn by_id() -> TableOptions {
    TableOptions::key("id", KeyType::S)
}

fn string(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

fn id(item: &Attributes) -> String {
    item["id"].as_s().unwrap().clone()
}

fn put_item(item: &Attributes) -> WriteRequest {
    let put = PutRequest::builder().set_item(Some(item.clone())).build().unwrap();
    WriteRequest::builder().put_request(put).build()
}

/// An item whose size is about this many bytes.
fn item(id: impl Into<String>, bytes: usize) -> Attributes {
    HashMap::from([
        ("id".to_owned(), string(id)),
        ("text".to_owned(), string("x".repeat(bytes))),
    ])
}

fn delete(id: impl Into<String>) -> WriteRequest {
    let delete = DeleteRequest::builder().key("id", string(id)).build().unwrap();
    WriteRequest::builder().delete_request(delete).build()
}

/// A table with items of the ids from 0, each of this many bytes.
async fn filled(simulator: &Simulator, options: TableOptions, items: usize, bytes: usize) -> Table {
    let table = simulator.table("films", options);
    let writes = (0..items).map(|id| put_item(&item(id.to_string(), bytes)));
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "films");
    delivery.deliver(writes).await.unwrap();
    table
}
