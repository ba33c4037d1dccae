//! Values of the caller's own go in, and what is not delivered comes back as such.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::time::Duration;

use aws_batch_delivery::targets::Acknowledgement;
use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_delivery::{
    Cause, Delivery, DeliveryError, DeliveryOptions, Fate, InvalidEntry, Progress, TypedDelivery,
};
use aws_batch_simulator::{InjectedFault, KeyType, Queue, QueueOptions, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::stream;
use proptest::prelude::*;
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Order {
    id: String,
    cents: i64,
    weight: f64,
    note: Option<String>,
    #[serde(
        default,
        with = "serde_dynamo::string_set",
        skip_serializing_if = "BTreeSet::is_empty"
    )]
    tags: BTreeSet<String>,
    #[serde(
        default,
        with = "serde_dynamo::number_set",
        skip_serializing_if = "BTreeSet::is_empty"
    )]
    lots: BTreeSet<u32>,
    lines: Vec<Line>,
    labels: BTreeMap<String, bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Line {
    Gift,
    Article { number: u64, count: u8 },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct OrderKey {
    id: String,
}

/// Serializes unless its number is odd.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Picky(u32);

impl Serialize for Picky {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            13 => panic!("13 is said to bring bad luck"),
            odd if odd % 2 == 1 => Err(S::Error::custom(format!("{odd} is odd"))),
            even => BTreeMap::from([("id", even.to_string())]).serialize(serializer),
        }
    }
}

fn shop() -> (Simulator, Table, Delivery<DynamoTable>) {
    let simulator = Simulator::new(7);
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S));
    let options = DeliveryOptions::default().backoff(|_: u32| Duration::ZERO).retries(0);
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").options(options);
    (simulator, table, delivery)
}

fn queue() -> (Queue, Delivery<SqsQueue>) {
    let simulator = Simulator::new(7);
    let queue = simulator.queue("events", QueueOptions::default());
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url());
    (queue, delivery)
}

async fn read_back(simulator: &Simulator) -> Vec<Order> {
    let scan = simulator.dynamo_client().scan().table_name("orders");
    let items = scan.into_paginator().items().send().try_collect().await.unwrap();
    let mut orders: Vec<Order> = serde_dynamo::from_items(items).unwrap();
    orders.sort_by(|one, other| one.id.cmp(&other.id));
    orders
}

fn any_line() -> impl Strategy<Value = Line> {
    prop_oneof![
        Just(Line::Gift),
        (any::<u64>(), any::<u8>()).prop_map(|(number, count)| Line::Article { number, count }),
    ]
}

prop_compose! {
    fn any_order(number: usize)(
        cents: i64,
        weight in -1e100..1e100,
        note in proptest::option::of("[a-z]{0,3}"),
        tags in proptest::collection::btree_set("[a-z]{1,3}", 0..3),
        lots in proptest::collection::btree_set(any::<u32>(), 0..3),
        lines in proptest::collection::vec(any_line(), 0..3),
        labels in proptest::collection::btree_map("[a-z]{1,3}", any::<bool>(), 0..3),
    ) -> Order {
        Order { id: format!("order-{number:04}"), cents, weight, note, tags, lots, lines, labels }
    }
}

fn any_orders() -> impl Strategy<Value = Vec<Order>> {
    (0..120_usize).prop_flat_map(|count| (0..count).map(any_order).collect::<Vec<_>>())
}

