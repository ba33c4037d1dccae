//! Entries that name their tables, some of which do not exist: the others are written.

use std::collections::HashMap;
use std::time::Duration;

use aws_batch_delivery::targets::dynamo::{TableWrite, Transaction};
use aws_batch_delivery::{Cause, Delivery, DeliveryError};
use aws_batch_simulator::{KeyType, Latency, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::types::{Put, PutRequest, TransactWriteItem, WriteRequest};

use crate::entries::item;
use crate::paused::paused;

const ENTRIES: usize = 1_000;

fn with_orders() -> (Simulator, Table) {
    let simulator = Simulator::new(7);
    simulator.set_latency(Latency::fixed(Duration::from_millis(8)));
    let orders = simulator.table("orders", TableOptions::key("id", KeyType::S));
    (simulator, orders)
}

/// Which of the entries are for a table that does not exist.
type IsMissing = fn(usize) -> bool;

const PATTERNS: [(&str, IsMissing); 6] = [
    ("the first", |place| place == 0),
    ("one", |place| place == 500),
    ("the last", |place| place == ENTRIES - 1),
    ("every other", |place| place % 2 == 1),
    ("a run at the beginning", |place| place < 100),
    ("a run in the middle", |place| (300..500).contains(&place)),
];

fn table_of(place: usize, is_missing: IsMissing) -> &'static str {
    if is_missing(place) { "missing" } else { "orders" }
}

/// The entries that are handed back are those of the missing table, each for that reason and certainly not written.
fn assert_handed_back<E>(pattern: &str, is_missing: IsMissing, orders: &Table, error: &DeliveryError<E>) {
    let expected: Vec<usize> = (0..ENTRIES).filter(|place| is_missing(*place)).collect();
    let mut positions = Vec::new();
    for undelivered in error.undelivered() {
        let Cause::Refused(fault) = &undelivered.cause else {
            panic!("{pattern}: {:?}", undelivered.cause);
        };
        assert_eq!(fault.code(), "ResourceNotFoundException", "{pattern}");
        assert!(!undelivered.may_have_been_delivered, "{pattern}");
        positions.push(usize::try_from(undelivered.position).unwrap());
    }
    positions.sort_unstable();
    assert_eq!(positions, expected, "{pattern}");
    assert_eq!(orders.len(), ENTRIES - expected.len(), "{pattern}");
}

fn transaction(place: usize, table: &str) -> Transaction {
    let put = |table: &str, part: &str| {
        let put = Put::builder()
            .table_name(table)
            .set_item(Some(item(format!("{place}{part}"), "one")));
        TransactWriteItem::builder().put(put.build().unwrap()).build()
    };
    match table {
        "orders" => Transaction::new([put("orders", "")]),
        // The other action is for a table that exists.
        missing => Transaction::new([put("orders", "-"), put(missing, "")]),
    }
}

#[test]
fn a_transaction_that_names_a_missing_table_is_handed_back_alone() {
    for (pattern, is_missing) in PATTERNS {
        paused(async move {
            let (simulator, orders) = with_orders();
            let transactions = (0..ENTRIES).map(|place| transaction(place, table_of(place, is_missing)));
            let delivery = Delivery::to_dynamo_transactions(simulator.dynamo_client());
            let error = delivery.deliver(transactions).await.unwrap_err();
            assert_handed_back(pattern, is_missing, &orders, &error);
        });
    }
}

#[test]
fn transactions_of_which_none_names_a_table_that_exists_stop_after_a_thousand() {
    paused(async {
        let (simulator, orders) = with_orders();
        let transactions = (0..10 * ENTRIES).map(|place| transaction(place, "missing"));
        let delivery = Delivery::to_dynamo_transactions(simulator.dynamo_client());
        let error = delivery.deliver(transactions).await.unwrap_err();
        assert_eq!((error.undelivered().len(), orders.len()), (10 * ENTRIES, 0));
        for undelivered in error.undelivered() {
            let (Cause::Stopped(fault) | Cause::Refused(fault)) = &undelivered.cause else {
                panic!("{:?}", undelivered.cause);
            };
            assert_eq!(fault.code(), "ResourceNotFoundException");
        }
        assert!(error.report.calls <= 1_100, "{} calls", error.report.calls);
    });
}

fn write(place: usize, table: &str) -> TableWrite {
    let put = PutRequest::builder().set_item(Some(item(place.to_string(), "one")));
    let put = put.build().unwrap();
    TableWrite::new(table, WriteRequest::builder().put_request(put).build())
}

/// Whether the tables are asked for their keys, or these are given.
#[test]
fn writes_to_a_missing_table_are_handed_back_alone() {
    for (pattern, is_missing) in PATTERNS {
        for is_given in [false, true] {
            paused(async move {
                let (simulator, orders) = with_orders();
                let writes = (0..ENTRIES).map(|place| write(place, table_of(place, is_missing)));
                let delivery = Delivery::to_dynamo_tables(simulator.dynamo_client(), ["orders", "missing"]);
                let delivery = if is_given {
                    delivery.map_target(|tables| tables.key("orders", "id").key("missing", "id"))
                } else {
                    delivery
                };
                let error = delivery.deliver(writes).await.unwrap_err();
                assert_handed_back(pattern, is_missing, &orders, &error);
                if !is_given {
                    // Those of a table that is known to be missing are not sent.
                    assert_eq!(orders.statistics().refused_calls, 0, "{pattern}");
                }
            });
        }
    }
}

#[test]
fn writes_to_tables_of_which_none_exists_stop_the_delivery() {
    paused(async {
        let (simulator, _) = with_orders();
        let writes = (0..ENTRIES).map(|place| write(place, ["missing", "absent"][place % 2]));
        let delivery = Delivery::to_dynamo_tables(simulator.dynamo_client(), ["absent", "missing"]);
        let error = delivery.deliver(writes).await.unwrap_err();
        let mut causes = HashMap::new();
        for undelivered in error.undelivered() {
            let Cause::Stopped(fault) = &undelivered.cause else {
                panic!("{:?}", undelivered.cause);
            };
            *causes.entry(fault.code().to_owned()).or_insert(0) += 1;
        }
        assert_eq!(
            causes,
            HashMap::from([("ResourceNotFoundException".to_owned(), ENTRIES)])
        );
        assert!(error.report.calls <= 70, "{} calls", error.report.calls);
    });
}
