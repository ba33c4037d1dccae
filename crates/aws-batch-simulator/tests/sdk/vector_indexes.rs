//! Vector indexes: what they refuse, what they leave out, and what writes to them cost.

use std::collections::HashMap;
use std::time::Duration;

use aws_batch_simulator::{IndexOptions, KeyType, Simulator, Table, Throughput, VectorIndexOptions};
use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata};
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, Put, PutRequest, ReturnConsumedCapacity, SearchSchemaElementType,
    TransactWriteItem, VectorCapacity, WriteRequest,
};
use tokio::time::sleep;

use super::{Dynamo, by_id, put, put_of, string, unprocessed, write};

/// A table with an index without a key, `plain`, and one by tenant with a filter, `schema`, of the same attribute.
fn films() -> (Table, Dynamo) {
    let schema = VectorIndexOptions::new("embedding", 3)
        .key("tenant", KeyType::S)
        .filter("category", KeyType::S);
    let options = by_id()
        .vector_index("plain", VectorIndexOptions::new("embedding", 3))
        .vector_index("schema", schema);
    let simulator = Simulator::new(1);
    let table = simulator.table("films", options);
    (table, simulator.dynamo_client())
}

fn number(number: &str) -> AttributeValue {
    AttributeValue::N(number.to_owned())
}

fn vector(numbers: &[&str]) -> AttributeValue {
    AttributeValue::L(numbers.iter().map(|text| number(text)).collect())
}

/// The message of the refusal of an item with a tenant and this attribute, by each of the calls that put items.
async fn refusal(attribute: &str, value: AttributeValue) -> String {
    let (table, client) = films();
    let item = [("id", string("a")), ("tenant", string("t")), (attribute, value)];
    let item: HashMap<_, _> = item.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let single = client.put_item().table_name("films").set_item(Some(item.clone()));
    let single = single.send().await.unwrap_err();
    assert_eq!(single.code(), Some("ValidationException"));
    let message = single.message().unwrap().to_owned();

    let refused = PutRequest::builder().set_item(Some(item.clone())).build().unwrap();
    let refused = WriteRequest::builder().put_request(refused).build();
    let batch = client
        .batch_write_item()
        .request_items("films", vec![put("b"), refused]);
    let batch = batch.send().await.unwrap_err();
    assert_eq!(batch.message(), Some(message.as_str()));

    let put = Put::builder().table_name("films").set_item(Some(item)).build().unwrap();
    let action = TransactWriteItem::builder().put(put).build();
    let cancelled = client
        .transact_write_items()
        .transact_items(action)
        .send()
        .await
        .unwrap_err();
    let words = DisplayErrorContext(&cancelled).to_string();
    assert!(words.contains(&message), "{words}");

    // The other item of the batch is refused with it.
    assert!(table.is_empty());
    message
}

const WRONG: &str = "One or more parameter values are not valid. One or more parameter values were invalid .";

#[tokio::test]
async fn a_vector_that_an_index_cannot_take_is_refused_in_the_words_of_dynamodb() {
    for (value, words) in [
        (
            vector(&["1", "0"]),
            format!("{WRONG} Invalid size for parameter embedding, Expected: 3, Actual: 2. IndexName: plain"),
        ),
        (
            string("not a vector"),
            format!("{WRONG} Invalid type for parameter embedding, Expected: L, Actual: S. IndexName: plain"),
        ),
        (
            vector(&["1", "400000000000000000000000000000000000000", "0"]),
            format!(
                "{WRONG} Invalid value for parameter embedding[1], Value: 4E+38 is outside valid range [-3.4028235E38, \
                 3.4028235E38]. IndexName: plain"
            ),
        ),
        (
            AttributeValue::L(vec![number("1"), string("oops"), number("0")]),
            "One or more parameter values were invalid. Invalid type for parameter embedding[1], Expected: 32-bit floating point \
             number, Actual: S. IndexName: plain"
                .to_owned(),
        ),
    ] {
        assert_eq!(refusal("embedding", value).await, words);
    }
}

