//! The items of one partition key as the input of a delivery.

use std::collections::HashMap;
use std::time::Duration;

use aws_batch_delivery::sources::{Scan, ScanPosition};
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{Capacity, Faults, InjectedFault, KeyType, Latency, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};
use futures::{StreamExt, TryStreamExt};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::paused::paused;

fn number(value: usize) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// Two customers, each with so many orders of about this many bytes.
async fn orders(simulator: &Simulator, count: usize, bytes: usize) -> Table {
    let options = TableOptions::key("customer", KeyType::S).sort_key("order", KeyType::N);
    let orders = simulator.table("orders", options);
    let put = |(customer, order): (&str, usize)| {
        let put = PutRequest::builder()
            .item("customer", text(customer))
            .item("order", number(order))
            .item("kind", text(if order.is_multiple_of(10) { "gift" } else { "plain" }))
            .item("note", text("x".repeat(bytes)));
        WriteRequest::builder().put_request(put.build().unwrap()).build()
    };
    let writes = (0..count).flat_map(|order| [("ada", order), ("ben", order)]).map(put);
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders");
    delivery.deliver(writes).await.unwrap();
    orders
}

fn of_ada(simulator: &Simulator) -> Scan {
    Scan::query(simulator.dynamo_client(), "orders", "customer = :customer").value(":customer", text("ada"))
}

fn order(item: &HashMap<String, AttributeValue>) -> usize {
    assert_eq!(item["customer"], text("ada"));
    item["order"].as_n().unwrap().parse().unwrap()
}

proptest! {
    #![proptest_config(Config::with_cases(16))]

    #[test]
    fn the_items_of_the_partition_key_come_in_order_and_once(
        count in 0_usize..120,
        bytes in prop_oneof![10_usize..400, 20_000_usize..30_000],
        page_items in proptest::option::of(1_u32..40),
        throttled in prop_oneof![Just(0.0), 0.0..0.3],
        empty in prop_oneof![Just(0.0), 0.0..0.2],
        capacity in proptest::option::of(20.0..200.0),
    ) {
        let returned: Vec<usize> = paused(async {
            let simulator = Simulator::new(3);
            let orders = orders(&simulator, count, bytes).await;
            let faults = Faults::none().calls(throttled, InjectedFault::Throttle);
            orders.set_read_faults(faults.calls(empty, InjectedFault::Empty { applied: true }));
            if let Some(capacity) = capacity {
                orders.set_read_capacity(Capacity::per_second(capacity));
            }
            simulator.set_latency(Latency::fixed(Duration::from_millis(8)));
            let query = page_items.into_iter().fold(of_ada(&simulator), Scan::page_items);
            query.items().map_ok(|item| order(&item)).try_collect().await.unwrap()
        });
        prop_assert_eq!(returned, (0..count).collect::<Vec<_>>());
    }

    #[test]
    fn an_interrupted_query_goes_on_where_its_items_are_settled(
        page_items in 1_u32..20,
        parts in vec((0_usize..60, 0_usize..60), 1..4),
    ) {
        let seen = paused(async {
            let simulator = Simulator::new(3);
            orders(&simulator, 100, 50).await;
            let mut seen = Vec::new();
            let mut position: Option<ScanPosition> = None;
            for (most, unsettled) in parts.into_iter().chain([(usize::MAX, 0)]) {
                let query = position.into_iter().fold(of_ada(&simulator), Scan::from_position);
                let mut items = query.page_items(page_items).items();
                let progress = items.progress();
                let mut returned = Vec::new();
                while returned.len() < most && let Some(item) = items.next().await {
                    returned.push(order(&item.unwrap()));
                }
                returned.truncate(returned.len().saturating_sub(unsettled));
                position = Some(progress.position_after(returned.len() as u64));
                seen.extend(returned);
            }
            seen.sort_unstable();
            seen.dedup();
            seen
        });
        prop_assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_items_of_the_partition_key_are_paid_for() {
    let simulator = Simulator::new(1);
    orders(&simulator, 100, 1_000).await;
    let all = Scan::new(simulator.dynamo_client(), "orders").count().await.unwrap();
    let counted = of_ada(&simulator).count().await.unwrap();
    assert_eq!((all.items, counted.items), (200, 100));
    assert!(
        (0.4..0.6).contains(&(counted.units / all.units)),
        "{counted:?} of {all:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn sort_keys_filters_and_names_are_those_of_the_service() {
    let simulator = Simulator::new(1);
    orders(&simulator, 100, 10).await;
    let query = Scan::query(
        simulator.dynamo_client(),
        "orders",
        "#customer=:customer AND #order BETWEEN :first AND :last",
    );
    let query = query
        .name("#customer", "customer")
        .name("#order", "order")
        .value(":customer", text("ada"))
        .value(":first", number(15))
        .value(":last", number(55))
        .filter("kind = :kind")
        .value(":kind", text("gift"))
        .page_items(3);
    // A placeholder of the key condition is kept when only the number of items is asked for.
    let counted = query
        .clone()
        .projection("#note")
        .name("#note", "note")
        .count()
        .await
        .unwrap();
    assert_eq!((counted.items, counted.scanned), (4, 41));
    let returned: Vec<usize> = query.items().map_ok(|item| order(&item)).try_collect().await.unwrap();
    assert_eq!(returned, [20, 30, 40, 50]);
}

#[tokio::test(start_paused = true)]
async fn a_key_condition_without_the_partition_key_is_refused_in_the_words_of_the_service() {
    let simulator = Simulator::new(1);
    orders(&simulator, 1, 10).await;
    let query = Scan::query(simulator.dynamo_client(), "orders", "#order = :order")
        .name("#order", "order")
        .value(":order", number(1));
    let error = query.items().next().await.unwrap().unwrap_err();
    assert!(error.to_string().contains("ValidationException"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_partition_is_emptied_by_a_query_and_deletes() {
    let simulator = Simulator::new(1);
    let orders = orders(&simulator, 300, 100).await;
    orders.set_capacity(Capacity::per_second(100.0));
    let keys = of_ada(&simulator)
        .projection("customer, #order")
        .name("#order", "order")
        .options(DeliveryOptions::default().max_rate(500.0));
    let delete = |key: &HashMap<String, AttributeValue>| {
        let delete = DeleteRequest::builder().set_key(Some(key.clone())).build()?;
        Ok::<_, BuildError>(WriteRequest::builder().delete_request(delete).build())
    };
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").try_map_entries(delete);
    let report = delivery.try_deliver_stream(keys.items()).await.unwrap();
    assert_eq!(report.delivered, 300);
    assert_eq!(of_ada(&simulator).count().await.unwrap().items, 0);
    let left = Scan::new(simulator.dynamo_client(), "orders").count().await.unwrap();
    assert_eq!(left.items, 300);
}

#[test]
#[should_panic(expected = "a position in 8 segments is not one of the items of one partition key")]
fn the_position_of_a_scan_is_none_of_a_query() {
    paused(async {
        let simulator = Simulator::new(1);
        orders(&simulator, 1, 10).await;
        let scan = Scan::new(simulator.dynamo_client(), "orders").items();
        let _ = of_ada(&simulator).from_position(scan.progress().position_after(0));
    });
}
