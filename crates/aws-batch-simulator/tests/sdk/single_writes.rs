//! Writes of single items, without expressions.

use std::collections::HashMap;
use std::time::Duration;

use aws_batch_simulator::{
    Acknowledgement, Action, Capacity, Faults, IndexOptions, InjectedFault, KeyType, OnDemand, Record, Simulator,
    Table, Throughput, json,
};
use aws_sdk_dynamodb::Client as Dynamo;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::{PutItemError, PutItemOutput};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity, ReturnValue};
use tokio::time::Instant;

use crate::{by_id, puts, string, write};

type Item = HashMap<String, AttributeValue>;

fn item<const N: usize>(attributes: [(&str, &str); N]) -> Item {
    attributes.map(|(name, value)| (name.to_owned(), string(value))).into()
}

/// One call without the SDK's own retries.
async fn put(dynamo: &Dynamo, item: Item) -> Result<PutItemOutput, SdkError<PutItemError>> {
    let once = aws_sdk_dynamodb::config::Config::builder().retry_config(RetryConfig::disabled());
    let call = dynamo.put_item().table_name("orders").set_item(Some(item));
    let call = call
        .return_values(ReturnValue::AllOld)
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    call.customize().config_override(once).send().await
}

fn orders(simulator: &Simulator) -> (Table, Dynamo) {
    let orders = simulator.table("orders", by_id());
    orders.keep_journal();
    (orders, simulator.dynamo_client())
}

fn told(table: &Table) -> Vec<Acknowledgement> {
    table.journal().iter().map(Record::acknowledgement).collect()
}

#[tokio::test(start_paused = true)]
async fn a_put_and_a_delete_answer_with_the_item_that_there_was() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    let first = put(&dynamo, item([("id", "1"), ("a", "x")])).await.unwrap();
    assert_eq!(first.attributes(), None);
    let second = put(&dynamo, item([("id", "1"), ("b", "y")])).await.unwrap();
    assert_eq!(second.attributes(), Some(&item([("id", "1"), ("a", "x")])));
    let delete = dynamo.delete_item().table_name(orders.arn()).key("id", string("1"));
    let deleted = delete.return_values(ReturnValue::AllOld).send().await.unwrap();
    assert_eq!(deleted.attributes(), Some(&item([("id", "1"), ("b", "y")])));
    let delete = dynamo.delete_item().table_name("orders").key("id", string("1"));
    let again = delete.return_values(ReturnValue::AllOld).send().await.unwrap();
    assert_eq!(again.attributes(), None, "there was nothing to delete");
    assert!(orders.is_empty());
    let actions: Vec<Action> = orders.journal().iter().map(|record| record.action).collect();
    assert_eq!(actions, [Action::Put, Action::Put, Action::Delete, Action::Delete]);
    assert_eq!(told(&orders), [Acknowledgement::Accepted; 4]);
    assert_eq!(orders.statistics().calls, 4);
    assert_eq!(orders.statistics().applied, 4);
}

#[tokio::test(start_paused = true)]
async fn an_update_without_an_expression_writes_the_key_alone_if_there_is_no_item() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    let update = dynamo.update_item().table_name("orders").key("id", string("1"));
    let output = update.return_values(ReturnValue::AllNew).send().await.unwrap();
    assert_eq!(output.attributes(), Some(&item([("id", "1")])));
    assert_eq!(orders.items(), [json!({"id": {"S": "1"}})]);
    put(&dynamo, item([("id", "1"), ("a", "x")])).await.unwrap();
    let update = dynamo.update_item().table_name("orders").key("id", string("1"));
    let output = update.return_values(ReturnValue::AllNew).send().await.unwrap();
    assert_eq!(output.attributes(), Some(&item([("id", "1"), ("a", "x")])));
}

#[tokio::test(start_paused = true)]
async fn a_write_consumes_the_units_of_the_larger_item_and_of_each_index() {
    let simulator = Simulator::new(1);
    let options = by_id().index("by_customer", IndexOptions::key("customer", KeyType::S));
    let orders = simulator.table("orders", options);
    let dynamo = simulator.dynamo_client();
    let large = "x".repeat(3_000);
    let first = put(&dynamo, item([("id", "1"), ("text", &large), ("customer", "a")]));
    let consumed = first.await.unwrap().consumed_capacity.unwrap();
    assert_eq!(consumed.capacity_units(), Some(6.0));
    assert_eq!(
        consumed
            .table()
            .and_then(aws_sdk_dynamodb::types::Capacity::capacity_units),
        Some(3.0)
    );
    let of_index = &consumed.global_secondary_indexes().unwrap()["by_customer"];
    assert_eq!(of_index.capacity_units(), Some(3.0));
    // Smaller, and with another key of the index: it is deleted in one place and put in the other.
    let second = put(&dynamo, item([("id", "1"), ("customer", "b")])).await.unwrap();
    assert_eq!(
        second.consumed_capacity.unwrap().capacity_units(),
        Some(3.0 + 3.0 + 1.0)
    );
    let third = put(&dynamo, item([("id", "1")])).await.unwrap();
    assert_eq!(third.consumed_capacity.unwrap().capacity_units(), Some(1.0 + 1.0));
    assert!(
        (orders.statistics().units - (3.0 + 3.0 + 1.0)).abs() < 1e-9,
        "of the table alone"
    );
}

