//! SQS: messages, deletions, visibility timeouts.

use std::time::Duration;

use aws_batch_delivery::conformance::{Fixture, Reply, Service, Statement, check};
use aws_batch_delivery::targets::Limits;
use aws_batch_delivery::targets::sqs::{SqsDeletions, SqsQueue, SqsVisibility, VisibilityChange};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use serde_json::{Value, json};

use crate::conformance::throttles::paces;
use crate::conformance::wire::{Response, Wire, config, of_the_call};
use crate::conformance::{cases, number, text};

const URL: &str = "https://sqs.eu-central-1.amazonaws.com/1/orders";

const SAID: &[Statement] = &[
    Statement::Accepted,
    Statement::Throttled,
    Statement::Failed,
    Statement::Refused,
    Statement::Unknown,
    Statement::Nothing,
];

/// A client whose entries have their numbers in the member with this name, and that gets this code for a throttle.
fn client(
    member: &'static str,
    throttled: &'static str,
    answer: impl Fn(&[usize]) -> Reply + Send + Sync + 'static,
) -> Client {
    let wire = Wire::of_json(move |request| {
        let entries = request["Entries"].as_array().expect("a batch has entries");
        let text = |entry: &Value| entry[member].as_str().map(number).expect("an entry has its text");
        let numbers: Vec<usize> = entries.iter().map(text).collect();
        match answer(&numbers) {
            Reply::Each { said, strangers } => of_each(entries, &said, strangers, throttled),
            Reply::Whole(said) => of_the_call(said, throttled, "InvalidParameterValue"),
        }
    });
    Client::from_conf(config!(aws_sdk_sqs, wire))
}

fn of_each(entries: &[Value], said: &[Statement], strangers: usize, throttled: &str) -> Response {
    let mut successful = vec![json!({"Id": "99", "MessageId": "m", "MD5OfMessageBody": "d"}); strangers];
    let mut failed = Vec::new();
    for (entry, said) in entries.iter().zip(said) {
        let mut fail = |code: &str, sender_fault: bool| {
            failed.push(json!({"Id": entry["Id"], "Code": code, "SenderFault": sender_fault}));
        };
        match said {
            Statement::Accepted => {
                successful.push(json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "d"}));
            }
            Statement::Throttled => fail(throttled, true),
            Statement::Failed => fail("InternalError", false),
            Statement::Refused => fail("ReceiptHandleIsInvalid", true),
            Statement::Unknown => fail("NeverHeardOf", false),
            _ => {}
        }
    }
    (200, json!({"Successful": successful, "Failed": failed}).to_string())
}

/// From the errors of the three calls in the SDK, and from the errors that all services share.
const THROTTLES: &[&str] = &["RequestThrottled", "ThrottlingException", "KmsThrottled"];

struct Messages;

impl Fixture for Messages {
    type Target = SqsQueue;

    fn target(&self, service: Service, limits: Option<Limits>) -> SqsQueue {
        let client = client("MessageBody", THROTTLES[0], move |numbers| service.call(numbers));
        // With limits of the caller's the queue is not asked for its own.
        let queue = SqsQueue::new(client, URL).with_limits(Limits::new(10, 1_048_576));
        limits.into_iter().fold(queue, SqsQueue::with_limits)
    }

    fn entry(&self, number: usize, bytes: usize) -> SendMessageBatchRequestEntry {
        let entry = SendMessageBatchRequestEntry::builder().id("id");
        entry.message_body(text(number, bytes)).build().unwrap()
    }

    fn number(&self, message: &SendMessageBatchRequestEntry) -> usize {
        number(message.message_body())
    }

    fn entry_replies(&self) -> &[Statement] {
        SAID
    }

    fn answers_for_unsent_entries(&self) -> bool {
        true
    }
}

struct Deletions;

impl Fixture for Deletions {
    type Target = SqsDeletions;

    fn target(&self, service: Service, limits: Option<Limits>) -> SqsDeletions {
        let client = client("ReceiptHandle", THROTTLES[0], move |numbers| service.call(numbers));
        let deletions = SqsDeletions::new(client, URL);
        limits.into_iter().fold(deletions, SqsDeletions::with_limits)
    }

    fn entry(&self, number: usize, bytes: usize) -> String {
        text(number, bytes)
    }

    fn number(&self, handle: &String) -> usize {
        number(handle)
    }

    fn entry_replies(&self) -> &[Statement] {
        SAID
    }

    fn answers_for_unsent_entries(&self) -> bool {
        true
    }
}

struct Visibility;

impl Fixture for Visibility {
    type Target = SqsVisibility;

    fn target(&self, service: Service, limits: Option<Limits>) -> SqsVisibility {
        let client = client("ReceiptHandle", THROTTLES[0], move |numbers| service.call(numbers));
        let visibility = SqsVisibility::new(client, URL);
        limits.into_iter().fold(visibility, SqsVisibility::with_limits)
    }

    fn entry(&self, number: usize, bytes: usize) -> VisibilityChange {
        VisibilityChange::new(text(number, bytes), Duration::from_secs(30))
    }

    fn number(&self, change: &VisibilityChange) -> usize {
        number(&change.receipt_handle)
    }

    fn entry_replies(&self) -> &[Statement] {
        SAID
    }

    fn answers_for_unsent_entries(&self) -> bool {
        true
    }
}

#[tokio::test(start_paused = true)]
async fn messages_keep_the_contract() {
    check(Messages, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn deletions_keep_the_contract() {
    check(Deletions, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn visibility_timeouts_keep_the_contract() {
    check(Visibility, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn messages_are_paced_by_every_throttle() {
    for code in THROTTLES {
        let queue = |bucket, limits| SqsQueue::new(client("MessageBody", code, bucket), URL).with_limits(limits);
        paces(code, &Messages, queue).await;
    }
}

#[tokio::test(start_paused = true)]
async fn deletions_are_paced_by_every_throttle() {
    for code in &THROTTLES[..2] {
        let deletions =
            |bucket, limits| SqsDeletions::new(client("ReceiptHandle", code, bucket), URL).with_limits(limits);
        paces(code, &Deletions, deletions).await;
    }
}

#[tokio::test(start_paused = true)]
async fn visibility_timeouts_are_paced_by_every_throttle() {
    for code in &THROTTLES[..2] {
        let visibility =
            |bucket, limits| SqsVisibility::new(client("ReceiptHandle", code, bucket), URL).with_limits(limits);
        paces(code, &Visibility, visibility).await;
    }
}
