//! Tables as they really are: partitions, burst, on demand, indexes, and what they say of themselves.

use std::time::Duration;

use aws_batch_simulator::{
    AutoScaling, Faults, IndexOptions, InjectedFault, KeyType, OnDemand, QueueOptions, Simulator, Table, TableOptions,
    Tenant, Throughput,
};
use aws_sdk_dynamodb::Client as Dynamo;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, Capacity, ReturnConsumedCapacity, TableDescription, TableStatus,
    ThrottlingReason, WriteRequest,
};
use tokio::time::{Instant, sleep};

use crate::{by_id, delete, messages, put_of, puts, send, string, unprocessed, write};

const SECOND: Duration = Duration::from_secs(1);

/// Items of partition key `key`.
fn items(key: &str, numbers: std::ops::Range<usize>) -> Vec<WriteRequest> {
    let item = |number: usize| put_of([("id", string(key)), ("at", string(number.to_string()))]);
    numbers.map(item).collect()
}

fn by_id_and_at() -> TableOptions {
    by_id().sort_key("at", KeyType::S)
}

fn order(id: usize, customer: &str) -> WriteRequest {
    put_of([("id", string(id.to_string())), ("customer", string(customer))])
}

fn by_customer(throughput: impl Into<Throughput>) -> IndexOptions {
    IndexOptions::key("customer", KeyType::S).throughput(throughput)
}

/// Writes so many chunks each tenth of a second for so long, and tells how many were applied.
async fn flood(
    table: &Table,
    dynamo: &Dynamo,
    calls: u32,
    time: Duration,
    chunk: impl Fn(usize) -> Vec<WriteRequest>,
) -> u64 {
    let start = Instant::now();
    let before = table.statistics().applied;
    let mut next = usize::try_from(table.statistics().calls).unwrap();
    while start.elapsed() < time {
        for _ in 0..calls {
            let _ = write(dynamo, table.name(), chunk(next)).await;
            next += 1;
        }
        sleep(SECOND / 10).await;
    }
    table.statistics().applied - before
}

async fn refused(dynamo: &Dynamo, table: &str, writes: Vec<WriteRequest>) -> (String, Vec<ThrottlingReason>) {
    let error = write(dynamo, table, writes).await.unwrap_err().into_service_error();
    let code = error.code().unwrap().to_owned();
    let reasons = match error {
        BatchWriteItemError::ProvisionedThroughputExceededException(error) => error.throttling_reasons().to_vec(),
        BatchWriteItemError::ThrottlingException(error) => error.throttling_reasons().to_vec(),
        BatchWriteItemError::RequestLimitExceeded(error) => error.throttling_reasons().to_vec(),
        other => panic!("{other}"),
    };
    (code, reasons)
}

