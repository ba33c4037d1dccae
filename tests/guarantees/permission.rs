//! Deliveries without the permission to look up a table's key or a queue's attributes.

use aws_batch_delivery::events::LOOKUP;
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, deliver_batch_to_dynamo};
use aws_batch_simulator::{InjectedFault, Record, Simulator};
use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use tracing::Level;

use crate::guarantees::entries::{ROUND_TRIP, delete, no_delay, put, put_with, with_queue, with_table};
use crate::support::log::Log;
use crate::support::odd::{Does, Odd, through};

fn denied(_: usize) -> Does {
    Does::Fails(400, "AccessDeniedException")
}

fn without_describe_table(simulator: &Simulator) -> aws_sdk_dynamodb::Client {
    let odd = Odd::new(simulator.http_client(), "DescribeTable", denied);
    through!(aws_sdk_dynamodb, simulator.dynamo_client(), odd)
}

fn without_queue_attributes(simulator: &Simulator) -> aws_sdk_sqs::Client {
    let odd = Odd::new(simulator.http_client(), "GetQueueAttributes", denied);
    through!(aws_sdk_sqs, simulator.sqs_client(), odd)
}

/// Twenty writes of other keys, and four of `a`, all of which one call has room for.
fn with_duplicates() -> Vec<WriteRequest> {
    let mut writes: Vec<WriteRequest> = (0..20).map(|number| put(number.to_string())).collect();
    for version in 0..3 {
        let write = put_with("a", "version", AttributeValue::N(version.to_string()));
        writes.insert(version * 9, write);
    }
    writes.push(delete("a"));
    writes
}

fn of_a(journal: Vec<Record>) -> Vec<Record> {
    let of_a = |record: &Record| record.entry()["id"]["S"] == "a" && record.acknowledgement().is_applied();
    journal.into_iter().filter(of_a).collect()
}

#[tokio::test(start_paused = true)]
async fn duplicates_that_the_service_finds_are_written_in_order_and_never_at_the_same_time() {
    let (simulator, table) = with_table();
    table.keep_journal();
    let report = deliver_batch_to_dynamo(
        &without_describe_table(&simulator),
        "orders",
        with_duplicates(),
        &no_delay(),
    )
    .await
    .unwrap();
    assert_eq!((report.delivered, table.len()), (24, 20));
    assert!(table.statistics().refused_calls > 0);
    let of_a = of_a(table.journal());
    let version = |record: &Record| record.entry()["version"]["N"].as_str().map(str::to_owned);
    let versions: Vec<_> = of_a.iter().map(version).collect();
    assert_eq!(versions, [Some("0".into()), Some("1".into()), Some("2".into()), None]);
    // One is answered before the next one arrives.
    assert!(of_a.windows(2).all(|pair| pair[1].at - pair[0].at >= ROUND_TRIP));
}

#[tokio::test(start_paused = true)]
async fn duplicates_that_the_service_finds_do_not_pass_one_that_is_throttled() {
    for throttled in 0..6 {
        let (simulator, table) = with_table();
        table.keep_journal();
        let faults = (0..20).map(|call| {
            if call > 0 && call % 6 == throttled {
                InjectedFault::Unprocessed(3)
            } else {
                InjectedFault::None
            }
        });
        table.script(faults);
        let options = DeliveryOptions::default().backoff(|_: u32| ROUND_TRIP * 100);
        deliver_batch_to_dynamo(
            &without_describe_table(&simulator),
            "orders",
            with_duplicates(),
            &options,
        )
        .await
        .unwrap();
        let of_a = of_a(table.journal());
        let versions = of_a
            .iter()
            .map(|record| record.entry()["version"]["N"].as_str().map(str::to_owned));
        let expected = [Some("0".into()), Some("1".into()), Some("2".into()), None];
        assert_eq!(versions.collect::<Vec<_>>(), expected);
        assert_eq!(table.len(), 20);
    }
}

