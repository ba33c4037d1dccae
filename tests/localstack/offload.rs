//! Messages whose bodies are in S3 are those of the Extended Client Libraries.

use std::collections::BTreeMap;

use aws_batch_delivery::targets::sqs::{MAX_MESSAGE_BYTES, Offload, SqsQueue};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions};
use aws_sdk_sqs::types::{Message as Received, MessageAttributeValue, SendMessageBatchRequestEntry};
use serde_json::Value;

use crate::bucket::Bucket;
use crate::emulators::Emulators;
use crate::extended_client::{ExtendedClient, Message};
use crate::queue::{Queue, message, numbered};

fn delivery(queue: &Queue, offload: Offload) -> Delivery<SqsQueue> {
    Delivery::to_sqs(queue.client.clone(), &queue.url).map_target(|queue| queue.oversize(offload))
}

fn offload(bucket: &Bucket) -> Offload {
    Offload::to_s3(bucket.client.clone(), &bucket.name)
}

/// A body of more bytes than a message may have. Two, three and four bytes a letter, so that bytes and letters do not agree.
fn large(number: usize) -> String {
    numbered(number) + &"ü€🚚\t\"\\".repeat(MAX_MESSAGE_BYTES / 12 + 1)
}

fn body(number: usize) -> String {
    if number.is_multiple_of(5) {
        large(number)
    } else {
        numbered(number)
    }
}

fn with_attribute(mut entry: SendMessageBatchRequestEntry, value: &str) -> SendMessageBatchRequestEntry {
    let attribute = MessageAttributeValue::builder().data_type("String").string_value(value);
    let attributes = entry.message_attributes.get_or_insert_default();
    attributes.insert("label".to_owned(), attribute.build().unwrap());
    entry
}

