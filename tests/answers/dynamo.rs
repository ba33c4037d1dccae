//! `BatchWriteItem`, and `DescribeTable` before it.

use aws_batch_delivery::Delivery;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};
use serde_json::{Value, json};

use super::bytes::Bytes;
use super::delivering::{conserves, options};
use super::service::{Service, Speaks, client};

/// Some writes to a table that answers as the bytes say.
pub(crate) fn answers(data: &[u8]) {
    let mut bytes = Bytes(data);
    let writes: Vec<_> = (0..bytes.next() % 60).map(|number| write(number, &mut bytes)).collect();
    let has_key = !bytes.one_in(4);
    let service = Service::saying(bytes.0, Dynamo);
    let delivery = Delivery::to_dynamo(client(&service), "orders").options(options());
    let delivery = if has_key {
        delivery.map_target(|table| table.key("id"))
    } else {
        delivery
    };
    conserves(&delivery, &writes, |one, other| one == other);
}

pub(crate) fn client(service: &Service) -> Client {
    client!(aws_sdk_dynamodb, service)
}

/// Keys repeat now and then.
fn write(number: u8, bytes: &mut Bytes<'_>) -> WriteRequest {
    let kind = bytes.next();
    let id = AttributeValue::S(if kind % 5 == 4 {
        "same".to_owned()
    } else {
        number.to_string()
    });
    let key = [("id".to_owned(), id)].into();
    if kind % 7 == 6 {
        let delete = DeleteRequest::builder()
            .set_key(Some(key))
            .build()
            .expect("it has a key");
        return WriteRequest::builder().delete_request(delete).build();
    }
    let put = PutRequest::builder()
        .set_item(Some(key))
        .item("number", AttributeValue::N(number.to_string()));
    WriteRequest::builder()
        .put_request(put.build().expect("it has an item"))
        .build()
}

pub(crate) struct Dynamo;

impl Speaks for Dynamo {
    fn takes(&self, _: &Value, operation: &str) -> Value {
        if operation == "DescribeTable" {
            return json!({ "Table": {
                "TableStatus": "ACTIVE",
                "KeySchema": [{ "AttributeName": "id", "KeyType": "HASH" }],
                "AttributeDefinitions": [{ "AttributeName": "id", "AttributeType": "S" }],
            }});
        }
        json!({ "UnprocessedItems": {} })
    }

    fn mixes(&self, request: &Value, bytes: &mut Bytes<'_>) -> Value {
        let sent = request["RequestItems"]["orders"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let mut unprocessed: Vec<_> = sent.iter().filter(|_| bytes.one_in(2)).cloned().collect();
        match bytes.next() % 8 {
            0 => unprocessed.extend(sent.first().cloned()),
            1 => unprocessed.push(json!({ "PutRequest": { "Item": { "id": { "S": "a stranger" } } } })),
            2 => unprocessed.push(json!({ "DeleteRequest": { "Key": { "id": { "S": "0" } } } })),
            3 => unprocessed.reverse(),
            4 => unprocessed.push(json!({})),
            _ => {}
        }
        let table = if bytes.one_in(8) { "another" } else { "orders" };
        json!({ "UnprocessedItems": { table: unprocessed } })
    }
}
