//! Sending, receiving and deleting messages.

use std::time::Duration;

use aws_batch_simulator::{QueueOptions, Simulator};
use aws_sdk_sqs::Client as Sqs;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message,
    MessageAttributeValue, MessageSystemAttributeNameForSends, MessageSystemAttributeValue, QueueAttributeName,
    SendMessageBatchRequestEntry,
};
use tokio::time::{Instant, sleep};

use crate::{entry, message, messages, send};

pub(crate) async fn receive(sqs: &Sqs, url: &str) -> Vec<Message> {
    let call = sqs.receive_message().queue_url(url).max_number_of_messages(10);
    call.send().await.unwrap().messages().to_vec()
}

pub(crate) async fn delete(sqs: &Sqs, url: &str, messages: &[Message]) {
    let entries = messages.iter().enumerate().map(|(id, message)| {
        let entry = DeleteMessageBatchRequestEntry::builder().id(id.to_string());
        entry.receipt_handle(message.receipt_handle().unwrap()).build().unwrap()
    });
    let call = sqs
        .delete_message_batch()
        .queue_url(url)
        .set_entries(Some(entries.collect()));
    let output = call.send().await.unwrap();
    assert_eq!(output.successful().len(), messages.len());
}

fn bodies(messages: &[Message]) -> Vec<&str> {
    messages.iter().filter_map(Message::body).collect()
}

pub(crate) fn ordered(group: &str, body: usize) -> SendMessageBatchRequestEntry {
    let entry = entry(body.to_string()).message_body(body.to_string());
    entry
        .message_group_id(group)
        .message_deduplication_id(body.to_string())
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn messages_are_sent_received_and_deleted() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default());
    let sqs = simulator.sqs_client();
    let url = sqs.get_queue_url().queue_name("orders").send().await.unwrap();
    let url = url.queue_url().unwrap();
    assert_eq!(url, queue.url());
    let output = send(&sqs, url, messages(0..10)).await.unwrap();
    assert_eq!(output.successful().len(), 10);
    assert_eq!(
        output.successful()[0].md5_of_message_body(),
        "cfcd208495d565ef66e7dff9f98764da"
    );
    let received = receive(&sqs, url).await;
    assert_eq!(received.len(), 10);
    assert!(receive(&sqs, url).await.is_empty(), "they are hidden");
    delete(&sqs, url, &received[..4]).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(receive(&sqs, url).await.len(), 6, "the others are back");
    assert_eq!(queue.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn whole_calls_are_refused_for_what_concerns_all() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default());
    let sqs = simulator.sqs_client();
    let long = "x".repeat(104_858);
    for (entries, code) in [
        (Vec::new(), "EmptyBatchRequest"),
        (messages(0..11), "TooManyEntriesInBatchRequest"),
        (vec![message("a", "1"), message("a", "2")], "BatchEntryIdsNotDistinct"),
        (vec![message("a b", "1")], "InvalidBatchEntryId"),
        (vec![message("a".repeat(81), "1")], "InvalidBatchEntryId"),
        (
            (0..10).map(|id| message(id.to_string(), &*long)).collect(),
            "BatchRequestTooLong",
        ),
    ] {
        for query_errors in [true, false] {
            simulator.set_query_errors(query_errors);
            let prefix = if query_errors { "AWS.SimpleQueueService." } else { "" };
            let error = send(&sqs, queue.url(), entries.clone()).await.unwrap_err();
            assert_eq!(error.code(), Some(&*format!("{prefix}{code}")));
        }
    }
    simulator.set_query_errors(true);
    let error = send(&sqs, "http://localhost/missing", messages(0..1))
        .await
        .unwrap_err();
    assert!(error.into_service_error().is_queue_does_not_exist());
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn exactly_a_mebibyte_is_sent() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default());
    let attribute = MessageAttributeValue::builder()
        .data_type("Binary")
        .binary_value(Blob::new(vec![0; 10]));
    let full = entry("a").message_attributes("name", attribute.build().unwrap());
    // Besides the body: the name, the type and ten bytes.
    let full = |bytes: usize| full.clone().message_body("x".repeat(bytes - 20)).build().unwrap();
    let sqs = simulator.sqs_client();
    assert!(send(&sqs, queue.url(), vec![full(1_048_577)]).await.is_err());
    let output = send(&sqs, queue.url(), vec![full(1_048_576)]).await.unwrap();
    assert_eq!(output.successful().len(), 1);
    assert_eq!(
        output.successful()[0].md5_of_message_attributes().map(str::len),
        Some(32)
    );
}

