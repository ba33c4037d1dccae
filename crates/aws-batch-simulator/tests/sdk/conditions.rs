//! Conditions and updates of single items.

use std::collections::HashMap;
use std::time::Duration;

use aws_batch_simulator::{
    Acknowledgement, Action, Capacity, IndexOptions, InjectedFault, KeyType, Record, Simulator, Table, TableOptions,
    json,
};
use aws_sdk_dynamodb::Client as Dynamo;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnConsumedCapacity, ReturnValue, ReturnValuesOnConditionCheckFailure,
};
use aws_smithy_http_client::Builder;
use tokio::time::Instant;

use crate::{by_id, string};

const ALL_OLD: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;

fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn orders(simulator: &Simulator) -> (Table, Dynamo) {
    let orders = simulator.table("orders", by_id());
    orders.keep_journal();
    (orders, once(&simulator.dynamo_client()))
}

/// A client without the SDK's own retries.
fn once(dynamo: &Dynamo) -> Dynamo {
    let config = dynamo.config().to_builder().retry_config(RetryConfig::disabled());
    Dynamo::from_conf(config.build())
}

/// Puts an item with a version, if there is none or an older one.
async fn put_newer(dynamo: &Dynamo, version: i64) -> Result<(), PutItemError> {
    let call = dynamo.put_item().table_name("orders");
    let call = call.item("id", string("1")).item("version", number(version));
    let call = call.condition_expression("attribute_not_exists(id) OR #v < :v");
    let call = call.expression_attribute_names("#v", "version");
    let call = call.expression_attribute_values(":v", number(version));
    let call = call.return_values_on_condition_check_failure(ALL_OLD);
    call.send().await.map(|_| ()).map_err(SdkError::into_service_error)
}

async fn add_one(dynamo: &Dynamo) -> Result<Option<HashMap<String, AttributeValue>>, UpdateItemError> {
    let call = dynamo.update_item().table_name("orders").key("id", string("1"));
    let call = call.update_expression("ADD orders :one");
    let call = call.expression_attribute_values(":one", number(1));
    let output = call.return_values(ReturnValue::UpdatedNew).send().await;
    output
        .map(|output| output.attributes)
        .map_err(SdkError::into_service_error)
}

fn told(table: &Table) -> Vec<Acknowledgement> {
    table.journal().iter().map(Record::acknowledgement).collect()
}

#[tokio::test(start_paused = true)]
async fn a_put_is_applied_only_if_its_condition_is_true() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    put_newer(&dynamo, 2).await.unwrap();
    let PutItemError::ConditionalCheckFailedException(error) = put_newer(&dynamo, 1).await.unwrap_err() else {
        panic!("another error");
    };
    let expected = HashMap::from([("id".to_owned(), string("1")), ("version".to_owned(), number(2))]);
    assert_eq!(error.item(), Some(&expected), "the item that there is");
    assert_eq!(error.message(), Some("The conditional request failed"));
    put_newer(&dynamo, 3).await.unwrap();
    assert_eq!(orders.items(), [json!({"id": {"S": "1"}, "version": {"N": "3"}})]);
    let failed = Acknowledgement::ConditionFailed;
    assert_eq!(
        told(&orders),
        [Acknowledgement::Accepted, failed, Acknowledgement::Accepted]
    );
    let statistics = orders.statistics();
    assert_eq!((statistics.entries, statistics.applied), (3, 2));
    assert_eq!((statistics.conditions_failed, statistics.failed), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_item_of_a_failed_condition_comes_only_on_request() {
    let simulator = Simulator::new(1);
    let (_, dynamo) = orders(&simulator);
    put_newer(&dynamo, 2).await.unwrap();
    let call = dynamo.put_item().table_name("orders").item("id", string("1"));
    let call = call.condition_expression("attribute_not_exists(id)");
    let error = call.send().await.unwrap_err().into_service_error();
    let PutItemError::ConditionalCheckFailedException(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(error.item(), None);
}

#[tokio::test(start_paused = true)]
async fn a_delete_is_applied_only_if_its_condition_is_true() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    put_newer(&dynamo, 2).await.unwrap();
    for (version, deletes) in [(1, false), (2, true)] {
        let call = dynamo.delete_item().table_name("orders").key("id", string("1"));
        let call = call.condition_expression("version = :v");
        let call = call.expression_attribute_values(":v", number(version));
        let result = call.return_values(ReturnValue::AllOld).send().await;
        assert_eq!(result.is_ok(), deletes);
        assert_eq!(orders.is_empty(), deletes);
        let old = result.ok().and_then(|output| output.attributes);
        assert_eq!(old.map(|old| old["version"].clone()), deletes.then(|| number(2)));
    }
}

#[tokio::test(start_paused = true)]
async fn an_update_computes_from_the_item_and_answers_as_requested() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    let item = |n: i64| {
        HashMap::from([
            ("id".to_owned(), string("1")),
            ("n".to_owned(), number(n)),
            ("kept".to_owned(), string("k")),
        ])
    };
    let only = |n: i64| HashMap::from([("n".to_owned(), number(n))]);
    let call = dynamo.put_item().table_name("orders").set_item(Some(item(0)));
    call.send().await.unwrap();
    for (number_before, values, expected) in [
        (0, ReturnValue::None, None),
        (1, ReturnValue::AllOld, Some(item(1))),
        (2, ReturnValue::AllNew, Some(item(3))),
        (3, ReturnValue::UpdatedOld, Some(only(3))),
        (4, ReturnValue::UpdatedNew, Some(only(5))),
    ] {
        let call = dynamo.update_item().table_name("orders").key("id", string("1"));
        let call = call.update_expression("SET n = n + :one").return_values(values);
        let call = call.condition_expression("n = :before");
        let call = call.expression_attribute_values(":one", number(1));
        let call = call.expression_attribute_values(":before", number(number_before));
        assert_eq!(call.send().await.unwrap().attributes, expected);
    }
    let record = &orders.journal()[5];
    assert_eq!(record.action, Action::Update);
    assert_eq!(record.entry()["UpdateExpression"], "SET n = n + :one");
    assert_eq!(Some(record.key.to_string()), orders.key_of(&json!({"id": {"S": "1"}})));
}

