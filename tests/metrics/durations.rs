//! The time from the moment that an entry is handed over until it is accepted.

use std::time::Duration;

use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{InjectedFault, Latency};
use futures::future::join_all;
use tokio::time::sleep;

use crate::metrics::meters::meters;
use crate::metrics::{message, puts, with_queue, with_table};

const ENTRY_DURATION: &str = "aws_batch_delivery.entry.duration";

#[tokio::test(start_paused = true)]
#[expect(clippy::float_cmp, reason = "the clock stands still in between")]
async fn an_entry_that_is_accepted_at_once_takes_one_round_trip() {
    meters();
    let (simulator, _table) = with_table("durations");
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "durations").map_target(|table| table.key("id"));
    delivery.deliver(puts(25)).await.unwrap();
    let durations = meters().values(ENTRY_DURATION, &[("destination", "dynamodb/durations")]);
    assert_eq!(durations.len(), 25);
    assert!(durations.iter().all(|seconds| *seconds == 0.008), "{durations:?}");
}

#[tokio::test(start_paused = true)]
async fn the_time_of_an_entry_that_was_rejected_has_its_rest() {
    meters();
    let (simulator, table) = with_table("rests");
    table.script([
        InjectedFault::error(500, "InternalServerError", false),
        InjectedFault::error(500, "InternalServerError", false),
    ]);
    let options = DeliveryOptions::default().backoff(|_| Duration::from_secs(1));
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "rests").map_target(|table| table.key("id"));
    delivery.options(options).deliver(puts(1)).await.unwrap();
    let durations = meters().values(ENTRY_DURATION, &[("destination", "dynamodb/rests")]);
    assert!(
        matches!(durations[..], [seconds] if (2.024..2.03).contains(&seconds)),
        "{durations:?}"
    );
}

/// One call of ten messages at a time takes a second, and the buffer holds ten more: the last ones stand in line for two.
#[tokio::test(start_paused = true)]
async fn the_time_of_an_entry_of_a_producer_has_its_time_in_the_line() {
    meters();
    let (simulator, queue) = with_queue("standing");
    simulator.set_latency(Latency::fixed(Duration::from_secs(1)));
    let options = DeliveryOptions::default().concurrency(1);
    let producer = Delivery::to_sqs(simulator.sqs_client(), queue.url())
        .options(options)
        .producer();
    let sends = (0..40).map(|_| producer.send(message("a")));
    let (sent, ()) = tokio::join!(join_all(sends), sleep(Duration::from_secs(1)));
    assert!(sent.iter().all(Result::is_ok));
    let mut durations = meters().values(ENTRY_DURATION, &[("destination", "sqs/standing")]);
    durations.sort_by(f64::total_cmp);
    let of_calls: Vec<_> = durations.chunks(10).map(|call| call[0].floor()).collect();
    // The first call asks the queue for its largest message.
    assert_eq!(of_calls, [2.0, 3.0, 4.0, 5.0], "{durations:?}");
}