#[tokio::test(start_paused = true)]
async fn messages_fail_by_themselves_for_what_concerns_them_alone() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default().maximum_message_size(1_024));
    queue.poison(|message| message["MessageBody"] == "poison");
    let entries = vec![
        message("good", "1"),
        message("control", "a\u{1}b"),
        message("long", "x".repeat(1_025)),
        message("empty", ""),
        message("poison", "poison"),
        entry("late").message_body("1").delay_seconds(901).build().unwrap(),
    ];
    let output = send(&simulator.sqs_client(), queue.url(), entries).await.unwrap();
    assert_eq!(output.successful().len(), 1);
    let failed: Vec<_> = output.failed().iter().map(|entry| (entry.id(), entry.code())).collect();
    assert_eq!(
        failed,
        [
            ("control", "InvalidMessageContents"),
            ("long", "InvalidParameterValue"),
            ("empty", "MissingParameter"),
            ("poison", "InvalidMessageContents"),
            ("late", "InvalidParameterValue"),
        ]
    );
    assert!(output.failed().iter().all(BatchResultErrorEntry::sender_fault));
    assert_eq!(queue.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_fifo_queue_keeps_the_order_of_each_group() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders.fifo", QueueOptions::default());
    let url = queue.url();
    let sqs = simulator.sqs_client();
    let group = |body: usize| if body.is_multiple_of(2) { "even" } else { "odd" };
    for start in [0, 10] {
        let entries = (start..start + 10).map(|body| ordered(group(body), body)).collect();
        send(&sqs, &url, entries).await.unwrap();
    }
    let first = receive(&sqs, &url).await;
    assert_eq!(bodies(&first), ["0", "2", "4", "6", "8", "10", "12", "14", "16", "18"]);
    let second = receive(&sqs, &url).await;
    assert_eq!(bodies(&second), ["1", "3", "5", "7", "9", "11", "13", "15", "17", "19"]);
    delete(&sqs, &url, &first[..3]).await;
    sleep(Duration::from_secs(30)).await;
    let again = receive(&sqs, &url).await;
    assert_eq!(
        bodies(&again)[..3],
        ["6", "8", "10"],
        "what was not deleted comes first again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_group_with_messages_in_flight_is_held() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders.fifo", QueueOptions::default());
    let sqs = simulator.sqs_client();
    send(&sqs, queue.url(), vec![ordered("a", 1)]).await.unwrap();
    let first = receive(&sqs, &queue.url()).await;
    send(&sqs, queue.url(), vec![ordered("a", 2)]).await.unwrap();
    assert!(receive(&sqs, &queue.url()).await.is_empty());
    delete(&sqs, &queue.url(), &first).await;
    assert_eq!(bodies(&receive(&sqs, &queue.url()).await), ["2"]);
}

#[tokio::test(start_paused = true)]
async fn a_deduplication_id_is_enqueued_once_in_five_minutes() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders.fifo", QueueOptions::default());
    let sqs = simulator.sqs_client();
    let first = send(&sqs, queue.url(), vec![ordered("a", 1)]).await.unwrap();
    let second = send(&sqs, queue.url(), vec![ordered("a", 1)]).await.unwrap();
    assert_eq!(first.successful()[0].message_id(), second.successful()[0].message_id());
    assert_eq!(queue.len(), 1);
    sleep(Duration::from_mins(5)).await;
    send(&sqs, queue.url(), vec![ordered("a", 1)]).await.unwrap();
    assert_eq!(queue.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_fifo_queue_needs_a_group_and_a_deduplication_id() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders.fifo", QueueOptions::default());
    let sqs = simulator.sqs_client();
    let no_group = entry("b")
        .message_body("2")
        .message_deduplication_id("b")
        .build()
        .unwrap();
    let error = send(&sqs, queue.url(), vec![ordered("a", 1), no_group])
        .await
        .unwrap_err();
    assert_eq!(
        error.code(),
        Some("InvalidParameterValue"),
        "as LocalStack has recorded it"
    );
    let no_id = entry("b").message_body("2").message_group_id("a").build().unwrap();
    let error = send(&sqs, queue.url(), vec![ordered("a", 1), no_id.clone()])
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some("InvalidParameterValue"));
    assert!(queue.is_empty(), "one bad entry refuses the whole call");

    let by_content = simulator.queue("carts.fifo", QueueOptions::default().content_based_deduplication());
    for _ in 0..2 {
        send(&sqs, by_content.url(), vec![no_id.clone()]).await.unwrap();
    }
    assert_eq!(by_content.len(), 1);
    let delayed = entry("c")
        .message_body("3")
        .message_group_id("a")
        .delay_seconds(1)
        .build()
        .unwrap();
    let output = send(&sqs, by_content.url(), vec![delayed]).await.unwrap();
    assert_eq!(output.failed()[0].code(), "InvalidParameterValue");
}