/// A run of its own, in paused time.
fn run<F: Future>(run: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(run)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_value_is_read_back_as_it_was_or_handed_back_as_it_was(orders in any_orders(), unprocessed in 0..8_usize) {
        let (stored, handed_back) = run(async {
            let (simulator, table, delivery) = shop();
            table.script([InjectedFault::Unprocessed(unprocessed), InjectedFault::Throttle]);
            let ended = delivery.put_items().deliver(orders.clone()).await;
            let handed_back = ended.map_or_else(DeliveryError::into_undelivered, |_| Vec::new());
            (read_back(&simulator).await, handed_back)
        });
        for undelivered in &handed_back {
            prop_assert_eq!(&*undelivered.entry, &orders[usize::try_from(undelivered.position).unwrap()]);
        }
        let mut all = stored;
        all.extend(handed_back.into_iter().map(|undelivered| *undelivered.entry));
        all.sort_by(|one, other| one.id.cmp(&other.id));
        prop_assert_eq!(all, orders);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_documentation_says_of_values_holds() {
    #[derive(Serialize)]
    struct Kinds {
        id: &'static str,
        empty: &'static str,
        list: [u8; 2],
        nothing: Option<u8>,
        unit: (),
        float: f64,
        plain: Line,
        #[serde(serialize_with = "as_bytes")]
        bytes: &'static [u8],
    }
    fn as_bytes<S: Serializer>(bytes: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }
    let (simulator, _, delivery) = shop();
    let kinds = Kinds {
        id: "a",
        empty: "",
        list: [1, 2],
        nothing: None,
        unit: (),
        float: 0.1,
        plain: Line::Gift,
        bytes: b"ab",
    };
    delivery.put_items().deliver([kinds]).await.unwrap();
    let got = simulator.dynamo_client().get_item().table_name("orders");
    let got = got.key("id", AttributeValue::S("a".into())).send().await.unwrap();
    let number = |number: &str| AttributeValue::N(number.into());
    let expected = HashMap::from([
        ("id".to_owned(), AttributeValue::S("a".into())),
        ("empty".to_owned(), AttributeValue::S(String::new())),
        ("list".to_owned(), AttributeValue::L(vec![number("1"), number("2")])),
        ("nothing".to_owned(), AttributeValue::Null(true)),
        ("unit".to_owned(), AttributeValue::Null(true)),
        ("float".to_owned(), number("0.1")),
        ("plain".to_owned(), AttributeValue::S("Gift".into())),
        ("bytes".to_owned(), AttributeValue::B(b"ab".to_vec().into())),
    ]);
    assert_eq!(got.item, Some(expected));
}

#[tokio::test(start_paused = true)]
async fn values_that_dynamodb_would_refuse_are_handed_back_unsent() {
    #[derive(Debug, Serialize)]
    struct Odd {
        id: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        float: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        large: Option<u128>,
        #[serde(with = "serde_dynamo::string_set", skip_serializing_if = "Vec::is_empty")]
        set: Vec<&'static str>,
    }
    let odd = |id| Odd {
        id,
        float: None,
        large: None,
        set: Vec::new(),
    };
    let (_, table, delivery) = shop();
    let not_a_number = Odd {
        float: Some(f64::NAN),
        ..odd("a")
    };
    let too_large = Odd {
        large: Some(u128::MAX),
        ..odd("b")
    };
    let repeated = Odd {
        set: vec!["x", "x"],
        ..odd("c")
    };
    let error = delivery
        .put_items()
        .deliver([not_a_number, too_large, repeated, odd(""), odd("d")])
        .await
        .unwrap_err();
    let causes: Vec<String> = error.undelivered().iter().map(|one| one.cause.to_string()).collect();
    assert_eq!(
        (error.report.delivered, causes.len(), table.len()),
        (1, 4, 1),
        "{causes:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn keys_are_deleted_and_come_back_as_keys() {
    let (_, table, delivery) = shop();
    let key = |number: u32| OrderKey { id: number.to_string() };
    delivery.clone().put_items().deliver((0..50).map(key)).await.unwrap();
    table.script([InjectedFault::Throttle]);
    let error = delivery.delete_keys().deliver((0..40).map(key)).await.unwrap_err();
    let kept = error.undelivered().iter().map(|one| (*one.entry).clone());
    assert!(kept.eq((0..25).map(key)), "{error}");
    assert_eq!(table.len(), 35);
}

/// The even ones are delivered, the odd ones handed back, in their places, by a message that does not quote them.
fn assert_picked(error: &DeliveryError<Picky>, count: u64) {
    let handed_back: Vec<_> = error
        .undelivered()
        .iter()
        .map(|one| (u64::from(one.entry.0), one.position))
        .collect();
    let odd: Vec<_> = (0..count)
        .filter(|number| number % 2 == 1)
        .map(|number| (number, number))
        .collect();
    assert_eq!(handed_back, odd);
    assert_eq!(
        (error.report.delivered, error.report.undelivered),
        (count - odd.len() as u64, odd.len() as u64)
    );
    assert_eq!(
        error.to_string(),
        format!(
            "{} of {count} entries were not delivered: {} × not sent: typed::Picky could not be made into an entry",
            odd.len(),
            odd.len()
        )
    );
    let Cause::Invalid(invalid @ InvalidEntry::Unconvertible { .. }) = &error.undelivered()[0].cause else {
        panic!("{error}")
    };
    assert_eq!(invalid.source().unwrap().to_string(), "1 is odd");
    assert!(!format!("{error:?} {:?}", error.undelivered()).contains("is odd"));
    assert!(error.undelivered()[0].cause.is_permanent());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_serialized_is_handed_back_alone() {
    let (_, table, delivery) = shop();
    let progress = Progress::default();
    let options = DeliveryOptions::default().progress(&progress);
    let orders = delivery.options(options).put_items();
    assert_picked(&orders.deliver((0..12).map(Picky)).await.unwrap_err(), 12);
    assert_picked(
        &orders
            .deliver_stream(stream::iter((0..12).map(Picky)))
            .await
            .unwrap_err(),
        12,
    );
    assert_eq!((table.len(), progress.snapshot().undelivered), (6, 12));
    // None of a long input becomes an entry.
    let odd = std::iter::repeat_n(Picky(1), 1_000);
    let error = orders.deliver_stream(stream::iter(odd)).await.unwrap_err();
    assert_eq!((error.report.calls, error.undelivered().len()), (0, 1_000));
}

#[tokio::test(start_paused = true)]
async fn a_value_whose_serializer_panics_is_handed_back_too() {
    let (_, _, delivery) = shop();
    let error = delivery.put_items().deliver([2, 13, 4].map(Picky)).await.unwrap_err();
    let handed_back: Vec<_> = error
        .undelivered()
        .iter()
        .map(|one| (one.entry.0, one.position))
        .collect();
    assert!(handed_back.contains(&(13, 1)), "{handed_back:?}");
    assert_eq!(
        error.report.delivered + error.report.undelivered,
        2,
        "the last one was not read: {error}"
    );
    assert_eq!(error.stopped.as_ref().unwrap().code(), "the input panicked");
}

#[tokio::test(start_paused = true)]
async fn a_failed_stream_hands_back_values() {
    let (_, table, delivery) = shop();
    table.script([InjectedFault::Throttle]);
    let values = stream::iter([Ok(Picky(0)), Ok(Picky(1)), Err("torn")]);
    let error = delivery.put_items().try_deliver_stream(values).await.unwrap_err();
    let handed_back: Vec<_> = error.undelivered().iter().map(|one| one.entry.0).collect();
    assert_eq!(
        (handed_back, error.stream_error.unwrap().to_string()),
        (vec![0, 1], "torn".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn each_task_of_a_producer_hears_of_its_own_value() {
    let (_, table, delivery) = shop();
    let producer = delivery.put_items().producer();
    let sent = (0..12).map(|number| producer.send(Picky(number)));
    for (number, ended) in (0..).zip(futures::future::join_all(sent).await) {
        match ended {
            Ok(fate) => assert!(number % 2 == 0 && matches!(fate, Fate::Delivered(_))),
            Err(undelivered) => {
                assert_eq!(
                    (*undelivered.entry, undelivered.position),
                    (Picky(number), u64::from(number))
                );
            }
        }
    }
    // One whose receipt was dropped waits for the close.
    drop(producer.enqueue(Picky(15)).await.unwrap());
    producer.flush().await;
    let error = producer.close().await.unwrap_err();
    assert_eq!(
        (*error.undelivered()[0].entry, error.undelivered()[0].position),
        (Picky(15), 12)
    );
    assert_eq!(
        (error.report.delivered, error.report.undelivered, table.len()),
        (6, 7, 6)
    );
}

#[tokio::test(start_paused = true)]
async fn a_flush_hurries_what_was_sent_before_it_also_when_some_values_became_no_entries() {
    let (_, _, delivery) = shop();
    let options = DeliveryOptions::default().linger(Duration::from_hours(1));
    let producer = delivery.options(options).put_items().producer();
    let started = tokio::time::Instant::now();
    for number in 0..7 {
        let receipt = producer.enqueue(Picky(number)).await.unwrap();
        tokio::spawn(receipt);
    }
    producer.flush().await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    // What comes after the flush lingers again.
    assert_eq!(
        producer.send(Picky(20)).await.unwrap(),
        Fate::Delivered(Acknowledgement::default())
    );
    assert!(started.elapsed() >= Duration::from_hours(1), "{:?}", started.elapsed());
    assert_eq!(producer.close().await.unwrap().delivered, 5);
}

#[tokio::test(start_paused = true)]
async fn texts_and_json_become_the_bodies_of_messages() {
    let (queue, delivery) = queue();
    let bodies = |queue: &Queue| {
        let mut bodies: Vec<String> = queue.messages().into_iter().map(|message| message.body).collect();
        bodies.sort();
        bodies
    };
    let report = delivery.clone().texts().deliver(["b", "a"]).await.unwrap();
    assert_eq!(
        (report.delivered, bodies(&queue)),
        (2, vec!["a".to_owned(), "b".to_owned()])
    );

    let error = delivery.texts().deliver(["", "c"].map(String::from)).await.unwrap_err();
    assert_eq!((&**error.undelivered()[0].entry, bodies(&queue).len()), ("", 3));

    let (queue, delivery) = self::queue();
    let lines = [Line::Gift, Line::Article { number: 7, count: 2 }];
    delivery.json().deliver(lines.clone()).await.unwrap();
    let read: Vec<Line> = bodies(&queue)
        .iter()
        .map(|body| serde_json::from_str(body).unwrap())
        .collect();
    assert_eq!(read, lines);
}

#[tokio::test(start_paused = true)]
async fn values_become_entries_of_any_kind() {
    let simulator = Simulator::new(7);
    let queue = simulator.queue("events.fifo", QueueOptions::default());
    let events: TypedDelivery<_, (u8, u8)> = Delivery::to_sqs(simulator.sqs_client(), queue.url())
        .content_based_deduplication(false)
        .entries_from(|(account, number): &(u8, u8)| {
            SendMessageBatchRequestEntry::builder()
                .id("")
                .message_body(number.to_string())
                .message_group_id(account.to_string())
                .build()
        });
    // Throttled and in doubt: the ids that the messages were given stay theirs.
    queue.script([InjectedFault::Dropped { applied: true }, InjectedFault::Throttle]);
    let sent: Vec<_> = (0..40).map(|number| (number % 4, number)).collect();
    assert_eq!(events.deliver(sent).await.unwrap().delivered, 40);
    assert_eq!(queue.len(), 40, "none is there twice");
}