#[tokio::test(start_paused = true)]
async fn without_the_key_one_call_at_a_time_is_made_and_it_is_full() {
    let (simulator, table) = with_table();
    let client = without_describe_table(&simulator);
    let report = deliver_batch_to_dynamo(
        &client,
        "orders",
        crate::guarantees::entries::puts(2_000),
        &DeliveryOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!((report.delivered, table.len()), (2_000, 2_000));
    assert!(report.calls <= 82, "{} calls", report.calls);
    assert_eq!(simulator.most_calls_in_flight(), 1);
}

/// A message with or without an id of its own.
fn grouped(number: usize, id: Option<String>) -> SendMessageBatchRequestEntry {
    SendMessageBatchRequestEntry::builder()
        .id("id")
        .message_body(number.to_string())
        .message_group_id((number % 7).to_string())
        .set_message_deduplication_id(id)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn messages_without_the_ids_that_the_queue_wants_stop_the_delivery() {
    let (simulator, queue) = with_queue("orders.fifo");
    let messages = (0..20_000).map(|number| grouped(number, None));
    let error = Delivery::to_sqs(without_queue_attributes(&simulator), queue.url())
        .options(no_delay())
        .deliver(messages)
        .await
        .unwrap_err();
    assert_eq!((error.undelivered().len(), queue.len()), (20_000, 0));
    // A thousand that were tried, and the calls of the bisections.
    assert!(error.report.calls < 1_200, "{} calls", error.report.calls);
    let code = |cause: &Cause| match cause {
        Cause::Refused(fault) | Cause::Stopped(fault) => fault.code().to_owned(),
        other => panic!("{other:?}"),
    };
    let mut causes = error.undelivered().iter().map(|undelivered| &undelivered.cause);
    assert!(causes.clone().all(|cause| code(cause) == "InvalidParameterValue"));
    assert!(matches!(causes.next_back(), Some(Cause::Stopped(_))));
}

#[tokio::test(start_paused = true)]
async fn messages_with_an_id_are_delivered_whatever_others_lack() {
    let (simulator, queue) = with_queue("orders.fifo");
    let has_id = |number: usize| number >= 500 && number.is_multiple_of(3);
    let messages = (0..1_000).map(|number| grouped(number, has_id(number).then(|| number.to_string())));
    let error = Delivery::to_sqs(without_queue_attributes(&simulator), queue.url())
        .options(no_delay())
        .deliver(messages)
        .await
        .unwrap_err();
    let expected = (0..1_000).filter(|number| has_id(*number)).count();
    assert_eq!((error.report.delivered, queue.len()), (expected as u64, expected));
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| matches!(undelivered.cause, Cause::Refused(_)))
    );
    for group in 0..7 {
        let messages = queue.messages().into_iter();
        let of_group = messages.filter(|message| message.group.as_deref() == Some(&group.to_string()));
        let numbers: Vec<usize> = of_group.map(|message| message.body.parse().unwrap()).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_every_table_write_is_refused_for_stops_the_delivery() {
    let (simulator, table) = with_table();
    table.poison(|_| true);
    let client = without_describe_table(&simulator);
    let error = deliver_batch_to_dynamo(&client, "orders", crate::guarantees::entries::puts(30_000), &no_delay())
        .await
        .unwrap_err();
    assert_eq!(error.undelivered().len(), 30_000);
    assert!(error.report.calls < 1_300, "{} calls", error.report.calls);
    assert!(
        matches!(&error.undelivered()[29_999].cause, Cause::Stopped(fault) if fault.code() == "ValidationException")
    );
}

#[tokio::test(start_paused = true)]
async fn the_log_says_which_permission_is_missing() {
    let log = Log::start();
    let (simulator, _table) = with_table();
    let client = without_describe_table(&simulator);
    deliver_batch_to_dynamo(&client, "orders", with_duplicates(), &no_delay())
        .await
        .unwrap();
    let [lookup] = &log.of(LOOKUP)[..] else {
        panic!("{:?}", log.events())
    };
    assert_eq!(
        (lookup.level, lookup.field("destination")),
        (Level::WARN, "dynamodb/orders")
    );
    assert_eq!(lookup.field("code"), "AccessDeniedException");
    assert!(
        lookup.field("advice").starts_with("allow dynamodb:DescribeTable"),
        "{lookup:?}"
    );
}