async fn described(dynamo: &Dynamo, table: &str) -> TableDescription {
    let output = dynamo.describe_table().table_name(table).send().await.unwrap();
    output.table().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn one_partition_key_takes_at_most_a_thousand_units_a_second() {
    let simulator = Simulator::new(1);
    let orders = simulator.table(
        "orders",
        by_id_and_at().throughput(Throughput::provisioned(4_000.0).partitions(10)),
    );
    let dynamo = simulator.dynamo_client();
    let of_one_key = |call| items("a", 25 * call..25 * call + 25);
    let applied = flood(&orders, &dynamo, 6, 10 * SECOND, of_one_key).await;
    assert!((10_000..=11_000).contains(&applied), "{applied}");
    let of_many_keys = |call| puts_with_at(25 * call..25 * call + 25);
    let many = flood(&orders, &dynamo, 25, 2 * SECOND, of_many_keys).await;
    assert!(many > 8_000, "{many}: the others have all that is left");
}

fn puts_with_at(ids: std::ops::Range<usize>) -> Vec<WriteRequest> {
    let item = |id: usize| put_of([("id", string(id.to_string())), ("at", string("0"))]);
    ids.map(item).collect()
}

#[tokio::test(start_paused = true)]
async fn the_reason_of_a_hot_key_is_its_range_and_all_reasons_are_told_once() {
    let simulator = Simulator::new(1);
    let orders = simulator.table(
        "orders",
        by_id_and_at().throughput(Throughput::provisioned(2_000.0).partitions(2)),
    );
    let dynamo = simulator.dynamo_client();
    orders.schedule_partition(0, [(Duration::ZERO, 0.0)]);
    orders.schedule_partition(1, [(Duration::ZERO, 0.0)]);
    sleep(SECOND).await;
    let (code, reasons) = refused(&dynamo, "orders", puts_with_at(0..25)).await;
    assert_eq!(code, "ProvisionedThroughputExceededException");
    let [reason] = &reasons[..] else { panic!("{reasons:?}") };
    assert_eq!(reason.reason(), Some("TableWriteKeyRangeThroughputExceeded"));
    assert_eq!(reason.resource(), Some(orders.arn().as_str()));
}

#[tokio::test(start_paused = true)]
async fn what_an_index_cannot_take_comes_back_and_the_error_names_the_index() {
    let simulator = Simulator::new(1);
    let index = by_customer(Throughput::provisioned(10.0));
    let orders = simulator.table("orders", by_id().index("by_customer", index));
    let dynamo = simulator.dynamo_client();
    sleep(SECOND).await;
    let mixed: Vec<WriteRequest> = (0..15).map(|id| order(id, "c")).chain(puts(15..25)).collect();
    let output = write(&dynamo, "orders", mixed).await.unwrap();
    assert_eq!(unprocessed(&output), 5, "ten of the index, and all that are not in it");
    let (_, reasons) = refused(&dynamo, "orders", vec![order(30, "c")]).await;
    assert_eq!(reasons[0].reason(), Some("IndexWriteProvisionedThroughputExceeded"));
    let arn = format!("{}/index/by_customer", orders.arn());
    assert_eq!(reasons[0].resource(), Some(arn.as_str()));
}

#[tokio::test(start_paused = true)]
async fn an_index_takes_what_a_write_changes_in_it_and_twice_if_the_item_moves() {
    let simulator = Simulator::new(1);
    simulator.table("orders", by_id().index("by_customer", by_customer(1_000.0)));
    let dynamo = simulator.dynamo_client();
    sleep(SECOND).await;
    let units = async |request: WriteRequest| {
        let call = dynamo.batch_write_item().request_items("orders", vec![request]);
        let output = call
            .return_consumed_capacity(ReturnConsumedCapacity::Indexes)
            .send()
            .await
            .unwrap();
        let consumed = &output.consumed_capacity()[0];
        let index = consumed
            .global_secondary_indexes()
            .and_then(|indexes| indexes.get("by_customer"));
        let of = |capacity: Option<&Capacity>| capacity.and_then(Capacity::capacity_units).unwrap_or(0.0);
        let units = [consumed.capacity_units().unwrap(), of(consumed.table()), of(index)];
        format!("{units:?}")
    };
    assert_eq!(units(order(1, "a")).await, "[2.0, 1.0, 1.0]");
    assert_eq!(units(order(1, "a")).await, "[1.0, 1.0, 0.0]");
    let changed = put_of([("id", string("1")), ("customer", string("a")), ("text", string("x"))]);
    assert_eq!(units(changed).await, "[2.0, 1.0, 1.0]");
    assert_eq!(units(order(1, "b")).await, "[3.0, 1.0, 2.0]");
    assert_eq!(units(delete("1")).await, "[2.0, 1.0, 1.0]");
    assert_eq!(units(delete("1")).await, "[1.0, 1.0, 0.0]");
}

#[tokio::test(start_paused = true)]
async fn the_key_of_an_index_has_its_type() {
    let simulator = Simulator::new(1);
    simulator.table(
        "orders",
        by_id().index("by_customer", IndexOptions::key("customer", KeyType::N)),
    );
    let error = write(&simulator.dynamo_client(), "orders", vec![order(1, "a")])
        .await
        .unwrap_err();
    let error = error.into_service_error();
    assert_eq!(error.code(), Some("ValidationException"));
    assert!(
        error
            .message()
            .unwrap()
            .contains("Index Key customer Expected: N Actual: S")
    );
}

#[tokio::test(start_paused = true)]
async fn an_on_demand_table_takes_4000_at_first_and_throttles_in_its_own_words() {
    let simulator = Simulator::new(1);
    let orders = simulator.table(
        "orders",
        by_id()
            .throughput(Throughput::on_demand(OnDemand::default()))
            .counts_only(),
    );
    let dynamo = simulator.dynamo_client();
    let applied = flood(&orders, &dynamo, 20, 3 * SECOND, |call| puts(25 * call..25 * call + 25)).await;
    assert!((12_000..=16_000).contains(&applied), "{applied}");
    orders.drain(f64::INFINITY);
    let (code, reasons) = refused(&dynamo, "orders", puts(0..25)).await;
    assert_eq!(code, "ThrottlingException");
    assert_eq!(reasons[0].reason(), Some("TableWriteKeyRangeThroughputExceeded"));
}

#[tokio::test(start_paused = true)]
async fn capacity_follows_consumption_and_the_description_tells_it() {
    let simulator = Simulator::new(1);
    let scaling = AutoScaling::within(100.0..=1_000.0).period(2 * SECOND).delay(SECOND);
    let throughput = Throughput::provisioned(100.0).burst(SECOND).auto_scaling(scaling);
    let options = by_id().throughput(throughput.tenant(Tenant::new(10.0)));
    let orders = simulator.table("orders", options.counts_only());
    let dynamo = simulator.dynamo_client();
    flood(&orders, &dynamo, 5, 30 * SECOND, |call| puts(25 * call..25 * call + 25)).await;
    let units = described(&dynamo, "orders")
        .await
        .provisioned_throughput()
        .unwrap()
        .write_capacity_units();
    assert!((300..=1_000).contains(&units.unwrap()), "{units:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_are_throttled_at_random_for_a_limit_of_the_account() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id().counts_only());
    let queue = simulator.queue("orders", QueueOptions::default());
    orders.set_faults(Faults::none().calls(0.2, InjectedFault::AccountLimit));
    queue.set_faults(Faults::none().calls(1.0, InjectedFault::AccountLimit));
    let dynamo = simulator.dynamo_client();
    for _ in 0..500 {
        let _ = write(&dynamo, "orders", puts(0..25)).await;
    }
    let statistics = orders.statistics();
    assert!((70..=130).contains(&statistics.throttled_calls), "{statistics:?}");
    assert_eq!(statistics.throttled, 25 * statistics.throttled_calls);
    orders.script([InjectedFault::AccountLimit]);
    let (code, reasons) = refused(&dynamo, "orders", puts(0..25)).await;
    assert_eq!(code, "RequestLimitExceeded");
    assert_eq!(reasons[0].reason(), Some("TableWriteAccountLimitExceeded"));
    let error = send(&simulator.sqs_client(), queue.url(), messages(0..10))
        .await
        .unwrap_err();
    assert!(error.into_service_error().is_request_throttled());
}

#[tokio::test(start_paused = true)]
async fn a_description_tells_mode_and_throughput_of_the_table_and_its_indexes() {
    let simulator = Simulator::new(1);
    let index = by_customer(Throughput::provisioned(500.0).partitions(2)).sort_key("at", KeyType::N);
    let options = by_id()
        .throughput(Throughput::provisioned(4_000.0).partitions(10))
        .index("by_customer", index);
    simulator.table("provisioned", options);
    simulator.table(
        "on demand",
        by_id().throughput(Throughput::on_demand(
            OnDemand::default().warm(6_000.0).at_most(5_000.0),
        )),
    );
    simulator.table("unlimited", by_id());
    let dynamo = simulator.dynamo_client();

    let table = described(&dynamo, "provisioned").await;
    assert_eq!(table.table_status(), Some(&TableStatus::Active));
    let mode = |table: &TableDescription| table.billing_mode_summary().unwrap().billing_mode().cloned();
    assert_eq!(mode(&table), Some(BillingMode::Provisioned));
    assert_eq!(
        table.provisioned_throughput().unwrap().write_capacity_units(),
        Some(4_000)
    );
    assert_eq!(table.warm_throughput().unwrap().write_units_per_second(), Some(10_000));
    assert!(table.on_demand_throughput().is_none());
    let names: Vec<&str> = table
        .attribute_definitions()
        .iter()
        .map(AttributeDefinition::attribute_name)
        .collect();
    assert_eq!(names, ["id", "customer", "at"]);
    let [index] = table.global_secondary_indexes() else {
        panic!("one index")
    };
    assert_eq!(index.index_name(), Some("by_customer"));
    assert_eq!(index.key_schema().len(), 2);
    assert_eq!(
        index.provisioned_throughput().unwrap().write_capacity_units(),
        Some(500)
    );
    assert_eq!(index.warm_throughput().unwrap().write_units_per_second(), Some(2_000));

    let table = described(&dynamo, "on demand").await;
    assert_eq!(mode(&table), Some(BillingMode::PayPerRequest));
    assert_eq!(table.provisioned_throughput().unwrap().write_capacity_units(), Some(0));
    assert_eq!(
        table.on_demand_throughput().unwrap().max_write_request_units(),
        Some(5_000)
    );
    assert_eq!(table.warm_throughput().unwrap().write_units_per_second(), Some(6_000));

    let table = described(&dynamo, "unlimited").await;
    assert_eq!(mode(&table), Some(BillingMode::PayPerRequest));
    assert!(table.warm_throughput().is_none(), "nothing limits it");
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_stays_hot_becomes_two() {
    let simulator = Simulator::new(1);
    let options = by_id_and_at()
        .throughput(Throughput::default().partitions(2).splits_after(3 * SECOND))
        .counts_only();
    let orders = simulator.table("orders", options);
    let dynamo = simulator.dynamo_client();
    let of_one_key = |call| items("a", 25 * call..25 * call + 25);
    flood(&orders, &dynamo, 6, 10 * SECOND, of_one_key).await;
    assert!(orders.partitions() > 2, "{}", orders.partitions());
}