#[tokio::test(start_paused = true)]
async fn single_writes_and_batches_use_one_capacity() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    orders.set_capacity(Capacity::per_second(10.0).burst(20.0).starts_full());
    for number in 0..15 {
        put(&dynamo, item([("id", &number.to_string())])).await.unwrap();
    }
    let output = write(&dynamo, "orders", puts(0..10)).await.unwrap();
    assert_eq!(crate::unprocessed(&output), 5);
    let error = put(&dynamo, item([("id", "1")]))
        .await
        .unwrap_err()
        .into_service_error();
    let PutItemError::ProvisionedThroughputExceededException(error) = error else {
        panic!("{error:?}");
    };
    let reason = &error.throttling_reasons()[0];
    assert_eq!(reason.reason(), Some("TableWriteProvisionedThroughputExceeded"));
    assert_eq!(reason.resource(), Some(orders.arn().as_str()));
    tokio::time::advance(Duration::from_secs(1)).await;
    put(&dynamo, item([("id", "1")])).await.unwrap();
    assert_eq!(orders.statistics().throttled_calls, 1);
    assert_eq!(told(&orders)[25], Acknowledgement::Rejected);
}

#[tokio::test(start_paused = true)]
async fn the_partition_of_a_hot_key_throttles_single_writes() {
    let simulator = Simulator::new(1);
    let options = by_id().throughput(Throughput::provisioned(10_000.0).partitions(4).starts_full());
    let orders = simulator.table("orders", options);
    let dynamo = simulator.dynamo_client();
    let large = "x".repeat(100_000);
    let mut accepted = 0;
    let error = loop {
        match put(&dynamo, item([("id", "hot"), ("text", &large)])).await {
            Ok(_) => accepted += 1,
            Err(error) => break error.into_service_error(),
        }
    };
    assert_eq!(accepted, 10, "98 units each, of 1,000");
    let PutItemError::ProvisionedThroughputExceededException(error) = error else {
        panic!("{error:?}");
    };
    let reason = error.throttling_reasons()[0].reason();
    assert_eq!(reason, Some("TableWriteKeyRangeThroughputExceeded"));
    assert!((orders.statistics().units - 980.0).abs() < 1e-9);
}

#[tokio::test(start_paused = true)]
async fn an_on_demand_table_throttles_with_its_own_error() {
    let simulator = Simulator::new(1);
    simulator.table(
        "orders",
        by_id().throughput(Throughput::on_demand(OnDemand::default().at_most(100.0))),
    );
    let dynamo = simulator.dynamo_client();
    let large = "x".repeat(300_000);
    let mut results = Vec::new();
    for _ in 0..20 {
        results.push(put(&dynamo, item([("id", "1"), ("text", &large)])).await);
    }
    let error = results.into_iter().find_map(Result::err).unwrap();
    assert_eq!(error.code(), Some("ThrottlingException"));
}