#[tokio::test(start_paused = true)]
async fn an_update_creates_the_item_if_there_is_none() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    assert_eq!(add_one(&dynamo).await.unwrap().unwrap()["orders"], number(1));
    assert_eq!(orders.items(), [json!({"id": {"S": "1"}, "orders": {"N": "1"}})]);
}

// Seen in emulators: an update on the condition that the item exists left one that had only its key.
#[tokio::test(start_paused = true)]
async fn an_update_whose_condition_is_false_creates_no_item() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    let call = dynamo.update_item().table_name("orders").key("id", string("1"));
    let call = call
        .update_expression("ADD n :one")
        .condition_expression("attribute_exists(id)");
    let call = call.expression_attribute_values(":one", number(1));
    let error = call.return_values_on_condition_check_failure(ALL_OLD).send().await;
    let error = error.unwrap_err().into_service_error();
    let UpdateItemError::ConditionalCheckFailedException(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(error.item(), None, "there is no item");
    assert!(orders.is_empty());
}

// Seen in emulators: the item of the failed condition was missing in the error of an update, though not of a put.
#[tokio::test(start_paused = true)]
async fn an_update_whose_condition_is_false_returns_the_item() {
    let simulator = Simulator::new(1);
    let (_, dynamo) = orders(&simulator);
    put_newer(&dynamo, 7).await.unwrap();
    let call = dynamo.update_item().table_name("orders").key("id", string("1"));
    let call = call
        .update_expression("SET version = :v")
        .condition_expression("version = :old");
    let call = call.expression_attribute_values(":v", number(9));
    let call = call.expression_attribute_values(":old", number(8));
    let error = call.return_values_on_condition_check_failure(ALL_OLD).send().await;
    let error = error.unwrap_err().into_service_error();
    let UpdateItemError::ConditionalCheckFailedException(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(error.item().unwrap()["version"], number(7));
}

// Seen in emulators: `if_not_exists` of a new item was taken for a condition, or its attribute was lost.
#[tokio::test(start_paused = true)]
async fn if_not_exists_sets_the_attribute_of_a_new_item() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    for (value, expected) in [("first", "first"), ("second", "first")] {
        let call = dynamo.update_item().table_name("orders").key("id", string("1"));
        let call = call.update_expression("SET a = if_not_exists(a, :a)");
        let call = call.expression_attribute_values(":a", string(value));
        let output = call.return_values(ReturnValue::AllNew).send().await.unwrap();
        assert_eq!(output.attributes().unwrap()["a"], string(expected));
    }
    assert_eq!(orders.items(), [json!({"id": {"S": "1"}, "a": {"S": "first"}})]);
}