fn seen(body: String, label: &str, group: Option<String>) -> Message {
    Message {
        body,
        attributes: BTreeMap::from([("label".to_owned(), label.to_owned())]),
        group,
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators without Docker: localstack/test"]
async fn the_library_receives_small_and_large_messages_alike() {
    let (emulators, client) = (Emulators::find().await, ExtendedClient::find());
    let queue = Queue::create(&emulators, "offload").await;
    let bucket = Bucket::create(&emulators, "offload").await;
    let entries = (0..50).map(|number| with_attribute(message(body(number)), "größe"));
    let offload = offload(&bucket).key_prefix("some/where/");
    let report = delivery(&queue, offload).deliver(entries).await.unwrap();
    assert_eq!(report.delivered, 50);
    let keys: Vec<String> = bucket.objects().await.into_keys().collect();
    assert!(
        keys.len() == 10 && keys.iter().all(|key| key.starts_with("some/where/")),
        "{keys:?}"
    );

    let mut received = client.receive(&queue.url);
    received.sort_unstable();
    let mut sent: Vec<Message> = (0..50).map(|number| seen(body(number), "größe", None)).collect();
    sent.sort_unstable();
    assert!(received == sent, "the messages have changed");
    // It has found each object under the key that the message names, also to delete it.
    assert!(bucket.objects().await.is_empty());
    queue.remove().await;
    bucket.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators without Docker: localstack/test"]
async fn the_library_receives_groups_in_their_order() {
    let (emulators, client) = (Emulators::find().await, ExtendedClient::find());
    let queue = Queue::create(&emulators, "offload.fifo").await;
    let bucket = Bucket::create(&emulators, "offload-fifo").await;
    let entries = (0..40).map(|number| {
        let mut entry = with_attribute(message(body(number)), "x");
        entry.message_group_id = Some((number % 3).to_string());
        entry
    });
    delivery(&queue, offload(&bucket)).deliver(entries).await.unwrap();
    let received = client.receive(&queue.url);
    for group in 0..3 {
        let of_group = received
            .iter()
            .filter(|message| message.group == Some(group.to_string()));
        let of_group: Vec<&str> = of_group.map(|message| message.body.as_str()).collect();
        let sent: Vec<String> = (0..40).filter(|number| number % 3 == group).map(body).collect();
        assert!(of_group == sent, "group {group} has changed");
    }
    queue.remove().await;
    bucket.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators without Docker: localstack/test"]
async fn the_library_receives_equal_large_messages_once_where_the_queue_deduplicates_by_content() {
    let (emulators, client) = (Emulators::find().await, ExtendedClient::find());
    let queue = Queue::create(&emulators, "by-content.fifo").await;
    let by_content = aws_sdk_sqs::types::QueueAttributeName::ContentBasedDeduplication;
    let set = queue.client.set_queue_attributes().queue_url(&queue.url);
    set.attributes(by_content, "true").send().await.unwrap();
    let bucket = Bucket::create(&emulators, "by-content").await;
    let entries = [0, 5, 0].map(|number| {
        let mut entry = message(large(number));
        entry.message_group_id = Some("g".to_owned());
        entry
    });
    delivery(&queue, offload(&bucket)).deliver(entries).await.unwrap();
    let received: Vec<String> = client
        .receive(&queue.url)
        .into_iter()
        .map(|message| message.body)
        .collect();
    assert!(received == [large(0), large(5)], "{} messages", received.len());
    queue.remove().await;
    bucket.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators without Docker: localstack/test"]
async fn the_library_reads_characters_that_sqs_does_not_take() {
    let (emulators, client) = (Emulators::find().await, ExtendedClient::find());
    let queue = Queue::create(&emulators, "characters").await;
    let bucket = Bucket::create(&emulators, "characters").await;
    let body = large(0) + "\0\u{1}\u{FFFE}\u{FFFF}";
    let delivery = delivery(&queue, offload(&bucket)).map_target(SqsQueue::encode_invalid_characters);
    delivery.deliver([with_attribute(message(&body), "x")]).await.unwrap();
    assert!(
        client.receive(&queue.url) == [seen(body, "x", None)],
        "the message has changed"
    );
    queue.remove().await;
    bucket.remove().await;
}

/// The only message in the queue, as it is there.
async fn only_message(queue: &Queue) -> Received {
    let call = queue
        .client
        .receive_message()
        .queue_url(&queue.url)
        .message_attribute_names("All");
    let mut messages = call.wait_time_seconds(5).send().await.unwrap().messages.unwrap();
    assert_eq!(messages.len(), 1);
    let message = messages.remove(0);
    let delete = queue.client.delete_message().queue_url(&queue.url);
    delete
        .set_receipt_handle(message.receipt_handle.clone())
        .send()
        .await
        .unwrap();
    message
}

/// The body with its only key by another name, which is returned too.
fn without_key(body: &str) -> (String, String) {
    let pointer: Value = serde_json::from_str(body).unwrap();
    let key = pointer[1]["s3Key"].as_str().unwrap();
    (body.replace(key, "KEY"), key.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators without Docker: localstack/test"]
async fn a_message_of_the_library_is_the_one_of_this_crate() {
    let (emulators, client) = (Emulators::find().await, ExtendedClient::find());
    let queue = Queue::create(&emulators, "pointer").await;
    let bucket = Bucket::create(&emulators, "pointer").await;
    client.send(&queue.url, &bucket.name, &seen(large(7), "ü", None));
    let theirs = only_message(&queue).await;
    let entry = with_attribute(message(large(7)), "ü");
    delivery(&queue, offload(&bucket)).deliver([entry]).await.unwrap();
    let ours = only_message(&queue).await;

    assert_eq!(ours.message_attributes, theirs.message_attributes);
    let (our_body, our_key) = without_key(ours.body().unwrap());
    let (their_body, their_key) = without_key(theirs.body().unwrap());
    assert_eq!(our_body, their_body);
    let shape = |key: &str| key.replace(|letter: char| letter.is_ascii_hexdigit(), "x");
    assert_eq!(shape(&our_key), shape(&their_key));
    let objects = bucket.objects().await;
    assert!(objects[&our_key] == objects[&their_key], "the objects differ");
    queue.remove().await;
    bucket.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn without_the_bucket_all_small_messages_arrive_and_the_large_ones_come_back() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "no-bucket").await;
    let nowhere = Offload::to_s3(emulators.s3(), "there-is-no-such-bucket");
    let error = delivery(&queue, nowhere)
        .options(DeliveryOptions::default())
        .deliver((0..20).map(|number| message(body(number))))
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, error.undelivered().len()), (16, 4));
    for undelivered in error.undelivered() {
        assert!(matches!(&undelivered.cause, Cause::Refused(fault) if fault.code() == "NoSuchBucket"));
        let number = usize::try_from(undelivered.position).unwrap();
        assert!(*undelivered.entry == message(large(number)), "the message has changed");
    }
    let sent: Vec<String> = (0..20).filter(|number| number % 5 != 0).map(numbered).collect();
    assert_eq!(queue.bodies().await, sent);
    queue.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn the_object_of_a_message_that_sqs_refuses_is_removed() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "refused").await;
    let bucket = Bucket::create(&emulators, "refused").await;
    let url = queue.url.clone() + "-of-nobody";
    let entry = message(large(0));
    let error = Delivery::to_sqs(queue.client.clone(), url)
        .map_target(|queue| queue.oversize(offload(&bucket)))
        .deliver([entry.clone()])
        .await
        .unwrap_err();
    assert!(matches!(&error.undelivered()[0].cause, Cause::Stopped(_)));
    assert!(*error.undelivered()[0].entry == entry, "the message has changed");
    assert!(bucket.objects().await.is_empty());
    queue.remove().await;
    bucket.remove().await;
}
