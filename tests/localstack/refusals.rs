//! What cannot be delivered is handed back at once, with the service's own words.

use std::error::Error;
use std::time::{Duration, Instant};

use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_delivery::targets::{Answer, BatchTarget, Limits};
use aws_batch_delivery::{
    Cause, Delivery, DeliveryError, DeliveryOptions, InvalidEntry, deliver_batch_to_dynamo, deliver_batch_to_sqs,
};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use crate::emulators::{Emulators, unique};
use crate::queue::{Queue, message, messages, numbered};
use crate::table::puts;

/// A control character that SQS does not take.
const CONTENTS: &str = "bell \u{7}";

/// Calls in flight when the first answer comes, at most.
const CONCURRENCY: u64 = 4;

/// A queue whose messages are not checked before they are sent.
struct Unchecked(SqsQueue);

impl BatchTarget for Unchecked {
    type Entry = SendMessageBatchRequestEntry;

    fn limits(&self) -> Limits {
        BatchTarget::limits(&self.0)
    }

    fn check(&self, entry: &Self::Entry) -> Result<usize, InvalidEntry> {
        Ok(entry.message_body().len())
    }

    async fn send(&self, chunk: &[Self::Entry]) -> Answer {
        self.0.send(chunk).await
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn a_message_that_the_queue_refuses_is_handed_back_and_not_sent_again() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "refused").await;
    // LocalStack does not blame the sender, which alone would mean that sending again may help.
    let call = queue
        .client
        .send_message_batch()
        .queue_url(&queue.url)
        .entries(message(CONTENTS));
    let answer = call.send().await.unwrap();
    let [failed] = answer.failed() else {
        panic!("{answer:?}")
    };
    assert_eq!(
        (failed.code(), failed.sender_fault()),
        ("InvalidMessageContents", false)
    );

    let mut entries = messages(11);
    entries.insert(4, message(CONTENTS));
    let target = Unchecked(SqsQueue::new(queue.client.clone(), &queue.url));
    let error = Delivery::new(target).deliver(entries).await.unwrap_err();
    assert_eq!(
        (
            error.report.delivered,
            error.report.undelivered,
            error.report.resubmitted
        ),
        (11, 1, 0)
    );
    let [undelivered] = error.undelivered() else {
        panic!("{error:?}")
    };
    assert_eq!((undelivered.position, undelivered.attempts), (4, 1));
    assert_eq!(undelivered.entry.message_body(), CONTENTS);
    assert!(!undelivered.may_have_been_delivered);
    assert!(
        matches!(&undelivered.cause, Cause::Refused(fault) if fault.code() == "InvalidMessageContents"),
        "{:?}",
        undelivered.cause
    );
    assert_eq!(queue.bodies().await, (0..11).map(numbered).collect::<Vec<_>>());
    queue.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn every_malformed_message_is_handed_back_unsent_with_its_own_cause_and_the_rest_is_delivered() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "malformed").await;
    let mut delayed = message("late");
    delayed.delay_seconds = Some(901);
    let malformed = [message("x".repeat(1_048_577)), message(CONTENTS), delayed, message("")];
    let mut entries = messages(6);
    entries.splice(3..3, malformed);
    let error = deliver_batch_to_sqs(&queue.client, &queue.url, entries, &DeliveryOptions::default())
        .await
        .unwrap_err();
    let told: Vec<(u64, u32, String)> = error
        .undelivered()
        .iter()
        .map(|undelivered| {
            (
                undelivered.position,
                undelivered.attempts,
                undelivered.cause.to_string(),
            )
        })
        .collect();
    let causes = [
        "not sent: the message has 1048577 bytes, the limit is 1048576",
        "not sent: the message body has U+0007 at byte 5, a character that is not allowed",
        "not sent: the delay in seconds is 901, the limits are 0 and 900",
        "not sent: the message body is missing or empty",
    ];
    let expected: Vec<(u64, u32, String)> = (3..)
        .zip(causes)
        .map(|(place, cause)| (place, 0, cause.to_owned()))
        .collect();
    assert_eq!(told, expected);
    assert_eq!((error.report.delivered, error.report.calls), (6, 1));
    assert_eq!(queue.bodies().await, (0..6).map(numbered).collect::<Vec<_>>());
    queue.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn a_fifo_message_without_a_group_does_not_fail_the_others_though_the_queue_would_refuse_the_call() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "stray.fifo").await;
    let in_group = |number| {
        let mut entry = message(numbered(number));
        entry.message_group_id = Some("group".to_owned());
        entry
    };
    let stray = message("stray");
    let call = queue.client.send_message_batch().queue_url(&queue.url);
    let refused = call.entries(in_group(0)).entries(stray.clone()).send().await;
    assert!(refused.is_err(), "{refused:?}");

    let entries = [in_group(0), stray, in_group(1)];
    let error = deliver_batch_to_sqs(&queue.client, &queue.url, entries, &DeliveryOptions::default())
        .await
        .unwrap_err();
    assert!(matches!(error.undelivered()[0].cause, Cause::Invalid(_)));
    assert_eq!((error.undelivered()[0].position, error.report.delivered), (1, 2));
    assert_eq!(queue.bodies().await, [numbered(0), numbered(1)]);
    queue.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn a_missing_queue_is_an_error_at_once() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "missing").await;
    let (client, url) = (queue.client.clone(), queue.url.clone());
    queue.remove().await;

    let started = Instant::now();
    let error = deliver_batch_to_sqs(&client, url, messages(100), &options())
        .await
        .unwrap_err();
    assert_all_stopped(&error, 100, started.elapsed());
    let words = words(&error);
    assert!(words.contains("queue does not exist"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn a_missing_table_is_an_error_at_once() {
    let emulators = Emulators::find().await;
    let started = Instant::now();
    let error = deliver_batch_to_dynamo(&emulators.dynamo(), unique("missing"), puts(250), &options())
        .await
        .unwrap_err();
    assert_all_stopped(&error, 250, started.elapsed());
    let words = words(&error);
    // Those of DynamoDB Local, or of the service and others.
    let is_told = words.contains("non-existent table") || words.contains("Requested resource not found");
    assert!(is_told, "{words}");
}

fn options() -> DeliveryOptions {
    DeliveryOptions::default().concurrency(usize::try_from(CONCURRENCY).unwrap())
}

fn assert_all_stopped<E>(error: &DeliveryError<E>, count: usize, took: Duration) {
    assert_eq!((error.report.delivered, error.undelivered().len()), (0, count));
    assert!(error.report.calls <= CONCURRENCY, "{error:?}");
    assert_eq!(error.report.resubmitted, 0);
    for undelivered in error.undelivered() {
        assert!(
            matches!(undelivered.cause, Cause::Stopped(_)),
            "{:?}",
            undelivered.cause
        );
        assert!(!undelivered.may_have_been_delivered);
    }
    // One answer, and the grace for those in flight. A delivery that waits does so for a minute at least.
    assert!(took < Duration::from_secs(30), "{took:?}");
}

/// Everything that the error and its sources say.
fn words(error: &dyn Error) -> String {
    let sources = std::iter::successors(Some(error), |&error| error.source());
    sources.map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
