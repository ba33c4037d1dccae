//! Token buckets and latencies under the paused clock.

use std::time::Duration;

use aws_batch_simulator::{Capacity, Latency, QueueOptions, Simulator};
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use tokio::time::{Instant, sleep};

use crate::{by_id, messages, puts, send, unprocessed, write};

#[tokio::test(start_paused = true)]
async fn ten_seconds_at_a_thousand_units_accept_ten_thousand() {
    let simulator = Simulator::new(1);
    let capacity = Capacity::per_second(1_000.0).burst(100.0);
    let orders = simulator.table("orders", by_id().capacity(capacity));
    simulator.set_latency(Latency::fixed(Duration::from_millis(50)));
    let dynamo = simulator.dynamo_client();
    let start = Instant::now();
    let workers = (0..4).map(|worker| {
        let dynamo = dynamo.clone();
        tokio::spawn(async move {
            let mut next = worker * 100_000;
            while start.elapsed() < Duration::from_secs(10) {
                let _ = write(&dynamo, "orders", puts(next..next + 25)).await;
                next += 25;
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    let accepted = orders.len();
    assert!((9_900..=10_100).contains(&accepted), "{accepted}");
    assert_eq!(accepted as u64, orders.statistics().applied);
    assert_eq!(simulator.most_calls_in_flight(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_comes_back_and_is_not_applied() {
    let simulator = Simulator::new(1);
    let capacity = Capacity::per_second(10.0).burst(10.0).starts_full();
    let orders = simulator.table("orders", by_id().capacity(capacity));
    let output = write(&simulator.dynamo_client(), "orders", puts(0..25)).await.unwrap();
    assert_eq!(unprocessed(&output), 15);
    assert_eq!(orders.len(), 10);
    for request in &output.unprocessed_items().unwrap()["orders"] {
        let item = request.put_request().unwrap().item();
        let key = aws_batch_simulator::json!({"id": {"S": item["id"].as_s().unwrap()}});
        assert_eq!(orders.item(&key), None);
    }
}

#[tokio::test(start_paused = true)]
async fn when_nothing_fits_the_call_is_throttled_with_its_reason() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id().capacity(10.0));
    let error = write(&simulator.dynamo_client(), "orders", puts(0..25))
        .await
        .unwrap_err();
    let error = error.into_service_error();
    assert_eq!(error.code(), Some("ProvisionedThroughputExceededException"));
    let aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemError::ProvisionedThroughputExceededException(
        error,
    ) = error
    else {
        panic!("the error is modelled");
    };
    assert_eq!(
        error.throttling_reasons()[0].reason(),
        Some("TableWriteProvisionedThroughputExceeded")
    );
    assert_eq!(error.throttling_reasons()[0].resource(), Some(orders.arn().as_str()));
    assert_eq!(orders.statistics().throttled_calls, 1);
}

#[tokio::test(start_paused = true)]
async fn capacity_may_change_while_running() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    let dynamo = simulator.dynamo_client();
    orders.set_capacity(Capacity::none());
    assert!(write(&dynamo, "orders", puts(0..25)).await.is_err());
    orders.set_capacity(10.0);
    sleep(Duration::from_secs(1)).await;
    let output = write(&dynamo, "orders", puts(0..25)).await.unwrap();
    assert_eq!(unprocessed(&output), 15);
}

#[tokio::test(start_paused = true)]
async fn capacity_may_change_by_a_schedule() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id().capacity(1_000.0));
    let queue = simulator.queue("orders", QueueOptions::default().capacity(1_000.0));
    let steps = [(1, Capacity::none()), (5, Capacity::per_second(10.0))];
    orders.schedule_capacity(steps.map(|(after, capacity)| (Duration::from_secs(after), capacity)));
    queue.schedule_capacity([(Duration::from_secs(1), 0.0)]);
    sleep(Duration::from_secs(6)).await;
    assert!(
        (orders.drain(f64::INFINITY) - 35.0).abs() < 1e-6,
        "25 were left of the first second"
    );
    assert!((queue.drain(f64::INFINITY) - 25.0).abs() < 1e-6);
}

#[tokio::test(start_paused = true)]
async fn hot_keys_come_back_while_they_are_hot() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    let until = Instant::now() + Duration::from_secs(10);
    orders.reject_while(move |item| item["id"]["S"] == "7" && Instant::now() < until);
    let dynamo = simulator.dynamo_client();
    assert_eq!(unprocessed(&write(&dynamo, "orders", puts(0..25)).await.unwrap()), 1);
    assert!(write(&dynamo, "orders", puts(7..8)).await.is_err());
    sleep(Duration::from_secs(10)).await;
    assert_eq!(unprocessed(&write(&dynamo, "orders", puts(7..8)).await.unwrap()), 0);
}

#[tokio::test(start_paused = true)]
async fn a_queue_throttles_entries_as_the_senders_fault() {
    let simulator = Simulator::new(1);
    let capacity = Capacity::per_second(4.0).burst(4.0).starts_full();
    let queue = simulator.queue("orders", QueueOptions::default().capacity(capacity));
    let sqs = simulator.sqs_client();
    let output = send(&sqs, queue.url(), messages(0..10)).await.unwrap();
    assert_eq!((output.successful().len(), output.failed().len()), (4, 6));
    assert_eq!(output.failed()[0].code(), "RequestThrottled");
    assert!(output.failed()[0].sender_fault());
    let error = send(&sqs, queue.url(), messages(0..10))
        .await
        .unwrap_err()
        .into_service_error();
    assert!(error.is_request_throttled());
    assert_eq!(queue.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_call_arrives_after_half_of_its_latency() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    orders.keep_journal();
    simulator.set_latency(Latency::fixed(Duration::from_millis(20)));
    let start = Instant::now();
    write(&simulator.dynamo_client(), "orders", puts(0..1)).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(20));
    assert_eq!(orders.journal()[0].at - start, Duration::from_millis(10));
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_run() {
    async fn run(seed: u64) -> (Vec<String>, Duration) {
        let simulator = Simulator::new(seed);
        let capacity = Capacity::per_second(100.0).burst(10.0).starts_full();
        let orders = simulator.table("orders", by_id().capacity(capacity));
        simulator.set_latency(Latency::lognormal(Duration::from_millis(8), 0.4).slow(0.1, 8.0));
        orders.keep_journal();
        let dynamo = simulator.dynamo_client();
        let start = Instant::now();
        for call in 0..20 {
            let _ = write(&dynamo, "orders", puts(call * 25..call * 25 + 25)).await;
        }
        let journal = orders.journal();
        let told = journal
            .iter()
            .map(|record| format!("{} {:?}", record.key, record.acknowledgement()));
        (told.collect(), start.elapsed())
    }
    assert_eq!(run(7).await, run(7).await);
    assert_ne!(run(7).await, run(8).await);
}
