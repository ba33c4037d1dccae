//! The deduplication ids that a FIFO queue receives.

use std::collections::HashSet;

use super::SqsQueue;
use super::testing::{client, message};
use crate::aws::recording::Recorder;
use crate::contract::BatchTarget;

fn fifo(recorder: &Recorder) -> SqsQueue {
    SqsQueue::new(
        client(recorder),
        "https://sqs.eu-central-1.amazonaws.com/123456789012/orders.fifo",
    )
}

fn completed(queue: &SqsQueue) -> Option<String> {
    let mut message = message("body").message_group_id("g").build().unwrap();
    queue.complete(&mut message);
    assert_eq!(queue.check(&message), Ok(4));
    message.message_deduplication_id
}

#[tokio::test]
async fn each_message_without_an_id_gets_its_own() {
    for answer in ["{}", r#"{"Attributes":{"ContentBasedDeduplication":"false"}}"#] {
        let recorder = Recorder::answering(200, answer);
        let queue = fifo(&recorder);
        assert_eq!(completed(&queue), None);
        queue.prepare().await;
        queue.prepare().await;
        assert_eq!(recorder.requests(), 1);
        let another = queue.clone();
        let third = fifo(&recorder).content_based_deduplication(false);
        let ids: HashSet<_> = [&queue, &another, &queue, &third]
            .map(completed)
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(ids.len(), 4);
    }
}

#[tokio::test]
async fn an_id_of_the_caller_stays() {
    let queue = fifo(&Recorder::answering(200, "{}")).content_based_deduplication(false);
    let mut message = message("body").message_deduplication_id("d").build().unwrap();
    queue.complete(&mut message);
    assert_eq!(message.message_deduplication_id.as_deref(), Some("d"));
}

#[tokio::test]
async fn with_content_based_deduplication_messages_stay_without_an_id() {
    let recorder = Recorder::answering(200, r#"{"Attributes":{"ContentBasedDeduplication":"true"}}"#);
    let queue = fifo(&recorder);
    queue.prepare().await;
    assert_eq!(completed(&queue), None);
    let given = fifo(&recorder).content_based_deduplication(true);
    given.prepare().await;
    assert_eq!(completed(&given), None);
    // It is asked for its largest message alone.
    assert_eq!(recorder.requests(), 2);
}

#[tokio::test]
async fn messages_stay_as_they_are_if_the_lookup_is_forbidden() {
    let recorder = Recorder::answering(403, r#"{"__type":"com.amazonaws.sqs#AccessDeniedException"}"#);
    let queue = fifo(&recorder);
    queue.prepare().await;
    queue.prepare().await;
    assert_eq!(completed(&queue), None);
    assert_eq!(recorder.requests(), 1);
}

#[tokio::test]
async fn a_standard_queue_is_asked_for_its_largest_message_alone() {
    let recorder = Recorder::answering(200, "{}");
    let queue = SqsQueue::new(
        client(&recorder),
        "https://sqs.eu-central-1.amazonaws.com/123456789012/orders",
    );
    queue.prepare().await;
    assert_eq!(completed(&queue), None);
    assert_eq!(recorder.requests(), 1);
}