#[tokio::test(start_paused = true)]
async fn expressions_are_checked_as_the_service_checks_them() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    for (condition, part) in [
        ("attribute_exists(", "Invalid ConditionExpression: Syntax error"),
        (
            "#n = :v",
            "An expression attribute name used in the document path is not defined",
        ),
        (
            "name = :v",
            "Attribute name is a reserved keyword; reserved keyword: name",
        ),
        (
            "a = :unknown",
            "An expression attribute value used in expression is not defined",
        ),
        (
            "attribute_exists(a)",
            "Value provided in ExpressionAttributeValues unused in expressions",
        ),
    ] {
        let call = dynamo.put_item().table_name("orders").item("id", string("1"));
        let call = call.condition_expression(condition);
        let error = call.expression_attribute_values(":v", number(1)).send().await;
        let error = error.unwrap_err();
        assert_eq!(error.code(), Some("ValidationException"), "{condition}");
        assert!(error.message().unwrap().contains(part), "{condition}: {error:?}");
    }
    for (update, part) in [
        (
            "SET id = :v",
            "Cannot update attribute id. This attribute is part of the key",
        ),
        (
            "SET a = b + :v",
            "refers to an attribute that does not exist in the item",
        ),
        ("SET a = :v, a = :v", "Two document paths overlap"),
        ("", "The expression can not be empty"),
    ] {
        let call = dynamo.update_item().table_name("orders").key("id", string("1"));
        let call = call.update_expression(update);
        let error = call.expression_attribute_values(":v", number(1)).send().await;
        let error = error.unwrap_err();
        assert_eq!(error.code(), Some("ValidationException"), "{update}");
        assert!(error.message().unwrap().contains(part), "{update}: {error:?}");
    }
    assert_eq!((orders.len(), orders.statistics().refused_calls), (0, 9));
    // The evaluation works as before.
    add_one(&dynamo).await.unwrap();
    assert_eq!(orders.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_update_must_fit_the_indexes_and_the_largest_size() {
    let simulator = Simulator::new(1);
    let options = by_id().index("by_customer", IndexOptions::key("customer", KeyType::S));
    simulator.table("orders", options);
    let dynamo = simulator.dynamo_client();
    let update = |value: AttributeValue| {
        let call = dynamo.update_item().table_name("orders").key("id", string("1"));
        let call = call.update_expression("SET customer = :v");
        let call = call.return_consumed_capacity(ReturnConsumedCapacity::Total);
        call.expression_attribute_values(":v", value).send()
    };
    let error = update(number(1)).await.unwrap_err();
    assert!(
        error
            .message()
            .unwrap()
            .contains("Type mismatch for Index Key customer"),
        "{error:?}"
    );
    let error = update(string("x".repeat(409_600))).await.unwrap_err();
    assert!(
        error
            .message()
            .unwrap()
            .contains("has exceeded the maximum allowed size"),
        "{error:?}"
    );
    let consumed = update(string("x".repeat(2_000))).await.unwrap().consumed_capacity;
    assert_eq!(consumed.unwrap().capacity_units(), Some(2.0 + 2.0));
}

#[tokio::test(start_paused = true)]
async fn a_failed_condition_consumes_the_units_of_the_item() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    let text = string("x".repeat(4_500));
    let call = dynamo.put_item().table_name("orders").item("id", string("large"));
    call.item("text", text.clone()).send().await.unwrap();
    orders.set_capacity(Capacity::per_second(1.0).burst(9.0).starts_full());
    let create = |id: &str, text: Option<&AttributeValue>| {
        let call = dynamo.put_item().table_name("orders").item("id", string(id));
        let call = match text {
            Some(text) => call.item("text", text.clone()),
            None => call,
        };
        call.condition_expression("attribute_not_exists(id)").send()
    };
    let before = orders.statistics().units;
    assert_eq!(
        create("large", None).await.unwrap_err().code(),
        Some("ConditionalCheckFailedException")
    );
    assert!((orders.statistics().units - before - 5.0).abs() < 1e-9);
    // Without an item, and for what would have been written, it is one unit.
    let call = dynamo.put_item().table_name("orders").item("id", string("new"));
    let call = call
        .item("text", text.clone())
        .condition_expression("attribute_exists(id)");
    assert_eq!(
        call.send().await.unwrap_err().code(),
        Some("ConditionalCheckFailedException")
    );
    assert!((orders.statistics().units - before - 6.0).abs() < 1e-9);
    // Three units are left: too few even to find that the condition is false.
    let error = create("large", Some(&text)).await.unwrap_err();
    assert_eq!(error.code(), Some("ProvisionedThroughputExceededException"));
    create("new", None).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_condition_finds_its_own_write_after_a_lost_answer() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    orders.script([InjectedFault::Dropped { applied: true }, InjectedFault::None]);
    put_newer(&dynamo, 1).await.unwrap_err();
    let error = put_newer(&dynamo, 1).await.unwrap_err();
    assert!(error.is_conditional_check_failed_exception());
    let ambiguous = Acknowledgement::Ambiguous { applied: true };
    assert_eq!(told(&orders), [ambiguous, Acknowledgement::ConditionFailed]);
}

