//! Items of a table with vector indexes.

use std::collections::HashMap;
use std::time::Duration;

use aws_batch_delivery::events::UNINDEXED;
use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::{Cause, Delivery, DeliveryError, InvalidEntry};
use aws_batch_simulator::{KeyType, Simulator, Table, TableOptions, Throughput, VectorIndexOptions};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use proptest::prelude::*;
use tokio::time::sleep;

use crate::guarantees::entries::{one_at_a_time, text};
use crate::support::log::Log;

const REASON: &str = "IndexWriteProvisionedThroughputExceeded on table/films/index/by_meaning";

/// A table whose index `by_meaning` has vectors of three dimensions, by tenant and with a filter.
fn films(simulator: &Simulator) -> Table {
    let index = VectorIndexOptions::new("meaning", 3)
        .key("tenant", KeyType::S)
        .filter("year", KeyType::N);
    simulator.table(
        "films",
        TableOptions::key("id", KeyType::S).vector_index("by_meaning", index),
    )
}

type Attributes = Vec<(&'static str, AttributeValue)>;

fn film(number: usize, attributes: Attributes) -> WriteRequest {
    let attributes = attributes.into_iter().map(|(name, value)| (name.to_owned(), value));
    let mut item: HashMap<String, AttributeValue> = attributes.collect();
    item.insert("id".to_owned(), text(number.to_string()));
    let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
    WriteRequest::builder().put_request(put).build()
}

fn vector(dimensions: usize) -> AttributeValue {
    let numbers = (0..dimensions).map(|place| AttributeValue::N(format!("0.{}", place + 1)));
    AttributeValue::L(numbers.collect())
}

#[tokio::test(start_paused = true)]
async fn vectors_that_an_index_cannot_take_cost_no_call() {
    let simulator = Simulator::new(7);
    let table = films(&simulator);
    // Each tenth is of another model, whose vectors have another number of dimensions.
    let writes = (0..2_000).map(|number| {
        let dimensions = if number % 10 == 0 { 4 } else { 3 };
        film(number, vec![("tenant", text("t")), ("meaning", vector(dimensions))])
    });
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "films");
    let error = delivery.deliver(writes).await.unwrap_err();
    assert_eq!((error.report.delivered, error.report.undelivered), (1_800, 200));
    assert_eq!((table.len(), table.vectors("by_meaning")), (1_800, 1_800));
    assert!(error.report.calls < 80, "{}", error.report);
    for undelivered in error.undelivered() {
        assert_eq!(
            undelivered.cause.to_string(),
            "not sent: the index `by_meaning` needs `meaning` with 3 dimensions, the item has 4"
        );
    }
}

/// What the index leaves out looks delivered: nothing but the search shows it.
#[tokio::test(start_paused = true)]
async fn items_that_an_index_would_silently_leave_out_are_counted_and_logged_or_handed_back() {
    let log = Log::start();
    let simulator = Simulator::new(7);
    let table = films(&simulator);
    // A tenth has no tenant, another tenth no vector at all, and belongs to no index.
    let writes = || {
        (0..1_000).map(|number| {
            film(
                number,
                match number % 10 {
                    0 => vec![("meaning", vector(3))],
                    1 => vec![("tenant", text("t"))],
                    _ => vec![("tenant", text("t")), ("meaning", vector(3))],
                },
            )
        })
    };
    let target = DynamoTable::new(simulator.dynamo_client(), "films");
    let report = Delivery::new(target.clone()).deliver(writes()).await.unwrap();
    assert_eq!((report.delivered, table.vectors("by_meaning")), (1_000, 800));
    let figures = target.vector_figures();
    assert_eq!((figures.unindexed, figures.write_bytes), (100, 800 * 1_024));
    let warnings: Vec<_> = log
        .events()
        .into_iter()
        .filter(|event| event.target == UNINDEXED)
        .collect();
    assert_eq!(warnings.len(), 1);
    let warning = &warnings[0];
    for (field, value) in [
        ("destination", "dynamodb/films"),
        ("index", "by_meaning"),
        ("key", "tenant"),
        ("entries", "1"),
    ] {
        assert_eq!(warning.field(field), value);
    }

    let simulator = Simulator::new(7);
    let table = films(&simulator);
    let target = DynamoTable::new(simulator.dynamo_client(), "films").refuse_unindexed();
    let error = Delivery::new(target.clone()).deliver(writes()).await.unwrap_err();
    assert_eq!((error.report.delivered, table.vectors("by_meaning")), (900, 800));
    assert_eq!(error.undelivered().len(), 100);
    let is_unindexed = |cause: &Cause| matches!(cause, Cause::Invalid(InvalidEntry::Unindexed { .. }));
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| is_unindexed(&undelivered.cause))
    );
    assert_eq!(target.vector_figures().unindexed, 0);
}