#[tokio::test]
async fn the_key_and_the_filters_of_an_index_have_their_types() {
    for (attribute, value, words) in [
        (
            "tenant",
            number("7"),
            "One or more parameter values were invalid. Attribute 'tenant' type mismatch. Expected: S, Actual: N. IndexName: schema"
                .to_owned(),
        ),
        (
            "category",
            number("7"),
            "One or more parameter values were invalid. Attribute 'category' type mismatch. Expected: S, Actual: N. IndexName: \
             schema"
                .to_owned(),
        ),
        (
            "tenant",
            string(""),
            "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The \
             AttributeValue for a key attribute cannot contain an empty string value. IndexName: schema, IndexKey: tenant"
                .to_owned(),
        ),
        (
            "tenant",
            string("t".repeat(2_049)),
            "One or more parameter values were invalid: Aggregate size for HASH key attributes exceeds the maximum of 2048 bytes"
                .to_owned(),
        ),
    ] {
        assert_eq!(refusal(attribute, value).await, words);
    }
}

#[tokio::test]
async fn an_item_without_the_key_of_an_index_is_written_and_not_in_the_index() {
    let (table, client) = films();
    let complete = put_of([
        ("id", string("a")),
        ("tenant", string("t")),
        ("embedding", vector(&["1", "0", "0"])),
    ]);
    let without_key = put_of([("id", string("b")), ("embedding", vector(&["0", "1", "0"]))]);
    let without_vector = put_of([("id", string("c")), ("tenant", string("t"))]);
    let call = client
        .batch_write_item()
        .request_items("films", vec![complete, without_key, without_vector]);
    call.send().await.unwrap();
    assert_eq!(table.len(), 3);
    assert_eq!((table.vectors("plain"), table.vectors("schema")), (2, 1));
    assert_eq!(table.vectors("none"), 0);

    let update = client.update_item().table_name("films").key("id", string("a"));
    update.update_expression("REMOVE tenant").send().await.unwrap();
    assert_eq!((table.vectors("plain"), table.vectors("schema")), (2, 0));
}

#[tokio::test]
async fn an_update_is_refused_if_the_index_cannot_take_its_result() {
    let (table, client) = films();
    let update = client.update_item().table_name("films").key("id", string("a"));
    let update = update
        .update_expression("SET embedding = :vector")
        .expression_attribute_values(":vector", vector(&["1"]));
    let refused = update.send().await.unwrap_err();
    let words = format!("{WRONG} Invalid size for parameter embedding, Expected: 3, Actual: 1. IndexName: plain");
    assert_eq!(refused.message(), Some(words.as_str()));
    assert!(table.is_empty());
}

#[tokio::test]
async fn a_write_is_billed_by_32_bit_floats_and_by_bytes_for_each_index() {
    let simulator = Simulator::new(1);
    let index = VectorIndexOptions::new("embedding", 512).key("tenant", KeyType::S);
    simulator.table("films", by_id().vector_index("by_meaning", index));
    let client = simulator.dynamo_client();
    // 512 numbers of 17 digits have more than 5,000 bytes, and 2,048 as 32-bit floats.
    let long = vector(&["0.12345678901234567"; 512]);
    let write = async |id: &str, tenant: Option<&str>, long: &AttributeValue| {
        let call = client.put_item().table_name("films");
        let call = call.item("id", string(id)).item("embedding", long.clone());
        let call = match tenant {
            Some(tenant) => call.item("tenant", string(tenant)),
            None => call,
        };
        let call = call.return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        let consumed = call.send().await.unwrap().consumed_capacity.unwrap();
        let bytes = consumed.vector_indexes().and_then(|indexes| indexes.get("by_meaning"));
        (
            consumed.capacity_units().unwrap(),
            bytes.and_then(VectorCapacity::vector_write_request_bytes),
        )
    };
    let names = "embedding".len() + "ida".len() + "tenantt".len();
    let entry = 4.0 * 512.0 + f64::from(u32::try_from(names).unwrap());
    assert_eq!(write("a", Some("t"), &long).await, (3.0, Some(entry)));
    // Writing the same again changes nothing in the index, and an item without its key is not in it.
    assert_eq!(write("a", Some("t"), &long).await, (3.0, None));
    assert_eq!(write("b", None, &long).await, (3.0, None));
    // An item that leaves the index is written once more to it.
    assert_eq!(write("a", None, &long).await, (3.0, Some(entry)));

    let small = VectorIndexOptions::new("embedding", 3);
    simulator.table("films", by_id().vector_index("by_meaning", small));
    assert_eq!(write("a", None, &vector(&["1", "2", "3"])).await, (1.0, Some(1_024.0)));
}

