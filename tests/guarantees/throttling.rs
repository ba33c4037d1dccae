//! The limit of a table that a delivery has exceeded, as reported afterwards.

use std::time::Duration;

use aws_batch_delivery::events::CALL;
use aws_batch_delivery::{Delivery, DeliveryError, Report};
use aws_batch_simulator::{IndexOptions, KeyType, Simulator, TableOptions, Throughput};
use aws_sdk_dynamodb::types::WriteRequest;
use tokio::time::sleep;

use crate::guarantees::entries::{one_at_a_time, put_with, text};
use crate::support::log::Log;

const REASON: &str = "IndexWriteProvisionedThroughputExceeded";
const RESOURCE: &str = "table/orders/index/by_customer";

/// Writes 30 items to a table of which one index accepts 10 units a second, and tries each twice.
pub(crate) async fn overload() -> DeliveryError<WriteRequest> {
    let simulator = Simulator::new(42);
    let index = IndexOptions::key("customer", KeyType::S).throughput(Throughput::provisioned(10.0));
    simulator.table(
        "orders",
        TableOptions::key("id", KeyType::S).index("by_customer", index),
    );
    sleep(Duration::from_secs(1)).await;
    let items = (0..30).map(|id| put_with(format!("{id}"), "customer", text("c")));
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").map_target(|table| table.key("id"));
    let options = one_at_a_time().retries(1);
    delivery.options(options).deliver(items).await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn the_cause_and_the_report_name_the_index_that_takes_too_little() {
    let error = overload().await;
    assert_eq!(error.report.delivered, 10);
    let [throttled] = &error.report.throttled_by[..] else {
        panic!("{:?}", error.report)
    };
    assert_eq!(throttled.reason.reason, REASON);
    assert_eq!(throttled.reason.resource.as_deref(), Some(RESOURCE));
    assert_eq!(
        throttled.calls,
        error.report.calls - 1,
        "the first call was accepted in part"
    );
    for undelivered in error.undelivered() {
        assert_eq!(
            undelivered.cause.to_string(),
            format!("retries used up: ProvisionedThroughputExceededException ({REASON} on {RESOURCE})")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_with_reasons_comes_back_as_it_was_serialized() {
    let report = overload().await.report;
    let value = serde_json::to_value(&report).unwrap();
    let told = &value["throttled_by"][0];
    assert_eq!((&told["reason"], &told["resource"]), (&REASON.into(), &RESOURCE.into()));
    assert_eq!(serde_json::from_value::<Report>(value).unwrap(), report);
}

#[tokio::test(start_paused = true)]
async fn the_trace_of_a_call_names_the_index_and_no_account() {
    let log = Log::start();
    overload().await;
    let throttled_by: Vec<String> = log
        .of(CALL)
        .iter()
        .map(|call| call.field("throttled_by").to_owned())
        .collect();
    let [first, rest @ ..] = &throttled_by[..] else {
        panic!("no call was made")
    };
    assert_eq!(first, "", "accepted in part");
    assert!(
        rest.iter().all(|told| *told == format!("{REASON} on {RESOURCE}")),
        "{rest:?}"
    );
}
