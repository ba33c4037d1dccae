//! A delivery, its calls and their requests as spans.

use aws_batch_delivery::events::{CALL, DELIVERY, REQUEST};
use aws_batch_delivery::{Delivery, deliver_batch_to_dynamo, deliver_batch_to_sqs};
use aws_batch_simulator::InjectedFault;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use crate::guarantees::entries::{messages, one_at_a_time, puts, with_queue, with_table};
use crate::guarantees::throttling::overload;
use crate::support::log::{Log, Traced};

const REASON: &str = "IndexWriteProvisionedThroughputExceeded on table/orders/index/by_customer";
const CODE: &str = "ProvisionedThroughputExceededException";

/// Asserts that the span has these fields.
fn assert_fields(span: &Traced, fields: &[(&str, &str)]) {
    for (name, value) in fields {
        assert_eq!(span.field(name), *value, "{name} of {span:#?}");
    }
}

/// The spans of this target, each with the span that it is in.
fn of<'a>(spans: &'a [Traced], target: &str) -> Vec<(&'a Traced, Option<&'a Traced>)> {
    let of_target = spans.iter().filter(|span| span.target == target);
    of_target
        .map(|span| (span, span.parent.map(|parent| &spans[parent])))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_delivery_its_calls_and_their_requests_are_spans_in_each_other() {
    let log = Log::start();
    let (simulator, _table) = with_table();
    deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", puts(30), &one_at_a_time())
        .await
        .unwrap();
    let spans = log.spans();
    let [(delivery, None)] = of(&spans, DELIVERY)[..] else {
        panic!("{spans:#?}")
    };
    assert_fields(
        delivery,
        &[
            ("destination", "dynamodb/orders"),
            ("delivered", "30"),
            ("undelivered", "0"),
            ("calls", "2"),
            ("finished", "true"),
            ("otel.status_code", ""),
        ],
    );
    let calls = of(&spans, CALL);
    assert_eq!(calls.len(), 2);
    for (call, parent) in &calls {
        assert_eq!(parent.unwrap().target, DELIVERY);
        assert_eq!(call.field("sent"), call.field("accepted"));
        assert_fields(call, &[("throttled", "0"), ("error.type", "")]);
    }
    let requests = of(&spans, REQUEST);
    let in_calls = requests.iter().filter(|(_, parent)| parent.unwrap().target == CALL);
    assert_eq!(in_calls.count(), 2, "{spans:#?}");
    assert_fields(
        requests[0].0,
        &[
            ("otel.name", "DynamoDB.DescribeTable"),
            ("aws.dynamodb.table_names", "orders"),
        ],
    );
    assert_fields(
        requests[1].0,
        &[
            ("otel.name", "DynamoDB.BatchWriteItem"),
            ("otel.kind", "client"),
            ("rpc.system", "aws-api"),
            ("rpc.service", "DynamoDB"),
            ("rpc.method", "BatchWriteItem"),
            ("db.system.name", "aws.dynamodb"),
            ("db.operation.batch.size", "25"),
            ("aws.dynamodb.table_names", "orders"),
            ("error.type", ""),
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn the_span_counts_values_that_became_no_entry() {
    let log = Log::start();
    let (simulator, _table) = with_table();
    let even = |number: &usize| match number % 2 {
        0 => puts(1).pop().ok_or("none"),
        _ => Err("an odd number"),
    };
    let writes = Delivery::to_dynamo(simulator.dynamo_client(), "orders").try_map_entries(even);
    writes.deliver([1, 2, 3]).await.unwrap_err();
    let counts = [("delivered", "1"), ("undelivered", "2"), ("finished", "true")];
    assert_fields(of(&log.spans(), DELIVERY)[0].0, &counts);
}

#[tokio::test(start_paused = true)]
async fn the_spans_of_a_throttled_load_name_the_index_at_fault() {
    let log = Log::start();
    overload().await;

    let spans = log.spans();
    assert_fields(
        of(&spans, DELIVERY)[0].0,
        &[("throttled_by", REASON), ("delivered", "10"), ("undelivered", "20")],
    );
    let failed: Vec<_> = of(&spans, CALL)
        .into_iter()
        .filter(|(call, _)| call.field("accepted") == "0")
        .collect();
    assert!(!failed.is_empty());
    for (call, _) in failed {
        assert_fields(
            call,
            &[
                ("throttled_by", REASON),
                ("error.type", CODE),
                ("otel.status_code", "ERROR"),
            ],
        );
    }
    let requests = of(&spans, REQUEST);
    let failed = requests
        .iter()
        .filter(|(request, _)| request.field("error.type") == CODE);
    assert!(failed.count() > 0, "{spans:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_to_a_queue_has_the_names_of_messaging() {
    let log = Log::start();
    let (simulator, queue) = with_queue("orders");
    queue.script([InjectedFault::error(500, "InternalError", false)]);
    deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), messages(10), &one_at_a_time())
        .await
        .unwrap();
    let spans = log.spans();
    // The first one asks the queue for its largest message.
    let [_, (failed, _), (accepted, _)] = of(&spans, REQUEST)[..] else {
        panic!("{spans:#?}")
    };
    for request in [failed, accepted] {
        assert_fields(
            request,
            &[
                ("otel.name", "SQS.SendMessageBatch"),
                ("messaging.system", "aws_sqs"),
                ("messaging.operation.type", "send"),
                ("messaging.destination.name", "orders"),
                ("messaging.batch.message_count", "10"),
            ],
        );
    }
    assert_fields(
        failed,
        &[("error.type", "InternalError"), ("otel.status_code", "ERROR")],
    );
    assert_fields(accepted, &[("error.type", ""), ("otel.status_code", "")]);
    let retried: Vec<_> = of(&spans, CALL)
        .iter()
        .map(|(call, _)| call.field("retried").to_owned())
        .collect();
    assert_eq!(retried, ["0", "10"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_before_the_first_call_is_in_the_delivery() {
    let log = Log::start();
    let (simulator, queue) = with_queue("orders.fifo");
    let entry = SendMessageBatchRequestEntry::builder().id("a").message_body("a");
    let entry = entry.message_group_id("a").build().unwrap();
    deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), [entry], &one_at_a_time())
        .await
        .unwrap();
    let spans = log.spans();
    let (asked, parent) = of(&spans, REQUEST)[0];
    assert_eq!(asked.field("otel.name"), "SQS.GetQueueAttributes");
    assert_eq!(parent.unwrap().target, DELIVERY);
}