#[tokio::test]
async fn the_description_of_a_table_has_its_vector_indexes() {
    let (_, client) = films();
    let described = client.describe_table().table_name("films").send().await.unwrap();
    let described = described.table().unwrap();
    let types: Vec<&str> = described
        .attribute_definitions()
        .iter()
        .map(AttributeDefinition::attribute_name)
        .collect();
    assert_eq!(types, ["id", "tenant", "category"]);
    let [plain, schema] = described.vector_indexes() else {
        panic!("{described:?}");
    };
    assert_eq!((plain.index_name(), plain.dimensions()), (Some("plain"), Some(3)));
    assert!(plain.search_schema().is_empty());
    assert_eq!(plain.vector_attribute().unwrap().attribute_name(), "embedding");
    let roles: Vec<_> = schema
        .search_schema()
        .iter()
        .map(|element| (element.attribute_name(), element.search_schema_element_type()))
        .collect();
    let (key, filter) = (SearchSchemaElementType::Hash, SearchSchemaElementType::InlineFilter);
    assert_eq!(roles, [("tenant", &key), ("category", &filter)]);
}

#[tokio::test(start_paused = true)]
async fn what_a_vector_index_with_a_throughput_cannot_take_comes_back_and_the_error_names_the_index() {
    // The least write has a KiB, so the index takes ten of them a second.
    let narrow = VectorIndexOptions::new("embedding", 3)
        .key("tenant", KeyType::S)
        .throughput(Throughput::provisioned(10.0));
    let simulator = Simulator::new(1);
    let options = by_id()
        .index("by_customer", IndexOptions::key("customer", KeyType::S))
        .vector_index("plain", VectorIndexOptions::new("embedding", 3))
        .vector_index("narrow", narrow);
    let films = simulator.table("films", options);
    let client = simulator.dynamo_client();
    sleep(Duration::from_secs(1)).await;
    let film = |id: usize, tenant: &str| {
        put_of([
            ("id", string(id.to_string())),
            (tenant, string("t")),
            ("embedding", vector(&["1", "0", "0"])),
        ])
    };
    let of_index = (0..15).map(|id| film(id, "tenant"));
    let mixed = of_index.chain((15..25).map(|id| film(id, "owner"))).collect();
    let output = write(&client, "films", mixed).await.unwrap();
    assert_eq!(unprocessed(&output), 5, "ten of the index, and all that are not in it");
    assert_eq!((films.vectors("plain"), films.vectors("narrow")), (20, 10));

    let error = write(&client, "films", vec![film(30, "tenant")]).await.unwrap_err();
    let BatchWriteItemError::ProvisionedThroughputExceededException(error) = error.into_service_error() else {
        panic!("another error");
    };
    let [reason] = error.throttling_reasons() else {
        panic!("{error:?}");
    };
    assert_eq!(reason.reason(), Some("IndexWriteProvisionedThroughputExceeded"));
    let arn = format!("{}/index/narrow", films.arn());
    assert_eq!(reason.resource(), Some(arn.as_str()));
}
