//! Lookups before the first call that fail: a table's key, a queue's attributes, whether an event bus exists.

use std::collections::HashMap;
use std::time::Duration;

use aws_batch_delivery::{Cause, Delivery, DeliveryOptions};
use aws_batch_simulator::{Acknowledgement, Latency, Record, Simulator, Table};
use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use tokio::time::{Instant, sleep};

use crate::guarantees::entries::{no_delay, put, put_with, with_queue, with_table};
use crate::support::odd::{Does, Odd, through};

/// Ten versions of each of 200 keys, those of a key at some distance from each other.
fn versions() -> Vec<WriteRequest> {
    let version = |number: usize| AttributeValue::N((number / 200).to_string());
    let put = |number: usize| put_with((number % 200).to_string(), "version", version(number));
    (0..2_000).map(put).collect()
}

/// A table whose calls take very different times, so that a later call may arrive first.
fn uneven() -> (Simulator, Table) {
    let (simulator, table) = with_table();
    let latency = Latency::lognormal(Duration::from_millis(20), 1.0);
    simulator.set_latency(latency);
    (simulator, table)
}

/// How many keys do not have their newest version.
fn older(table: &Table, newest: &str) -> usize {
    let items = table.items();
    items.iter().filter(|item| item["version"]["N"] != newest).count()
}

/// Fails for this long from now on, and counts each of its calls.
fn failing_for(time: Duration, does: Does) -> impl Fn(usize) -> Does + Send + Sync + 'static {
    let until = Instant::now() + time;
    move |_| if Instant::now() < until { does } else { Does::Passes }
}

#[tokio::test(start_paused = true)]
async fn no_key_has_an_older_value_after_its_table_could_not_be_described_for_a_while() {
    for does in [
        Does::Fails(400, "ThrottlingException"),
        Does::Fails(400, "LimitExceededException"),
        Does::Fails(503, ""),
        Does::Fails(400, ""),
        Does::Fails(404, ""),
        Does::IsLost,
        Does::Hangs,
    ] {
        let (simulator, table) = uneven();
        let odd = Odd::new(
            simulator.http_client(),
            "DescribeTable",
            failing_for(Duration::from_secs(20), does),
        );
        let client = through!(aws_sdk_dynamodb, simulator.dynamo_client(), odd);
        let report = Delivery::to_dynamo(client, "orders")
            .options(no_delay())
            .deliver(versions())
            .await
            .unwrap();
        assert_eq!((report.delivered, table.len()), (2_000, 200), "{does:?}");
        assert_eq!(older(&table, "9"), 0, "{does:?}");
        assert!(
            report.elapsed < Duration::from_secs(40),
            "{does:?}: {:?}",
            report.elapsed
        );
    }
}

#[tokio::test(start_paused = true)]
async fn no_key_has_an_older_value_if_its_table_may_not_be_described() {
    for code in ["AccessDeniedException", "UnknownOperationException"] {
        let (simulator, table) = uneven();
        let odd = Odd::new(simulator.http_client(), "DescribeTable", move |_| {
            Does::Fails(400, code)
        });
        let client = through!(aws_sdk_dynamodb, simulator.dynamo_client(), odd);
        let report = Delivery::to_dynamo(client, "orders")
            .options(no_delay())
            .deliver(versions())
            .await
            .unwrap();
        assert_eq!((report.delivered, table.len()), (2_000, 200));
        assert_eq!(older(&table, "9"), 0, "{code}");
    }
}

/// Applied writes of each key, in the order of their arrival.
fn in_order(journal: &[Record]) -> bool {
    let mut newest: HashMap<String, u64> = HashMap::new();
    journal
        .iter()
        .filter(|record| record.acknowledgement() == Acknowledgement::Accepted)
        .all(|record| {
            let version = record.entry()["version"]["N"].as_str().unwrap().parse().unwrap();
            let before = newest.insert(record.key.to_string(), version);
            before.is_none_or(|before| before <= version)
        })
}

