//! Batch reads.

use std::collections::HashMap;

use aws_batch_simulator::{Capacity, InjectedFault, Simulator, Table, json};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemOutput;
use aws_sdk_dynamodb::types::builders::KeysAndAttributesBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes, ReturnConsumedCapacity};

use crate::{by_id, put_of, puts, string, write};

fn key(id: usize) -> HashMap<String, AttributeValue> {
    HashMap::from([("id".to_owned(), string(id.to_string()))])
}

fn keys(ids: impl IntoIterator<Item = usize>) -> KeysAndAttributesBuilder {
    KeysAndAttributes::builder().set_keys(Some(ids.into_iter().map(key).collect()))
}

/// One call without the SDK's own retries. Its error by its code and message.
async fn read(simulator: &Simulator, keys: KeysAndAttributesBuilder) -> Result<BatchGetItemOutput, (String, String)> {
    let once = aws_sdk_dynamodb::config::Config::builder().retry_config(RetryConfig::disabled());
    let call = simulator.dynamo_client().batch_get_item();
    let call = call
        .request_items("orders", keys.build().unwrap())
        .return_consumed_capacity(ReturnConsumedCapacity::Total);
    call.customize().config_override(once).send().await.map_err(|error| {
        let told = |text: Option<&str>| text.unwrap_or_default().to_owned();
        (told(error.code()), told(error.message()))
    })
}

async fn filled(simulator: &Simulator, items: usize) -> Table {
    let orders = simulator.table("orders", by_id());
    let ids: Vec<usize> = (0..items).collect();
    for ids in ids.chunks(25) {
        let writes = puts(ids.iter().copied());
        write(&simulator.dynamo_client(), "orders", writes).await.unwrap();
    }
    orders
}

#[tokio::test(start_paused = true)]
async fn items_are_read_and_keys_without_one_are_left_out() {
    let simulator = Simulator::new(1);
    filled(&simulator, 90).await;
    let output = read(&simulator, keys(0..100)).await.unwrap();
    assert_eq!(output.responses().unwrap()["orders"].len(), 90);
    assert!(output.unprocessed_keys().unwrap().is_empty());
    // Half a unit each, also where there is no item.
    assert_eq!(output.consumed_capacity()[0].capacity_units(), Some(50.0));
    let output = read(&simulator, keys([100]).consistent_read(true)).await.unwrap();
    assert_eq!(output.responses().unwrap()["orders"].len(), 0);
    assert_eq!(output.consumed_capacity()[0].capacity_units(), Some(1.0));
}

