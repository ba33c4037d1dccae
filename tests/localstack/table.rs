//! A table of a test's own.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::client::Waiters;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, DeleteRequest, KeySchemaElement, KeyType, PutRequest,
    ScalarAttributeType, WriteRequest,
};

use crate::emulators::{Emulators, unique};

/// Ample for a table of an emulator to be created.
const CREATED_WITHIN: std::time::Duration = std::time::Duration::from_secs(30);

pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) struct Table {
    pub(crate) client: Client,
    pub(crate) name: String,
}

impl Table {
    /// A new one. `key` is the partition key, then the sort key if there is one, each with its type.
    pub(crate) async fn create(emulators: &Emulators, name: &str, key: &[(&str, ScalarAttributeType)]) -> Self {
        let (client, name) = (emulators.dynamo(), unique(name));
        let mut call = client
            .create_table()
            .table_name(&name)
            .billing_mode(BillingMode::PayPerRequest);
        for ((part, kind), role) in key.iter().zip([KeyType::Hash, KeyType::Range]) {
            let definition = AttributeDefinition::builder()
                .attribute_name(*part)
                .attribute_type(kind.clone());
            let schema = KeySchemaElement::builder().attribute_name(*part).key_type(role);
            call = call
                .attribute_definitions(definition.build().unwrap())
                .key_schema(schema.build().unwrap());
        }
        call.send().await.unwrap();
        let created = client.wait_until_table_exists().table_name(&name);
        created.wait(CREATED_WITHIN).await.unwrap();
        Self { client, name }
    }

    /// A new one with the key `id` (S).
    pub(crate) async fn with_id(emulators: &Emulators, name: &str) -> Self {
        Self::create(emulators, name, &[("id", ScalarAttributeType::S)]).await
    }

    /// Everything that it holds.
    pub(crate) async fn items(&self) -> Vec<Item> {
        let pages = self.client.scan().table_name(&self.name).consistent_read(true);
        let items = pages.into_paginator().items().send();
        items.collect::<Result<_, _>>().await.unwrap()
    }

    /// The `id`s of everything that it holds, in order.
    pub(crate) async fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.items().await.iter().map(id).collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) async fn remove(self) {
        self.client.delete_table().table_name(self.name).send().await.unwrap();
    }
}

pub(crate) fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(crate) fn put_item(item: Item) -> WriteRequest {
    let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
    WriteRequest::builder().put_request(put).build()
}

pub(crate) fn put(id: impl Into<String>, value: AttributeValue) -> WriteRequest {
    put_item(Item::from([("id".to_owned(), text(id)), ("value".to_owned(), value)]))
}

pub(crate) fn delete(id: impl Into<String>) -> WriteRequest {
    let delete = DeleteRequest::builder().key("id", text(id)).build().unwrap();
    WriteRequest::builder().delete_request(delete).build()
}

/// The id of the item with this number. In the order of the numbers.
pub(crate) fn numbered(number: usize) -> String {
    format!("{number:06}")
}

/// Small puts, each with an id of its own.
pub(crate) fn puts(count: usize) -> Vec<WriteRequest> {
    (0..count).map(|number| put(numbered(number), text("paid"))).collect()
}

pub(crate) fn id(item: &Item) -> String {
    item["id"].as_s().unwrap().clone()
}

/// The id that a put writes.
pub(crate) fn id_of(write: &WriteRequest) -> String {
    id(write.put_request().unwrap().item())
}