#[tokio::test(start_paused = true)]
async fn an_update_is_applied_twice_if_it_is_repeated_after_a_lost_answer() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    orders.script([
        InjectedFault::Dropped { applied: false },
        InjectedFault::internal_error(true),
        InjectedFault::None,
    ]);
    add_one(&dynamo).await.unwrap_err();
    add_one(&dynamo).await.unwrap_err();
    add_one(&dynamo).await.unwrap();
    assert_eq!(orders.items(), [json!({"id": {"S": "1"}, "orders": {"N": "2"}})]);
    let applied = orders
        .journal()
        .iter()
        .filter(|record| record.acknowledgement().is_applied())
        .count();
    assert_eq!(applied, 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_condition_is_in_doubt_if_the_answer_is_lost() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    put_newer(&dynamo, 2).await.unwrap();
    orders.script([
        InjectedFault::Dropped { applied: true },
        InjectedFault::Slow(Duration::from_secs(3)),
    ]);
    assert!(
        !put_newer(&dynamo, 1)
            .await
            .unwrap_err()
            .is_conditional_check_failed_exception()
    );
    let start = Instant::now();
    assert!(
        put_newer(&dynamo, 1)
            .await
            .unwrap_err()
            .is_conditional_check_failed_exception()
    );
    assert_eq!(
        start.elapsed(),
        Duration::from_secs(3),
        "a slow answer that the condition is false"
    );
    let ambiguous = Acknowledgement::Ambiguous { applied: false };
    assert_eq!(told(&orders)[1..], [ambiguous, Acknowledgement::ConditionFailed]);
    assert_eq!(orders.statistics().conditions_failed, 2);
}

#[tokio::test(start_paused = true)]
async fn of_many_puts_on_one_condition_exactly_one_is_applied() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    let calls = (0..50).map(|number: i64| {
        let call = dynamo.put_item().table_name("orders").item("id", string("1"));
        let call = call.item("by", self::number(number));
        tokio::spawn(call.condition_expression("attribute_not_exists(id)").send())
    });
    let mut applied = 0;
    for call in calls.collect::<Vec<_>>() {
        applied += usize::from(call.await.unwrap().is_ok());
    }
    assert_eq!((applied, orders.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn keys_of_all_types_and_sort_keys_are_found() {
    let simulator = Simulator::new(1);
    let options = TableOptions::key("p", KeyType::N).sort_key("s", KeyType::B);
    let table = simulator.table("orders", options);
    let dynamo = simulator.dynamo_client();
    // The same number, written in two ways.
    for (partition, creates) in [("1", true), ("1.0", false), ("2", true)] {
        let call = dynamo.put_item().table_name("orders");
        let call = call.item("p", AttributeValue::N(partition.to_owned()));
        let call = call.item("s", AttributeValue::B(b"\x00\xff".to_vec().into()));
        let result = call.condition_expression("attribute_not_exists(p)").send().await;
        assert_eq!(result.is_ok(), creates, "{partition}");
    }
    assert_eq!(table.len(), 2);
}

#[tokio::test]
async fn conditions_and_updates_are_served_over_http() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    let config = dynamo.config().to_builder().endpoint_url(server.endpoint());
    let dynamo = Dynamo::from_conf(config.http_client(Builder::new().build_http()).build());
    put_newer(&dynamo, 2).await.unwrap();
    let PutItemError::ConditionalCheckFailedException(error) = put_newer(&dynamo, 1).await.unwrap_err() else {
        panic!("another error");
    };
    assert_eq!(error.item().unwrap()["version"], number(2));
    add_one(&dynamo).await.unwrap();
    let expected = json!({"id": {"S": "1"}, "version": {"N": "2"}, "orders": {"N": "1"}});
    assert_eq!(orders.items(), [expected]);
}
