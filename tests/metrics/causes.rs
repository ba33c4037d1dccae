//! Entries that were handed back, by cause.

use std::time::Duration;

use aws_batch_delivery::{Delivery, DeliveryOptions, deliver_batch_to_dynamo, deliver_batch_to_sqs};
use aws_batch_simulator::{Capacity, InjectedFault};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::metrics::meters::meters;
use crate::metrics::{message, puts, simulator, with_queue, with_table};

const UNDELIVERED: &str = "aws_batch_delivery.entries.undelivered";
const CODE: &str = "ProvisionedThroughputExceededException";

/// Asserts that this many entries of the destination were handed back, all with this cause.
#[expect(clippy::float_cmp, reason = "the numbers are whole")]
fn assert_cause(destination: &str, entries: f64, cause: &str, code: Option<&str>) {
    let to = ("destination", destination);
    assert_eq!(meters().sum(UNDELIVERED, &[to]), entries, "{destination}");
    let of_cause = [to, ("cause", cause)];
    assert_eq!(meters().sum(UNDELIVERED, &of_cause), entries, "{cause}");
    if let Some(code) = code {
        let of_code = [to, ("cause", cause), ("error.type", code)];
        assert_eq!(meters().sum(UNDELIVERED, &of_code), entries, "{code}");
    }
}

/// Hands everything back that is delivered to a table of this name without any capacity.
async fn deliver_in_vain(table: &str, options: DeliveryOptions) {
    meters();
    let (simulator, throttled) = with_table(table);
    throttled.set_capacity(Capacity::none());
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), table).map_target(|table| table.key("id"));
    delivery.options(options).deliver(puts(3)).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn retries_used_up() {
    deliver_in_vain("retries", DeliveryOptions::default().retries(1)).await;
    assert_cause("dynamodb/retries", 3.0, "retries_used_up", Some(CODE));
}

#[tokio::test(start_paused = true)]
async fn an_outage() {
    let options = DeliveryOptions::default().give_up_after(Duration::from_secs(5));
    deliver_in_vain("outage", options).await;
    assert_cause("dynamodb/outage", 3.0, "outage", Some(CODE));
}

#[tokio::test(start_paused = true)]
async fn time_used_up() {
    meters();
    let (simulator, throttled) = with_table("time");
    throttled.set_capacity(Capacity::per_second(0.0).burst(1.0).starts_full());
    let options = DeliveryOptions::default().give_up_after(Duration::from_secs(5));
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "time").map_target(|table| table.key("id"));
    let error = delivery.options(options).deliver(puts(3)).await.unwrap_err();
    // One was accepted together with the first attempt of the others.
    assert_eq!(error.report.delivered, 1);
    assert_cause("dynamodb/time", 2.0, "time_used_up", None);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_was_reached() {
    let options = DeliveryOptions::default().deadline(Instant::now() + Duration::from_secs(5));
    deliver_in_vain("deadline", options).await;
    assert_cause("dynamodb/deadline", 3.0, "deadline_reached", Some(CODE));
}

#[tokio::test(start_paused = true)]
async fn cancelled() {
    let token = CancellationToken::new();
    let options = DeliveryOptions::default().cancellation(token.clone());
    let cancel = async {
        sleep(Duration::from_secs(5)).await;
        token.cancel();
    };
    tokio::join!(deliver_in_vain("cancelled", options), cancel);
    assert_cause("dynamodb/cancelled", 3.0, "cancelled", Some(CODE));
}

#[tokio::test(start_paused = true)]
async fn stopped() {
    meters();
    let options = DeliveryOptions::default();
    deliver_batch_to_dynamo(&simulator().dynamo_client(), "missing", puts(3), &options)
        .await
        .unwrap_err();
    assert_cause("dynamodb/missing", 3.0, "stopped", Some("ResourceNotFoundException"));
}

#[tokio::test(start_paused = true)]
async fn invalid_and_refused() {
    meters();
    let (simulator, queue) = with_queue("invalid");
    let options = DeliveryOptions::default();
    deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), [message("\u{7}")], &options)
        .await
        .unwrap_err();
    assert_cause("sqs/invalid", 1.0, "invalid", None);

    let queue = simulator.queue("refusing", aws_batch_simulator::QueueOptions::default());
    queue.script([InjectedFault::failed(1, "InvalidMessageContents", true)]);
    deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), [message("a")], &options)
        .await
        .unwrap_err();
    assert_cause("sqs/refusing", 1.0, "refused", Some("InvalidMessageContents"));
}

/// Neither comes from the engine.
#[tokio::test(start_paused = true)]
async fn what_became_no_entry_and_what_stood_in_line() {
    meters();
    let (simulator, queue) = with_queue("unconvertible");
    let failing = |_: &u64| Err::<SendMessageBatchRequestEntry, _>("no entry");
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url()).try_map_entries(failing);
    delivery.deliver(0..3).await.unwrap_err();
    assert_cause("sqs/unconvertible", 3.0, "invalid", None);

    let queue = simulator.queue("line", aws_batch_simulator::QueueOptions::default());
    queue.set_capacity(Capacity::none());
    let token = CancellationToken::new();
    let options = DeliveryOptions::default().cancellation(token.clone());
    let producer = Delivery::to_sqs(simulator.sqs_client(), queue.url())
        .options(options)
        .producer();
    token.cancel();
    let mut receipts = Vec::new();
    for _ in 0..3 {
        receipts.extend(producer.try_enqueue(message("a")));
    }
    assert_eq!(receipts.len(), 3);
    for receipt in receipts {
        receipt.await.unwrap_err();
    }
    assert_cause("sqs/line", 3.0, "cancelled", None);
}
