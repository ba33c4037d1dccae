//! Several tables in one delivery.

use aws_batch_delivery::targets::dynamo::TableWrite;
use aws_batch_delivery::{Cause, Delivery};
use aws_batch_simulator::{InjectedFault, KeyType, Simulator, TableOptions};

use crate::guarantees::entries::{delete, no_delay, one_at_a_time, put, puts};

#[tokio::test(start_paused = true)]
async fn calls_mix_tables_and_leftovers_return_to_their_own() {
    let simulator = Simulator::new(42);
    let orders = simulator.table("orders", TableOptions::key("id", KeyType::S));
    let customers = simulator.table("customers", TableOptions::key("id", KeyType::S));
    orders.script([InjectedFault::Unprocessed(3)]);
    customers.script([InjectedFault::Unprocessed(2)]);
    let tables = ["orders", "customers"];
    let writes = puts(30)
        .into_iter()
        .flat_map(|put| tables.map(|table| TableWrite::new(table, put.clone())));
    let report = Delivery::to_dynamo_tables(simulator.dynamo_client(), tables)
        .options(one_at_a_time())
        .deliver(writes)
        .await
        .unwrap();
    assert_eq!((report.delivered, report.calls, report.resubmitted), (60, 3, 5));
    assert_eq!((orders.len(), customers.len()), (30, 30));
}

#[tokio::test(start_paused = true)]
async fn a_key_has_its_order_in_each_table() {
    let simulator = Simulator::new(42);
    let orders = simulator.table("orders", TableOptions::key("id", KeyType::S));
    let customers = simulator.table("customers", TableOptions::key("id", KeyType::S));
    let writes = [
        TableWrite::new("orders", put("a")),
        TableWrite::new("customers", put("a")),
        TableWrite::new("orders", delete("a")),
    ];
    let report = Delivery::to_dynamo_tables(simulator.dynamo_client(), ["orders", "customers"])
        .options(no_delay())
        .deliver(writes)
        .await
        .unwrap();
    assert_eq!(report.calls, 2);
    assert_eq!((orders.len(), customers.len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_write_to_another_table_is_handed_back_unsent() {
    let simulator = Simulator::new(42);
    simulator.table("orders", TableOptions::key("id", KeyType::S));
    let writes = [TableWrite::new("orders", put("a")), TableWrite::new("others", put("a"))];
    let error = Delivery::to_dynamo_tables(simulator.dynamo_client(), ["orders"])
        .options(no_delay())
        .deliver(writes)
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, error.undelivered().len()), (1, 1));
    assert!(matches!(error.undelivered()[0].cause, Cause::Invalid(_)));
}
