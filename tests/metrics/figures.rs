//! Each number is that of the report.

use std::borrow::Cow;
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Limits, Verdict};
use aws_batch_delivery::{
    Delivery, DeliveryOptions, InvalidEntry, Report, deliver_batch_to_dynamo, deliver_batch_to_sqs,
};
use aws_batch_simulator::{Capacity, IndexOptions, InjectedFault, KeyType, TableOptions, Throughput};
use tokio::time::{sleep, timeout};

use crate::metrics::meters::meters;
use crate::metrics::{message, put, puts, simulator, with_queue, with_table};

const DELIVERED: &str = "aws_batch_delivery.entries.delivered";
const UNDELIVERED: &str = "aws_batch_delivery.entries.undelivered";
const SUPERSEDED: &str = "aws_batch_delivery.entries.superseded";
const CONDITION_FAILED: &str = "aws_batch_delivery.entries.condition_failed";
const RESUBMITTED: &str = "aws_batch_delivery.entries.resubmitted";
const THROTTLED: &str = "aws_batch_delivery.entries.throttled";
const IN_FLIGHT: &str = "aws_batch_delivery.entries.in_flight";
const WAITING: &str = "aws_batch_delivery.entries.waiting";
const THROTTLED_CALLS: &str = "aws_batch_delivery.calls.throttled";
const CALL_DURATION: &str = "aws_batch_delivery.call.duration";
const ENTRY_DURATION: &str = "aws_batch_delivery.entry.duration";

/// Asserts that what was measured of the destination is what the report says.
#[expect(clippy::cast_precision_loss, reason = "no test counts that far")]
#[expect(clippy::float_cmp, reason = "the numbers are whole")]
fn assert_measured(destination: &str, report: &Report) {
    let to = ("destination", destination);
    for (name, reported) in [
        (DELIVERED, report.delivered),
        (UNDELIVERED, report.undelivered),
        (SUPERSEDED, report.superseded),
        (CONDITION_FAILED, report.condition_failed),
        (RESUBMITTED, report.resubmitted),
        (THROTTLED, report.throttled),
        (IN_FLIGHT, 0),
        (WAITING, 0),
    ] {
        assert_eq!(meters().sum(name, &[to]), reported as f64, "{name} of {report:?}");
    }
    let processed = report.delivered + report.condition_failed;
    for (name, reported) in [(CALL_DURATION, report.calls), (ENTRY_DURATION, processed)] {
        assert_eq!(meters().count(name, &[to]) as u64, reported, "{name} of {report:?}");
    }
    let mut throttled = 0;
    for calls in &report.throttled_by {
        let resource = calls.reason.resource.as_deref().unwrap_or_default();
        let limit = [to, ("reason", &*calls.reason.reason), ("resource", resource)];
        assert_eq!(meters().count(THROTTLED_CALLS, &limit) as u64, calls.calls, "{calls:?}");
        throttled += calls.calls;
    }
    assert_eq!(meters().count(THROTTLED_CALLS, &[to]) as u64, throttled);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_load_is_measured_as_it_is_reported() {
    meters();
    let simulator = simulator();
    let index = IndexOptions::key("customer", KeyType::S).throughput(Throughput::provisioned(50.0));
    let options = TableOptions::key("id", KeyType::S).capacity(Capacity::per_second(100.0));
    simulator.table("throttled", options.index("by_customer", index));
    sleep(Duration::from_secs(1)).await;
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "throttled").map_target(|table| table.key("id"));
    let report = delivery.deliver(puts(1_000)).await.unwrap();
    assert!(report.throttled > 0 && report.resubmitted > 0, "{report:?}");
    assert!(
        report
            .throttled_by
            .iter()
            .any(|calls| { calls.reason.resource.as_deref() == Some("table/throttled/index/by_customer") }),
        "{report:?}"
    );
    assert_measured("dynamodb/throttled", &report);
}

#[tokio::test(start_paused = true)]
async fn what_is_dropped_for_newer_ones_is_measured_as_it_is_reported() {
    meters();
    let (simulator, table) = with_table("superseded");
    table.script([InjectedFault::error(500, "InternalServerError", false)]);
    let options = DeliveryOptions::default().last_write_wins().concurrency(1);
    let writes = (0..100).map(|number| put(&(number % 10).to_string()));
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "superseded").map_target(|table| table.key("id"));
    let report = delivery.options(options).deliver(writes).await.unwrap();
    assert!(report.superseded > 0 && report.resubmitted > 0, "{report:?}");
    assert_measured("dynamodb/superseded", &report);
}

/// Takes one number in a call, and only those below ten.
struct Conditional;

impl BatchTarget for Conditional {
    type Entry = u64;

    fn name(&self) -> Cow<'_, str> {
        "conditional".into()
    }

    fn limits(&self) -> Limits {
        Limits::new(1, 1)
    }

    fn check(&self, _: &u64) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, chunk: &[u64]) -> Answer {
        Answer::Whole(match chunk {
            [0..10] => Verdict::Accepted,
            _ => Verdict::ConditionFailed,
        })
    }
}