#[tokio::test(start_paused = true)]
async fn a_key_range_throttles_and_poison_refuses_single_writes() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    orders.reject_while(|item| item["id"]["S"] == "hot");
    orders.poison(|item| item["id"]["S"] == "bad");
    put(&dynamo, item([("id", "1")])).await.unwrap();
    let error = put(&dynamo, item([("id", "hot")])).await.unwrap_err();
    assert_eq!(error.code(), Some("ProvisionedThroughputExceededException"));
    let delete = dynamo.delete_item().table_name("orders").key("id", string("bad"));
    assert_eq!(delete.send().await.unwrap_err().code(), Some("ValidationException"));
    let statistics = orders.statistics();
    assert_eq!((statistics.applied, statistics.refused_calls), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_fault_may_leave_the_caller_of_a_single_write_in_doubt() {
    for applied in [false, true] {
        for fault in [
            InjectedFault::internal_error(applied),
            InjectedFault::Dropped { applied },
            InjectedFault::Garbage { applied },
        ] {
            let simulator = Simulator::new(1);
            let (orders, dynamo) = orders(&simulator);
            orders.script([fault.clone()]);
            put(&dynamo, item([("id", "1")])).await.unwrap_err();
            assert_eq!(orders.len(), usize::from(applied), "{fault:?}");
            assert_eq!(told(&orders), [Acknowledgement::Ambiguous { applied }], "{fault:?}");
            assert_eq!(orders.statistics().failed_calls, 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_faults_of_entries_are_errors_of_a_single_write() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    orders.script([
        InjectedFault::Unprocessed(1),
        InjectedFault::failed(1, "ItemCollectionSizeLimitExceededException", true),
        InjectedFault::Conflict(1),
        InjectedFault::Throttle,
        InjectedFault::AccountLimit,
        InjectedFault::Repeated(1),
        InjectedFault::Unknown(1),
    ]);
    for expected in [
        Some(("InternalServerError", 500)),
        Some(("ItemCollectionSizeLimitExceededException", 400)),
        Some(("TransactionConflictException", 400)),
        Some(("ProvisionedThroughputExceededException", 400)),
        Some(("RequestLimitExceeded", 400)),
        None,
        None,
    ] {
        let result = put(&dynamo, item([("id", "1")])).await;
        let error = result.as_ref().err().map(|error| {
            let status = error.raw_response().unwrap().status().as_u16();
            (error.code().unwrap(), status)
        });
        assert_eq!(error, expected);
    }
    let mut expected = vec![Acknowledgement::Ambiguous { applied: false }];
    expected.extend([Acknowledgement::Rejected; 4]);
    expected.extend([Acknowledgement::Accepted; 2]);
    assert_eq!(told(&orders), expected);
    let statistics = orders.statistics();
    assert_eq!((statistics.entries, statistics.applied, statistics.failed), (7, 2, 3));
    assert_eq!((statistics.throttled, statistics.throttled_calls), (2, 2));
    assert_eq!(statistics.failed_calls, 1);
}

#[tokio::test(start_paused = true)]
async fn conflicts_at_random_are_repeatable() {
    let conflicts = |seed| async move {
        let simulator = Simulator::new(seed);
        let (orders, dynamo) = orders(&simulator);
        orders.set_faults(Faults::none().calls(0.3, InjectedFault::Conflict(1)));
        let mut failed = Vec::new();
        for number in 0..50 {
            failed.push(put(&dynamo, item([("id", &number.to_string())])).await.is_err());
        }
        assert_eq!(orders.len(), failed.iter().filter(|failed| !**failed).count());
        failed
    };
    assert_eq!(conflicts(1).await, conflicts(1).await);
    assert_ne!(conflicts(1).await, conflicts(2).await);
}

#[tokio::test(start_paused = true)]
async fn a_slow_single_write_is_late_but_applied_in_time() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    orders.script([InjectedFault::Slow(Duration::from_secs(2))]);
    let start = Instant::now();
    let call = tokio::spawn(async move { put(&dynamo, item([("id", "1")])).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(orders.len(), 1);
    assert_eq!(told(&orders), [Acknowledgement::Ambiguous { applied: true }]);
    call.await.unwrap().unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(told(&orders), [Acknowledgement::Accepted]);
}

#[tokio::test(start_paused = true)]
async fn a_bad_single_write_is_refused() {
    let simulator = Simulator::new(1);
    let (orders, dynamo) = orders(&simulator);
    let large = "x".repeat(409_600);
    for (bad, part) in [
        (item([("no", "id")]), "Missing the key id"),
        (item([("id", "1"), ("text", &large)]), "Item size has exceeded"),
        (item([("id", "")]), "empty string value"),
    ] {
        let error = put(&dynamo, bad).await.unwrap_err();
        assert_eq!(error.code(), Some("ValidationException"));
        assert!(error.message().unwrap().contains(part), "{error:?}");
    }
    let call = dynamo.put_item().table_name("orders").item("id", string("1"));
    let error = call.return_values(ReturnValue::AllNew).send().await.unwrap_err();
    assert!(
        error.message().unwrap().contains("can only be ALL_OLD or NONE"),
        "{error:?}"
    );
    let call = dynamo.delete_item().table_name("orders").key("id", string("1"));
    let error = call.key("more", string("1")).send().await.unwrap_err();
    assert!(
        error.message().unwrap().contains("does not match the schema"),
        "{error:?}"
    );
    let call = dynamo.put_item().table_name("nowhere").item("id", string("1"));
    let error = call.send().await.unwrap_err();
    assert_eq!(error.code(), Some("ResourceNotFoundException"));
    assert_eq!((orders.len(), orders.statistics().refused_calls), (0, 5));
}

#[tokio::test(start_paused = true)]
async fn no_fault_reports_a_write_as_done_that_is_not() {
    for applied in [false, true] {
        for fault in [InjectedFault::Empty { applied }, InjectedFault::Garbage { applied }] {
            let simulator = Simulator::new(1);
            let orders = simulator.table("orders", by_id());
            let dynamo = simulator.dynamo_client();
            orders.script([fault.clone()]);
            let is_done = put(&dynamo, item([("id", "1")])).await.is_ok();
            assert!(orders.len() == 1 || !is_done, "{fault:?}");
            // Nor where the capacity does not suffice.
            orders.set_capacity(Capacity::none());
            orders.script([fault.clone()]);
            assert!(put(&dynamo, item([("id", "2")])).await.is_err(), "{fault:?}");
        }
    }
}