#[tokio::test(start_paused = true)]
async fn a_producer_asks_again_and_keeps_the_order_when_it_learns_the_key() {
    let (simulator, table) = uneven();
    table.keep_journal();
    let denied = Does::Fails(400, "AccessDeniedException");
    let odd = Odd::new(
        simulator.http_client(),
        "DescribeTable",
        failing_for(Duration::from_mins(1), denied),
    );
    let client = through!(aws_sdk_dynamodb, simulator.dynamo_client(), odd.clone());
    let producer = Delivery::to_dynamo(client, "orders").options(no_delay()).producer();
    let mut slow = Duration::ZERO;
    for round in 0..40_u64 {
        let started = Instant::now();
        for number in 0..200_u64 {
            let version = AttributeValue::N((round * 10 + number / 20).to_string());
            let write = put_with((number % 20).to_string(), "version", version);
            drop(producer.enqueue(write).await.unwrap());
        }
        producer.flush().await;
        slow = started.elapsed();
        sleep(Duration::from_secs(15)).await;
    }
    let report = producer.close().await.unwrap();
    assert_eq!(report.delivered, 8_000);
    assert!(in_order(&table.journal()));
    assert!((2..10).contains(&odd.calls()), "{} calls", odd.calls());
    // Ten writes of a key one after another, and all keys at once.
    assert!(slow < Duration::from_secs(2), "{slow:?}");
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_is_not_told_the_key_hands_everything_back_with_the_name_of_the_lookup() {
    let (simulator, table) = with_table();
    let throttled = |_| Does::Fails(400, "ThrottlingException");
    for patience in [1, 10, 60].map(Duration::from_secs) {
        let odd = Odd::new(simulator.http_client(), "DescribeTable", throttled);
        let client = through!(aws_sdk_dynamodb, simulator.dynamo_client(), odd);
        let delivery = Delivery::to_dynamo(client, "orders").options(no_delay().give_up_after(patience));
        let started = Instant::now();
        let error = delivery.deliver(versions()).await.unwrap_err();
        assert_eq!(started.elapsed(), patience);
        assert_eq!((error.undelivered().len(), table.calls()), (2_000, 0));
        for undelivered in error.undelivered() {
            assert!(!undelivered.cause.is_permanent() && !undelivered.may_have_been_delivered);
            let Cause::Outage { fault, .. } = &undelivered.cause else {
                panic!("{:?}", undelivered.cause);
            };
            assert_eq!(fault.code(), "DescribeTable: ThrottlingException");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn entries_of_a_producer_are_answered_within_their_time_while_a_lookup_fails() {
    for does in [Does::Fails(400, "ThrottlingException"), Does::Hangs] {
        let (simulator, _table) = with_table();
        let odd = Odd::new(simulator.http_client(), "DescribeTable", move |_| does);
        let client = through!(aws_sdk_dynamodb, simulator.dynamo_client(), odd);
        let options = DeliveryOptions::default().give_up_after(Duration::from_secs(20));
        let producer = Delivery::to_dynamo(client, "orders").options(options).producer();
        let mut sends = Vec::new();
        for number in 0..500_u64 {
            let producer = producer.clone();
            sends.push(tokio::spawn(async move {
                sleep(Duration::from_millis(number * 100)).await;
                let started = Instant::now();
                let undelivered = producer.send(put(number.to_string())).await.unwrap_err();
                assert!(
                    matches!(undelivered.cause, Cause::Outage { .. }),
                    "{:?}",
                    undelivered.cause
                );
                started.elapsed()
            }));
        }
        for send in sends {
            let waited = send.await.unwrap();
            // `give_up_after`, and one attempt.
            assert!(waited <= Duration::from_secs(50), "{does:?}: {waited:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_lookup_has_used_up_of_the_time_is_not_granted_again() {
    let (simulator, table) = with_table();
    table.set_capacity(0.0);
    let throttled = Does::Fails(400, "ThrottlingException");
    let unsent = failing_for(Duration::from_secs(8), throttled);
    let odd = Odd::new(simulator.http_client(), "DescribeTable", unsent);
    let lost = Odd::new(odd.shared(), "BatchWriteItem", |_| Does::Fails(404, ""));
    let client = through!(aws_sdk_dynamodb, simulator.dynamo_client(), lost);
    let options = no_delay().give_up_after(Duration::from_secs(10));
    let started = Instant::now();
    let delivery = Delivery::to_dynamo(client, "orders").options(options);
    let error = delivery.deliver(versions()).await.unwrap_err();
    assert_eq!(error.undelivered().len(), 2_000);
    assert!(started.elapsed() <= Duration::from_secs(14), "{:?}", started.elapsed());
}

fn grouped(number: usize) -> SendMessageBatchRequestEntry {
    let message = SendMessageBatchRequestEntry::builder()
        .id("id")
        .message_body(number.to_string());
    message.message_group_id((number % 7).to_string()).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn no_message_is_refused_because_the_attributes_of_its_queue_were_not_known() {
    for does in [
        Does::Fails(403, "RequestThrottled"),
        Does::Fails(500, "InternalFailure"),
        Does::Fails(400, ""),
    ] {
        let (simulator, queue) = with_queue("orders.fifo");
        let failing = failing_for(Duration::from_secs(10), does);
        let odd = Odd::new(simulator.http_client(), "GetQueueAttributes", failing);
        let client = through!(aws_sdk_sqs, simulator.sqs_client(), odd);
        let delivery = Delivery::to_sqs(client, queue.url()).options(no_delay());
        let report = delivery.deliver((0..200).map(grouped)).await.unwrap();
        assert_eq!((report.delivered, queue.len()), (200, 200), "{does:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_cannot_be_asked_stops_a_delivery_that_needs_the_answer() {
    let (simulator, queue) = with_queue("orders.fifo");
    let odd = Odd::new(simulator.http_client(), "GetQueueAttributes", |_| {
        Does::Fails(400, "InvalidAddress")
    });
    let client = through!(aws_sdk_sqs, simulator.sqs_client(), odd);
    let delivery = Delivery::to_sqs(client, queue.url()).options(no_delay());
    let error = delivery.deliver((0..200).map(grouped)).await.unwrap_err();
    assert_eq!((error.undelivered().len(), queue.len()), (200, 0));
    for undelivered in error.undelivered() {
        assert!(matches!(&undelivered.cause, Cause::Stopped(fault) if fault.code() == "InvalidAddress"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_standard_queue_that_cannot_be_asked_is_sent_to_after_a_moment() {
    for does in [
        Does::Fails(403, "RequestThrottled"),
        Does::Fails(400, "AccessDenied"),
        Does::Hangs,
    ] {
        let (simulator, queue) = with_queue("orders");
        let odd = Odd::new(simulator.http_client(), "GetQueueAttributes", move |_| does);
        let client = through!(aws_sdk_sqs, simulator.sqs_client(), odd.clone());
        let delivery = Delivery::to_sqs(client, queue.url()).options(no_delay());
        let report = delivery
            .deliver(crate::guarantees::entries::messages(200))
            .await
            .unwrap();
        assert_eq!((report.delivered, odd.calls()), (200, 1));
        assert!(
            report.elapsed < Duration::from_secs(3),
            "{does:?}: {:?}",
            report.elapsed
        );
    }
}