#[tokio::test(start_paused = true)]
async fn only_the_attributes_of_the_projection_come_back() {
    let simulator = Simulator::new(1);
    simulator.table("orders", by_id());
    let item = put_of([("id", string("1")), ("a", string("x")), ("b", string("y"))]);
    write(&simulator.dynamo_client(), "orders", vec![item]).await.unwrap();
    let projected = keys([1])
        .projection_expression("#0, a")
        .expression_attribute_names("#0", "id");
    let output = read(&simulator, projected).await.unwrap();
    let expected = HashMap::from([("id".to_owned(), string("1")), ("a".to_owned(), string("x"))]);
    assert_eq!(output.responses().unwrap()["orders"], [expected]);
    let error = read(&simulator, keys([1]).projection_expression("a,"))
        .await
        .unwrap_err();
    assert!(error.1.contains("Invalid ProjectionExpression"), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_is_refused_for_too_many_keys_and_for_one_that_is_there_twice() {
    let simulator = Simulator::new(1);
    filled(&simulator, 1).await;
    for (ids, part) in [
        ((0..101).collect::<Vec<_>>(), "less than or equal to 100"),
        (vec![1, 2, 1], "contains duplicates"),
    ] {
        let (code, message) = read(&simulator, keys(ids)).await.unwrap_err();
        assert_eq!(code, "ValidationException");
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_beyond_sixteen_megabytes_comes_back_unprocessed() {
    let simulator = Simulator::new(1);
    simulator.table("orders", by_id());
    for id in 0..50 {
        let item = put_of([("id", string(id.to_string())), ("text", string("x".repeat(400_000)))]);
        write(&simulator.dynamo_client(), "orders", vec![item]).await.unwrap();
    }
    let output = read(&simulator, keys(0..50)).await.unwrap();
    let (came, left) = (output.responses().unwrap(), output.unprocessed_keys().unwrap());
    assert_eq!((came["orders"].len(), left["orders"].keys().len()), (41, 9));
}

#[tokio::test(start_paused = true)]
async fn reads_have_a_capacity_and_faults_of_their_own() {
    let simulator = Simulator::new(1);
    let orders = filled(&simulator, 100).await;
    orders.script_reads([InjectedFault::Unprocessed(7), InjectedFault::Throttle]);
    let output = read(&simulator, keys(0..100)).await.unwrap();
    assert_eq!(output.unprocessed_keys().unwrap()["orders"].keys().len(), 7);
    let (code, _) = read(&simulator, keys(0..100)).await.unwrap_err();
    assert_eq!(code, "ProvisionedThroughputExceededException");
    // Ten units are twenty items.
    orders.set_read_capacity(Capacity::per_second(10.0).burst(10.0).starts_full());
    let output = read(&simulator, keys(0..100)).await.unwrap();
    assert_eq!(output.responses().unwrap()["orders"].len(), 20);
    let (code, _) = read(&simulator, keys(0..100)).await.unwrap_err();
    assert_eq!(code, "ProvisionedThroughputExceededException");
    // Writes know nothing of it.
    write(&simulator.dynamo_client(), "orders", puts(0..25)).await.unwrap();
    assert_eq!(orders.read_statistics().calls, 4);
    assert_eq!(orders.item(&json!({"id": {"S": "3"}})), Some(json!({"id": {"S": "3"}})));
}

#[tokio::test(start_paused = true)]
async fn a_single_read_returns_what_it_asks_for_and_what_it_costs() {
    let simulator = Simulator::new(1);
    simulator.table("orders", by_id());
    let item = put_of([
        ("id", string("1")),
        ("a", string("x".repeat(5_000))),
        ("b", string("y")),
    ]);
    write(&simulator.dynamo_client(), "orders", vec![item]).await.unwrap();
    let call = simulator.dynamo_client().get_item().table_name("orders");
    let call = call
        .key("id", string("1"))
        .consistent_read(true)
        .projection_expression("b");
    let output = call
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
        .send()
        .await
        .unwrap();
    assert_eq!(output.item, Some(HashMap::from([("b".to_owned(), string("y"))])));
    assert_eq!(output.consumed_capacity.unwrap().capacity_units(), Some(2.0));
}

#[tokio::test(start_paused = true)]
async fn an_item_is_read_as_the_service_keeps_it() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    let numbers = AttributeValue::Ns(vec!["10".to_owned(), "9.0".to_owned()]);
    let item = put_of([
        ("id", string("1")),
        ("n", AttributeValue::N("0042.1200".to_owned())),
        ("s", numbers),
    ]);
    write(&simulator.dynamo_client(), "orders", vec![item]).await.unwrap();
    let stored = json!({"id": {"S": "1"}, "n": {"N": "42.12"}, "s": {"NS": ["9", "10"]}});
    assert_eq!(orders.items(), [stored]);
}

#[tokio::test(start_paused = true)]
async fn reads_that_are_throttled_fail_or_are_refused_are_counted() {
    let simulator = Simulator::new(1);
    let orders = filled(&simulator, 10).await;
    let dynamo = simulator.dynamo_client();
    let config = dynamo
        .config()
        .to_builder()
        .retry_config(RetryConfig::disabled())
        .build();
    let dynamo = aws_sdk_dynamodb::Client::from_conf(config);
    let scan = || dynamo.scan().table_name("orders");
    let query = || {
        let call = dynamo.query().table_name("orders").key_condition_expression("id = :id");
        call.expression_attribute_values(":id", string("1"))
    };
    let failing = [InjectedFault::Throttle, InjectedFault::internal_error(false)];
    orders.script_reads([failing.clone(), failing.clone(), failing].concat());
    for _ in 0..2 {
        read(&simulator, keys(0..4)).await.unwrap_err();
    }
    for _ in 0..2 {
        scan().send().await.unwrap_err();
    }
    for _ in 0..2 {
        query().send().await.unwrap_err();
    }
    let counts = || {
        let statistics = orders.read_statistics();
        let calls = [
            statistics.throttled_calls,
            statistics.failed_calls,
            statistics.refused_calls,
        ];
        (calls, [statistics.entries, statistics.throttled, statistics.failed])
    };
    assert_eq!(counts(), ([3, 3, 0], [12, 6, 6]));
    read(&simulator, keys([1, 1])).await.unwrap_err();
    scan().limit(0).send().await.unwrap_err();
    query().index_name("by_customer").send().await.unwrap_err();
    assert_eq!(counts(), ([3, 3, 3], [12, 6, 6]));
    orders.script_reads([InjectedFault::None, InjectedFault::Unprocessed(1)]);
    orders.set_read_capacity(Capacity::none());
    read(&simulator, keys(0..4)).await.unwrap_err();
    scan().send().await.unwrap_err();
    scan().send().await.unwrap_err();
    assert_eq!(counts(), ([5, 4, 3], [18, 11, 7]));
    assert_eq!(orders.read_statistics().calls, 12);
}