#[tokio::test(start_paused = true)]
async fn entries_with_a_failed_condition_are_measured_as_they_are_reported() {
    meters();
    let report = Delivery::new(Conditional).deliver(0..30).await.unwrap();
    assert_eq!((report.delivered, report.condition_failed), (10, 20));
    assert_measured("conditional", &report);
    let to = ("destination", "conditional");
    for (outcome, calls) in [("accepted", 10), ("condition_failed", 20)] {
        assert_eq!(
            meters().values(CALL_DURATION, &[to, ("outcome", outcome)]).len(),
            calls,
            "{outcome}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn messages_that_are_refused_are_measured_as_they_are_reported() {
    meters();
    let (simulator, queue) = with_queue("refused");
    queue.script([
        InjectedFault::error(500, "InternalError", false),
        InjectedFault::failed(1, "InvalidMessageContents", true),
    ]);
    let messages = (0..35).map(|_| message("a"));
    let options = DeliveryOptions::default().concurrency(1);
    let error = deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), messages, &options)
        .await
        .unwrap_err();
    assert_eq!(error.report.undelivered, 1);
    assert_measured("sqs/refused", &error.report);
}

#[tokio::test(start_paused = true)]
#[expect(clippy::float_cmp, reason = "the numbers are whole")]
async fn calls_are_counted_by_outcome() {
    meters();
    let (simulator, queue) = with_queue("outcomes");
    queue.script([
        InjectedFault::failed(1, "InternalError", false),
        InjectedFault::error(500, "InternalError", false),
        InjectedFault::error(400, "ThrottlingException", false),
    ]);
    let options = DeliveryOptions::default().concurrency(1);
    deliver_batch_to_sqs(
        &simulator.sqs_client(),
        queue.url(),
        [message("a"), message("b")],
        &options,
    )
    .await
    .unwrap();
    let to = ("destination", "sqs/outcomes");
    for (outcome, code) in [
        ("failed", Some("InternalError")),
        ("throttled", Some("ThrottlingException")),
        ("partial", None),
        ("accepted", None),
    ] {
        let calls = meters().values(CALL_DURATION, &[to, ("outcome", outcome)]);
        assert_eq!(calls, [0.008], "{outcome}");
        let with_code = code.map_or(0, |code| {
            meters().count(CALL_DURATION, &[to, ("outcome", outcome), ("error.type", code)])
        });
        assert_eq!(with_code, usize::from(code.is_some()), "{outcome}");
    }
    assert_eq!(meters().sum(THROTTLED, &[to]), 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_entries_are_all_refused_has_the_code_of_the_first() {
    meters();
    let (simulator, queue) = with_queue("all-refused");
    queue.script([InjectedFault::failed(2, "InvalidMessageContents", true)]);
    let messages = [message("a"), message("b")];
    let options = DeliveryOptions::default();
    let delivered = deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), messages, &options).await;
    assert_eq!(delivered.unwrap_err().undelivered().len(), 2);
    let attributes = [
        ("destination", "sqs/all-refused"),
        ("outcome", "refused"),
        ("error.type", "InvalidMessageContents"),
    ];
    assert_eq!(meters().count(CALL_DURATION, &attributes), 1);
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_is_dropped_leaves_nothing_in_flight() {
    meters();
    let (simulator, table) = with_table("dropped");
    table.script([InjectedFault::error(500, "InternalServerError", false)]);
    let client = simulator.dynamo_client();
    let options = DeliveryOptions::default().concurrency(2);
    let delivery = Delivery::to_dynamo(client, "dropped")
        .map_target(|table| table.key("id"))
        .options(options);
    // One call has failed, and the next ones are under way.
    _ = timeout(Duration::from_millis(12), delivery.deliver(puts(500))).await;
    let to = [("destination", "dynamodb/dropped")];
    assert!(meters().values(IN_FLIGHT, &to).len() > 3);
    assert!(!meters().values(WAITING, &to).is_empty());
    assert_eq!((meters().sum(IN_FLIGHT, &to), meters().sum(WAITING, &to)), (0.0, 0.0));
}

/// The SDK gives its own to the same provider: the two have the same version of it.
#[tokio::test(start_paused = true)]
async fn the_sdk_measures_by_the_same_provider() {
    meters();
    let (simulator, _table) = with_table("provider");
    deliver_batch_to_dynamo(
        &simulator.dynamo_client(),
        "provider",
        puts(1),
        &DeliveryOptions::default(),
    )
    .await
    .unwrap();
    let request = [("rpc.service", "DynamoDB"), ("rpc.method", "BatchWriteItem")];
    assert!(
        meters().count("smithy.client.call.duration", &request) > 0,
        "{}",
        meters().text()
    );
    assert_eq!(
        meters().count(CALL_DURATION, &[("destination", "dynamodb/provider")]),
        1
    );
}