#[tokio::test(start_paused = true)]
async fn a_receiver_may_wait_for_messages() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default());
    let sqs = simulator.sqs_client();
    let delayed = entry("a").message_body("later").delay_seconds(5).build().unwrap();
    send(&sqs, queue.url(), vec![delayed]).await.unwrap();
    let start = Instant::now();
    let wait = |seconds| {
        sqs.receive_message()
            .queue_url(queue.url())
            .wait_time_seconds(seconds)
            .send()
    };
    assert!(wait(3).await.unwrap().messages().is_empty());
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    assert_eq!(wait(20).await.unwrap().messages().len(), 1);
    assert_eq!(start.elapsed().as_secs(), 5);

    let sender = {
        let (sqs, url) = (sqs.clone(), queue.url());
        tokio::spawn(async move {
            sleep(Duration::from_secs(2)).await;
            send(&sqs, url, messages(0..1)).await
        })
    };
    assert_eq!(wait(20).await.unwrap().messages().len(), 1);
    assert_eq!(start.elapsed().as_secs(), 7);
    sender.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn attributes_of_messages_and_queues_are_shown() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders.fifo", QueueOptions::default().maximum_message_size(2_048));
    let sqs = simulator.sqs_client();
    let attribute = MessageAttributeValue::builder()
        .data_type("String")
        .string_value("blue")
        .build()
        .unwrap();
    let coloured = entry("a")
        .message_body("1")
        .message_group_id("g")
        .message_deduplication_id("d");
    let coloured = coloured
        .message_attributes("colour", attribute.clone())
        .build()
        .unwrap();
    let sent = send(&sqs, queue.url(), vec![coloured]).await.unwrap();
    let call = sqs
        .receive_message()
        .queue_url(queue.url())
        .message_attribute_names("All");
    let call = call.message_system_attribute_names(aws_sdk_sqs::types::MessageSystemAttributeName::All);
    let received = call.send().await.unwrap();
    let received = &received.messages()[0];
    assert_eq!(received.message_attributes().unwrap()["colour"], attribute);
    assert_eq!(
        received.md5_of_message_attributes(),
        sent.successful()[0].md5_of_message_attributes()
    );
    let system = received.attributes().unwrap();
    assert_eq!(
        system[&aws_sdk_sqs::types::MessageSystemAttributeName::MessageGroupId],
        "g"
    );
    let call = sqs
        .get_queue_attributes()
        .queue_url(queue.url())
        .attribute_names(QueueAttributeName::All);
    let output = call.send().await.unwrap();
    let attributes = output.attributes().unwrap();
    assert_eq!(attributes[&QueueAttributeName::MaximumMessageSize], "2048");
    assert_eq!(attributes[&QueueAttributeName::FifoQueue], "true");
    assert_eq!(attributes[&QueueAttributeName::ApproximateNumberOfMessages], "0");
    assert_eq!(
        attributes[&QueueAttributeName::ApproximateNumberOfMessagesNotVisible],
        "1"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_gets_no_message_twice() {
    let simulator = Simulator::new(1);
    for name in ["orders", "orders.fifo"] {
        let queue = simulator.queue(name, QueueOptions::default().content_based_deduplication());
        let sqs = simulator.sqs_client();
        let entries = (0..3).map(|body| {
            let group = (name == "orders.fifo").then(|| "a".to_owned());
            let entry = entry(body.to_string()).message_body(body.to_string());
            entry.set_message_group_id(group).build().unwrap()
        });
        send(&sqs, queue.url(), entries.collect()).await.unwrap();
        for _ in 0..2 {
            let call = sqs.receive_message().queue_url(queue.url()).max_number_of_messages(10);
            let received = call.visibility_timeout(0).send().await.unwrap();
            assert_eq!(bodies(received.messages()), ["0", "1", "2"], "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_is_received_again_as_soon_as_its_first_message_in_flight_is_visible() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders.fifo", QueueOptions::default());
    let sqs = simulator.sqs_client();
    let entries = vec![ordered("a", 1), ordered("a", 2), ordered("b", 3)];
    send(&sqs, queue.url(), entries).await.unwrap();
    let call = sqs.receive_message().queue_url(queue.url()).max_number_of_messages(2);
    let received = call.send().await.unwrap();
    assert_eq!(bodies(received.messages()), ["1", "2"]);
    let shown = ChangeMessageVisibilityBatchRequestEntry::builder()
        .id("1")
        .visibility_timeout(0)
        .receipt_handle(received.messages()[0].receipt_handle().unwrap());
    let call = sqs.change_message_visibility_batch().queue_url(queue.url());
    call.entries(shown.build().unwrap()).send().await.unwrap();
    assert_eq!(
        bodies(&receive(&sqs, &queue.url()).await),
        ["3", "1"],
        "2 is still hidden"
    );
}

#[tokio::test(start_paused = true)]
async fn messages_with_attributes_that_break_a_rule_fail() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default());
    let attribute = |kind: &str, value: &str| {
        let attribute = MessageAttributeValue::builder().data_type(kind).string_value(value);
        attribute.build().unwrap()
    };
    let with = |id: &str, name: &str, kind: &str, value: &str| {
        let entry = entry(id).message_body("body");
        entry.message_attributes(name, attribute(kind, value)).build().unwrap()
    };
    let trace = MessageSystemAttributeValue::builder()
        .data_type("String")
        .string_value("Root=1");
    let traced = entry("traced").message_body("body");
    let traced = traced.message_system_attributes(
        MessageSystemAttributeNameForSends::AwsTraceHeader,
        trace.build().unwrap(),
    );
    let entries = vec![
        with("good", "name", "Number", "-1.5e3"),
        with("reserved", "AWS.name", "String", "a"),
        with("periods", "a..b", "String", "a"),
        with("number", "name", "Number", "abc"),
        with("character", "name", "String", "a\u{1f}"),
        traced.build().unwrap(),
    ];
    let output = send(&simulator.sqs_client(), queue.url(), entries).await.unwrap();
    let failed: Vec<_> = output.failed().iter().map(|entry| (entry.id(), entry.code())).collect();
    let code = "InvalidParameterValue";
    assert_eq!(
        failed,
        ["reserved", "periods", "number", "character"].map(|id| (id, code))
    );
    let digest = output.successful()[1].md5_of_message_system_attributes();
    assert_eq!(digest.map(str::len), Some(32));
}

#[tokio::test(start_paused = true)]
async fn a_message_of_a_fifo_queue_has_the_delay_of_the_queue_with_a_delay_of_zero_too() {
    let simulator = Simulator::new(1);
    let options = QueueOptions::default().delay(Duration::from_secs(5));
    let queue = simulator.queue("orders.fifo", options);
    let sqs = simulator.sqs_client();
    let message = entry("a")
        .message_body("1")
        .message_group_id("g")
        .message_deduplication_id("d");
    let message = message.delay_seconds(0).build().unwrap();
    send(&sqs, queue.url(), vec![message]).await.unwrap();
    let receive = || sqs.receive_message().queue_url(queue.url()).send();
    assert!(receive().await.unwrap().messages().is_empty());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(receive().await.unwrap().messages().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_star_asks_for_all_attributes_of_a_message_as_all_does() {
    let simulator = Simulator::new(1);
    let sqs = simulator.sqs_client();
    for (name, count) in [("*", 2), ("All", 2), (".*", 2), ("a.*", 1), ("other", 0)] {
        let queue = simulator.queue("orders", QueueOptions::default());
        let attribute = || {
            let attribute = MessageAttributeValue::builder().data_type("String").string_value("x");
            attribute.build().unwrap()
        };
        let message = entry("a").message_body("1").message_attributes("a.b", attribute());
        let message = message.message_attributes("c", attribute()).build().unwrap();
        send(&sqs, queue.url(), vec![message]).await.unwrap();
        let received = sqs
            .receive_message()
            .queue_url(queue.url())
            .message_attribute_names(name);
        let received = received.send().await.unwrap();
        let attributes = received.messages()[0].message_attributes();
        assert_eq!(attributes.map_or(0, std::collections::HashMap::len), count, "{name}");
    }
}
