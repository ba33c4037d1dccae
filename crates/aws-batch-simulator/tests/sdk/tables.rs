//! Batch writes, reads and their validation.

use aws_batch_simulator::{KeyType, Simulator, TableOptions, json};
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{AttributeValue, ConsumedCapacity, ReturnConsumedCapacity, WriteRequest};

use crate::{by_id, delete, put, put_of, puts, string, write};

/// Writes to a fresh table, and returns the code and the message of the error.
async fn refusal(writes: Vec<WriteRequest>) -> (String, String) {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    let error = write(&simulator.dynamo_client(), "orders", writes).await.unwrap_err();
    assert!(orders.is_empty(), "a refused call applies nothing");
    let error = error.into_service_error();
    (
        error.code().unwrap_or_default().to_owned(),
        error.message().unwrap_or_default().to_owned(),
    )
}

#[tokio::test(start_paused = true)]
async fn puts_and_deletes_are_applied() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    let dynamo = simulator.dynamo_client();
    write(&dynamo, "orders", puts(0..25)).await.unwrap();
    assert_eq!(orders.len(), 25);
    write(&dynamo, "orders", vec![delete("3"), put("new")]).await.unwrap();
    assert_eq!(orders.len(), 25);
    assert_eq!(orders.item(&json!({"id": {"S": "3"}})), None);
    assert_eq!(
        orders.item(&json!({"id": {"S": "new"}})),
        Some(json!({"id": {"S": "new"}}))
    );
    assert_eq!(orders.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_bad_write_refuses_the_whole_call() {
    let good = || put("good");
    let number = |text: &str| put_of([("id", string("a")), ("n", AttributeValue::N(text.into()))]);
    let nested = (0..32).fold(string("x"), |inner, _| AttributeValue::L(vec![inner]));
    let very_nested = (0..80).fold(string("x"), |inner, _| AttributeValue::L(vec![inner]));
    let set = |members: &[&str]| AttributeValue::Ss(members.iter().map(ToString::to_string).collect());
    for (writes, part) in [
        (puts(0..26), "less than or equal to 25"),
        (
            vec![put("a"), delete("a")],
            "Provided list of item keys contains duplicates",
        ),
        (
            vec![good(), put_of([("no", string("id"))])],
            "The provided key element does not match the schema",
        ),
        (
            vec![good(), put_of([("id", AttributeValue::N("1".into()))])],
            "The provided key element does not match the schema",
        ),
        (vec![good(), put("")], "cannot contain an empty string value. Key: id"),
        (
            vec![
                good(),
                put_of([("id", string("a")), ("s", string("x".repeat(409_597)))]),
            ],
            "Item size has exceeded the maximum allowed size",
        ),
        (
            vec![good(), put_of([("id", string("a")), ("s", set(&[]))])],
            "may not be empty",
        ),
        (
            vec![good(), put_of([("id", string("a")), ("s", set(&["b", "b"]))])],
            "contains duplicates",
        ),
        (vec![good(), number("seven")], "cannot be converted to a numeric value"),
        (vec![good(), number(&"1".repeat(39))], "more than 38 significant digits"),
        (
            vec![good(), put_of([("id", string("a")), ("l", nested)])],
            "Nesting Levels have exceeded supported limits",
        ),
        (
            vec![good(), put_of([("id", string("a")), ("l", very_nested)])],
            "Nesting Levels have exceeded supported limits",
        ),
        (vec![WriteRequest::builder().build()], "more than one datatypes set"),
    ] {
        let (code, message) = refusal(writes).await;
        assert_eq!(code, "ValidationException", "{part}");
        assert!(message.contains(part), "{message:?} should say {part:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_item_of_exactly_the_limit_is_accepted() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    // The names "id" and "s" and the value "a" take four bytes.
    let largest = put_of([("id", string("a")), ("s", string("x".repeat(409_600 - 4)))]);
    write(&simulator.dynamo_client(), "orders", vec![largest])
        .await
        .unwrap();
    assert_eq!(orders.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_beyond_sixteen_mebibytes_is_refused_with_413() {
    let simulator = Simulator::new(1);
    simulator.table("orders", by_id());
    let dynamo = simulator.dynamo_client();
    let item = |id: usize, text: String| put_of([("id", string(id.to_string())), ("s", string(text))]);
    // A control character takes one byte of an item, and six of the wire.
    let escaped = |bytes: usize| (0..25).map(|id| item(id, "\u{1}".repeat(bytes))).collect();
    assert!(write(&dynamo, "orders", escaped(100_000)).await.is_ok());
    let error = write(&dynamo, "orders", escaped(120_000)).await.unwrap_err();
    assert_eq!(
        error.raw_response().map(|response| response.status().as_u16()),
        Some(413)
    );
}

#[tokio::test(start_paused = true)]
async fn several_tables_are_written_by_one_call_by_name_or_arn() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    let carts = simulator.table("carts", by_id());
    let call = simulator.dynamo_client().batch_write_item();
    let call = call
        .request_items("orders", puts(0..3))
        .request_items(carts.arn(), puts(0..4));
    let output = call
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
        .send()
        .await
        .unwrap();
    assert_eq!((orders.len(), carts.len()), (3, 4));
    let units: f64 = output
        .consumed_capacity()
        .iter()
        .filter_map(ConsumedCapacity::capacity_units)
        .sum();
    assert!((units - 7.0).abs() < 1e-9);
}

#[tokio::test(start_paused = true)]
async fn an_item_costs_a_unit_for_each_started_kilobyte_of_the_larger_version() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    let dynamo = simulator.dynamo_client();
    let large = put_of([("id", string("a")), ("s", string("x".repeat(2_048)))]);
    for (write_request, expected) in [(large, 3.0), (put("a"), 3.0), (put("a"), 1.0), (delete("a"), 1.0)] {
        let before = orders.statistics().units;
        write(&dynamo, "orders", vec![write_request]).await.unwrap();
        assert!((orders.statistics().units - before - expected).abs() < 1e-9);
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_table_is_not_found() {
    let dynamo = Simulator::new(1).dynamo_client();
    let error = write(&dynamo, "orders", puts(0..1))
        .await
        .unwrap_err()
        .into_service_error();
    assert!(error.is_resource_not_found_exception());
}

#[tokio::test(start_paused = true)]
async fn numbers_are_one_key_when_their_values_are_equal() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", TableOptions::key("n", KeyType::N));
    let numbered = |text: &str| put_of([("n", AttributeValue::N(text.into()))]);
    let dynamo = simulator.dynamo_client();
    let error = write(&dynamo, "orders", vec![numbered("1"), numbered("1.0")]).await;
    assert!(error.is_err());
    write(&dynamo, "orders", vec![numbered("1")]).await.unwrap();
    write(&dynamo, "orders", vec![numbered("1.0"), numbered("10")])
        .await
        .unwrap();
    assert_eq!(orders.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_poisoned_item_refuses_its_call() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    orders.poison(|item| item["id"]["S"] == "7");
    let dynamo = simulator.dynamo_client();
    let error = write(&dynamo, "orders", puts(0..25))
        .await
        .unwrap_err()
        .into_service_error();
    assert_eq!(error.code(), Some("ValidationException"));
    assert_eq!(orders.statistics().refused_calls, 1);
    write(&dynamo, "orders", puts(8..33)).await.unwrap();
    assert_eq!(orders.len(), 25);
}

#[tokio::test(start_paused = true)]
async fn items_are_got_and_tables_described() {
    let simulator = Simulator::new(1);
    simulator.table("orders", by_id());
    let dynamo = simulator.dynamo_client();
    write(&dynamo, "orders", puts(0..2)).await.unwrap();
    write(&dynamo, "orders", vec![put("1"), put("9")]).await.unwrap();
    write(&dynamo, "orders", vec![delete("9")]).await.unwrap();
    let get = |id: &str| dynamo.get_item().table_name("orders").key("id", string(id)).send();
    assert_eq!(
        get("1").await.unwrap().item().map(|item| item["id"].clone()),
        Some(string("1"))
    );
    assert!(get("2").await.unwrap().item().is_none());
    let table = dynamo.describe_table().table_name("orders").send().await.unwrap();
    let table = table.table().unwrap();
    assert_eq!(table.item_count(), Some(2));
    // Each item is the name "id" and a single digit.
    assert_eq!(table.table_size_bytes(), Some(6));
    assert_eq!(table.key_schema()[0].attribute_name(), "id");
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_is_not_simulated_is_unknown() {
    let error = Simulator::new(1)
        .dynamo_client()
        .list_tables()
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some("UnknownOperationException"));
}

#[tokio::test(start_paused = true)]
async fn a_table_that_counts_only_keeps_nothing() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id().counts_only());
    write(&simulator.dynamo_client(), "orders", puts(0..25)).await.unwrap();
    assert_eq!(orders.statistics().applied, 25);
    assert!(orders.is_empty());
}
