//! Writes of one key and messages of one group arrive in the order of the input.

use std::collections::HashMap;
use std::time::Duration;

use aws_batch_delivery::targets::Limits;
use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::targets::sqs::{ENCODING, ENCODING_ATTRIBUTE, SqsQueue};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, deliver_batch_to_dynamo};
use aws_batch_simulator::{Faults, InjectedFault, KeyType, Latency, Record, Simulator, TableOptions};
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use crate::guarantees::entries::{delete, message, no_delay, put, put_with, text, with_queue, with_table};
use crate::support::key_unknown::KeyUnknown;

fn number(number: impl Into<String>) -> AttributeValue {
    AttributeValue::N(number.into())
}

/// The versions of the applied writes, in order.
fn applied(journal: &[Record]) -> Vec<String> {
    let applied = journal.iter().filter(|record| record.acknowledgement().is_applied());
    applied
        .map(|record| record.entry()["version"]["N"].as_str().unwrap_or("deleted").to_owned())
        .collect()
}

fn versions(count: usize) -> Vec<WriteRequest> {
    (0..count)
        .map(|version| put_with("a", "version", number(version.to_string())))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_same_key_twice_is_two_calls_and_the_later_value_stands() {
    let (simulator, table) = with_table();
    table.keep_journal();
    let report = deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", versions(2), &no_delay())
        .await
        .unwrap();
    assert_eq!((report.calls, table.statistics().refused_calls), (2, 0));
    assert_eq!(applied(&table.journal()), ["0", "1"]);
    assert_eq!(table.items()[0]["version"]["N"], "1");
}

#[tokio::test(start_paused = true)]
async fn the_newer_write_is_not_sent_before_the_throttled_older_one_is_settled() {
    let (simulator, table) = with_table();
    table.keep_journal();
    table.script([
        InjectedFault::Unprocessed(1),
        InjectedFault::Throttle,
        InjectedFault::internal_error(false),
    ]);
    let options = DeliveryOptions::default().backoff(|_: u32| Duration::from_secs(1));
    deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", versions(3), &options)
        .await
        .unwrap();
    let sent: Vec<String> = table
        .journal()
        .iter()
        .map(|record| record.entry()["version"]["N"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(sent, ["0", "0", "0", "0", "1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn keys_are_compared_by_type_and_value() {
    let simulator = Simulator::new(42);
    let options = TableOptions::key("pk", KeyType::S).sort_key("sk", KeyType::N);
    let table = simulator.table("orders", options);
    let write = |partition: &str, sort: &str, version: usize| {
        let put = PutRequest::builder()
            .item("pk", text(partition))
            .item("sk", number(sort))
            .item("version", number(version.to_string()));
        WriteRequest::builder().put_request(put.build().unwrap()).build()
    };
    let key = DeleteRequest::builder().key("pk", text("b")).key("sk", number("10e-1"));
    let delete = WriteRequest::builder().delete_request(key.build().unwrap()).build();
    let writes = [
        write("a", "1", 0),
        write("a", "1.0", 1),
        write("a1", "1", 2),
        write("a", "11", 3),
        write("b", "1", 4),
        delete,
    ];
    let report = deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", writes, &no_delay())
        .await
        .unwrap();
    // The second write of `a` and the delete of `b` wait for the first call; no call is refused.
    assert_eq!((report.calls, table.statistics().refused_calls, table.len()), (2, 0, 3));
}

#[tokio::test(start_paused = true)]
async fn under_last_write_wins_older_writes_that_wait_are_dropped() {
    let (simulator, table) = with_table();
    table.keep_journal();
    let report = deliver_batch_to_dynamo(
        &simulator.dynamo_client(),
        "orders",
        versions(100),
        &no_delay().last_write_wins(),
    )
    .await
    .unwrap();
    assert_eq!((report.delivered, report.superseded), (1, 99));
    assert_eq!(applied(&table.journal()), ["99"]);
}

#[tokio::test(start_paused = true)]
async fn a_write_without_its_key_is_handed_back_unsent() {
    let (simulator, table) = with_table();
    let mistyped = {
        let put = PutRequest::builder().item("id", number("1")).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let keyless = {
        let put = PutRequest::builder().item("name", text("a")).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let writes = [put("a"), mistyped, keyless, put("b")];
    let error = deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", writes, &no_delay())
        .await
        .unwrap_err();
    assert_eq!((table.len(), table.statistics().refused_calls), (2, 0));
    let causes: Vec<String> = error
        .undelivered()
        .iter()
        .map(|undelivered| undelivered.cause.to_string())
        .collect();
    assert_eq!(
        causes,
        [
            "not sent: `id`: the partition key must be a string, by the table's schema",
            "not sent: `id`: the partition key is missing or empty"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn duplicates_that_only_the_service_finds_are_written_one_after_the_other() {
    let (simulator, table) = with_table();
    table.keep_journal();
    let mut writes: Vec<WriteRequest> = (0..20).map(|number| put(number.to_string())).collect();
    writes.extend(versions(3));
    writes.push(delete("a"));
    let target = KeyUnknown(DynamoTable::new(simulator.dynamo_client(), "orders"));
    let report = Delivery::new(target).options(no_delay()).deliver(writes).await.unwrap();
    assert_eq!(report.delivered, 24);
    assert!(table.statistics().refused_calls > 0);
    let of_a: Vec<Record> = table
        .journal()
        .into_iter()
        .filter(|record| record.entry()["id"]["S"] == "a")
        .collect();
    assert_eq!(applied(&of_a), ["0", "1", "2", "deleted"]);
    assert_eq!(table.len(), 20);
}

#[tokio::test(start_paused = true)]
async fn one_poisoned_put_among_five_thousand_is_handed_back_alone() {
    let (simulator, table) = with_table();
    table.poison(|item| item["id"]["S"] == "001234");
    let client = simulator.dynamo_client();
    let error = deliver_batch_to_dynamo(&client, "orders", crate::guarantees::entries::puts(5_000), &no_delay())
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, table.len()), (4_999, 4_999));
    assert!(error.report.calls <= 200 + 11, "{} calls", error.report.calls);
    let [undelivered] = error.undelivered() else {
        panic!("{:?}", error.undelivered())
    };
    assert_eq!(undelivered.position, 1_234);
    assert!(matches!(&undelivered.cause, Cause::Refused(fault) if fault.code() == "ValidationException"));
}

fn grouped(group: usize, body: usize) -> SendMessageBatchRequestEntry {
    SendMessageBatchRequestEntry::builder()
        .id("id")
        .message_body(body.to_string())
        .message_group_id(group.to_string())
        .message_deduplication_id(body.to_string())
        .build()
        .unwrap()
}

/// The bodies of each group in the order of the queue.
fn by_group(queue: &aws_batch_simulator::Queue) -> HashMap<String, Vec<usize>> {
    let mut groups: HashMap<String, Vec<usize>> = HashMap::new();
    for message in queue.messages() {
        let group = groups.entry(message.group.unwrap()).or_default();
        group.push(message.body.parse().unwrap());
    }
    groups
}

#[tokio::test(start_paused = true)]
async fn fifty_groups_keep_their_order_though_a_tenth_of_the_messages_fails() {
    for strict in [true, false] {
        let (simulator, queue) = with_queue("orders.fifo");
        queue.set_faults(
            Faults::none()
                .failed(0.1, "InternalError", false)
                .calls(0.05, InjectedFault::Throttle),
        );
        let mut delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url()).options(no_delay());
        if strict {
            delivery = delivery.map_target(SqsQueue::strict_order);
        }
        // Groups of ten messages in a row, each group twenty times.
        let messages: Vec<_> = (0..10_000).map(|body| grouped(body / 10 % 50, body)).collect();
        let report = delivery.deliver(messages).await.unwrap();
        assert_eq!(report.delivered, 10_000);
        assert!(simulator.most_calls_in_flight() >= 5);

        for (group, bodies) in by_group(&queue) {
            assert_eq!(bodies.len(), 200);
            assert!(bodies.is_sorted(), "group {group}, strict: {strict}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn fifty_groups_take_at_most_a_fifth_more_calls_though_a_tenth_of_the_messages_fails() {
    for concurrency in [8, 32] {
        let (simulator, queue) = with_queue("orders.fifo");
        simulator.set_latency(Latency::fixed(Duration::from_millis(10)));
        queue.set_faults(Faults::none().failed(0.1, "InternalError", false));
        let options = DeliveryOptions::default().concurrency(concurrency);
        let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url()).options(options);
        let messages = (0..5_000).map(|body| grouped(body % 50, body));
        let report = delivery.deliver(messages).await.unwrap();
        let fewest = (report.delivered + report.resubmitted).div_ceil(10);
        let calls = report.calls;
        println!("{concurrency} calls at once: {calls} calls, of which {fewest} would do");
        assert!(calls * 10 <= fewest * 12, "{calls} calls, and {fewest} would do");
        assert!(by_group(&queue).values().all(|bodies| bodies.is_sorted()));
    }
}

/// How many messages of each group the calls carry, call by call.
fn groups_of_calls(journal: &[Record]) -> Vec<HashMap<String, usize>> {
    let mut calls: Vec<HashMap<String, usize>> = Vec::new();
    for record in journal {
        let call = usize::try_from(record.call).unwrap();
        calls.resize_with(calls.len().max(call), HashMap::new);
        *calls[call - 1].entry(record.key.to_string()).or_default() += 1;
    }
    calls
}

#[tokio::test(start_paused = true)]
async fn a_call_carries_several_messages_of_a_group_where_there_are_fewer_groups_than_it_has_room_for() {
    for (groups, calls) in [(1, 6), (3, 6), (10, 6), (60, 6)] {
        let (simulator, queue) = with_queue("orders.fifo");
        queue.keep_journal();
        let messages = (0..60).map(|body| grouped(body % groups, body));
        let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url()).options(no_delay());
        let report = delivery.deliver(messages).await.unwrap();
        assert_eq!(report.calls, calls, "{groups} groups");
        let carried = groups_of_calls(&queue.journal());
        // Ten in each call: as many groups as there are, and several messages of one only if they are fewer than ten.
        let distinct: Vec<usize> = carried.iter().map(HashMap::len).collect();
        assert_eq!(distinct, vec![groups.min(10); 6], "{groups} groups");
        assert!(carried.iter().all(|call| call.values().sum::<usize>() == 10));
        assert!(by_group(&queue).values().all(|bodies| bodies.is_sorted()));

        let (simulator, queue) = with_queue("orders.fifo");
        queue.keep_journal();
        let messages = (0..60).map(|body| grouped(body % groups, body));
        let strict = Delivery::to_sqs(simulator.sqs_client(), queue.url()).options(no_delay());
        strict
            .map_target(SqsQueue::strict_order)
            .deliver(messages)
            .await
            .unwrap();
        let carried = groups_of_calls(&queue.journal());
        assert!(carried.iter().all(|call| call.values().all(|messages| *messages == 1)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_that_fails_holds_no_other_up() {
    let (simulator, queue) = with_queue("orders.fifo");
    queue.reject_while(|message| message["MessageGroupId"] == "7");
    let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
    let options = DeliveryOptions::default()
        .backoff(|_: u32| Duration::from_secs(1))
        .deadline(deadline);
    let messages: Vec<_> = (0..1_000).map(|body| grouped(body % 50, body)).collect();
    let error = Delivery::to_sqs(simulator.sqs_client(), queue.url())
        .options(options)
        .deliver(messages)
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, error.report.undelivered), (980, 20));
    let groups = by_group(&queue);
    assert_eq!(groups.len(), 49);
    assert!(groups.values().all(|bodies| bodies.is_sorted()));
}

#[tokio::test(start_paused = true)]
async fn a_fifo_message_without_an_id_is_in_the_queue_once_though_its_answer_was_lost() {
    let (simulator, queue) = with_queue("orders.fifo");
    queue.script([
        InjectedFault::Dropped { applied: true },
        InjectedFault::internal_error(true),
    ]);
    // The third has the same content as the first, and is another message all the same.
    let messages = [1, 2, 1].map(|body: usize| {
        let message = SendMessageBatchRequestEntry::builder()
            .id("id")
            .message_body(body.to_string())
            .message_group_id("g");
        message.build().unwrap()
    });
    let report = Delivery::to_sqs(simulator.sqs_client(), queue.url())
        .options(no_delay())
        .deliver(messages)
        .await
        .unwrap();
    assert_eq!((report.delivered, report.calls), (3, 3));
    assert_eq!(by_group(&queue)["g"], [1, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn an_undelivered_fifo_message_keeps_the_id_that_it_got() {
    let (simulator, queue) = with_queue("orders.fifo");
    queue.script([InjectedFault::Dropped { applied: true }]);
    let message = SendMessageBatchRequestEntry::builder()
        .id("id")
        .message_body("1")
        .message_group_id("g");
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url()).options(no_delay().retries(0));
    let error = delivery.deliver([message.build().unwrap()]).await.unwrap_err();
    assert!(error.undelivered()[0].may_have_been_delivered);
    let again = error
        .into_undelivered()
        .into_iter()
        .map(|undelivered| *undelivered.entry);
    delivery.deliver(again).await.unwrap();
    assert_eq!(by_group(&queue)["g"], [1]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_too_long_is_halved_and_all_of_it_is_delivered() {
    let (simulator, queue) = with_queue("orders");
    // A limit that the service does not keep.
    let limits = Limits::new(10, 4 << 20).with_entry_bytes(1 << 20);
    let target = SqsQueue::new(simulator.sqs_client(), queue.url()).with_limits(limits);
    let messages: Vec<_> = (0..20)
        .map(|number| message("id", format!("{number:02}{}", "x".repeat(150_000))))
        .collect();
    let report = Delivery::new(target)
        .options(no_delay())
        .deliver(messages)
        .await
        .unwrap();
    assert_eq!((report.delivered, report.calls, queue.len()), (20, 2 + 4, 20));
    assert_eq!(queue.statistics().refused_calls, 2);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_sqs_does_not_take_arrives_encoded() {
    let (simulator, queue) = with_queue("orders");
    let body = "bell \u{7}";
    let plain = Delivery::to_sqs(simulator.sqs_client(), queue.url()).options(no_delay());
    let refused = plain.deliver([message("id", body)]).await.unwrap_err();
    assert!(matches!(refused.undelivered()[0].cause, Cause::Invalid(_)));
    let encoding = plain.map_target(SqsQueue::encode_invalid_characters);
    encoding
        .deliver([message("id", body), message("id", "plain")])
        .await
        .unwrap();
    let [encoded, plain] = &queue.messages()[..] else {
        panic!("two messages")
    };
    assert_eq!((encoded.body.as_str(), plain.body.as_str()), ("YmVsbCAH", "plain"));
    assert_eq!(
        encoded.attributes.as_ref().unwrap()[ENCODING_ATTRIBUTE]["StringValue"],
        ENCODING
    );
    assert!(plain.attributes.is_none());
}