/// A table with a vector index by tenant that accepts this much.
fn narrow(simulator: &Simulator, throughput: Throughput) -> Table {
    let index = VectorIndexOptions::new("meaning", 3)
        .key("tenant", KeyType::S)
        .throughput(throughput);
    simulator.table(
        "films",
        TableOptions::key("id", KeyType::S).vector_index("by_meaning", index),
    )
}

/// A film of a tenant, which takes a unit of the index.
fn film_of(number: usize, tenant: &str) -> WriteRequest {
    film(number, vec![("tenant", text(tenant)), ("meaning", vector(3))])
}

#[tokio::test(start_paused = true)]
async fn the_cause_and_the_report_name_the_vector_index_that_takes_too_little() {
    let simulator = Simulator::new(7);
    narrow(&simulator, Throughput::provisioned(10.0));
    sleep(Duration::from_secs(1)).await;
    let writes = (0..30).map(|number| film_of(number, "t"));
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "films").options(one_at_a_time().retries(1));
    let error = delivery.deliver(writes).await.unwrap_err();
    let [throttled] = &error.report.throttled_by[..] else {
        panic!("{:?}", error.report)
    };
    assert_eq!(throttled.reason.to_string(), REASON);
    for undelivered in error.undelivered() {
        assert!(
            undelivered.cause.to_string().ends_with(&format!("({REASON})")),
            "{}",
            undelivered.cause
        );
    }
}

fn value() -> impl Strategy<Value = AttributeValue> {
    const NUMBERS: [&str; 7] = ["0", "-1.5", "3.4028235E38", "3.4028236E38", "1E39", "-1e125", "1E-130"];
    let element = prop_oneof![
        8 => proptest::sample::select(&NUMBERS[..3]).prop_map(|number| AttributeValue::N(number.to_owned())),
        1 => proptest::sample::select(&NUMBERS[3..]).prop_map(|number| AttributeValue::N(number.to_owned())),
        1 => Just(AttributeValue::S("1".to_owned())),
    ];
    prop_oneof![
        6 => proptest::collection::vec(element, 2..5).prop_map(AttributeValue::L),
        2 => proptest::sample::select(vec!["", "t"]).prop_map(text),
        1 => Just(AttributeValue::N("7".to_owned())),
        1 => Just(AttributeValue::Ns(vec!["1".to_owned(), "2".to_owned(), "3".to_owned()])),
    ]
}

proptest! {
    /// What the check of the target refuses, and nothing else, is refused by the service if it is sent without a check.
    #[test]
    fn the_check_of_vectors_agrees_with_the_service(
        items in proptest::collection::vec(
            proptest::collection::btree_map(proptest::sample::select(vec!["meaning", "tenant", "year"]), value(), 0..4),
            1..12,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let writes = items.into_iter().enumerate();
        let writes: Vec<_> = writes.map(|(number, item)| film(number, item.into_iter().collect())).collect();
        let undelivered = |is_checked: bool| {
            let simulator = Simulator::new(3);
            films(&simulator);
            let target = DynamoTable::new(simulator.dynamo_client(), "films");
            // The table is not asked for its indexes if the key is given.
            let target = if is_checked { target } else { target.key("id") };
            let delivered = runtime.block_on(Delivery::new(target).deliver(writes.clone()));
            let undelivered = delivered.err().map_or_else(Vec::new, DeliveryError::into_undelivered);
            undelivered.into_iter().map(|one| (one.position, matches!(one.cause, Cause::Invalid(_)))).collect::<Vec<_>>()
        };
        let (checked, sent) = (undelivered(true), undelivered(false));
        prop_assert!(checked.iter().all(|(_, is_invalid)| *is_invalid), "{:?}", checked);
        prop_assert!(sent.iter().all(|(_, is_invalid)| !is_invalid), "{:?}", sent);
        let positions = |undelivered: Vec<(u64, bool)>| {
            let mut positions: Vec<_> = undelivered.into_iter().map(|(position, _)| position).collect();
            positions.sort_unstable();
            positions
        };
        prop_assert_eq!(positions(checked), positions(sent));
    }
}
