//! SNS: messages to a topic, in the Query protocol.

use aws_batch_delivery::conformance::{Fixture, Reply, Service, Statement, check};
use aws_batch_delivery::targets::Limits;
use aws_batch_delivery::targets::sns::{MAX_BATCH_BYTES, MAX_MESSAGES, SnsTopic};
use aws_sdk_sns::Client;
use aws_sdk_sns::types::PublishBatchRequestEntry;

use crate::conformance::throttles::paces;
use crate::conformance::wire::{Response, Wire, config};
use crate::conformance::{cases, number, text};

/// From the errors of `PublishBatch` and `ThrottledException` in the SDK, and from those that all services share.
const THROTTLES: &[&str] = &["Throttled", "KMSThrottling", "ThrottlingException"];

fn client(throttled: &'static str, answer: impl Fn(&[usize]) -> Reply + Send + Sync + 'static) -> Client {
    let wire = Wire::new(move |request| {
        let member = |pair: &str| {
            let (name, value) = pair.split_once('=')?;
            name.ends_with(".Message").then(|| number(value))
        };
        let numbers: Vec<usize> = request.split('&').filter_map(member).collect();
        match answer(&numbers) {
            Reply::Each { said, strangers } => of_each(&said, strangers, throttled),
            Reply::Whole(Statement::Throttled) => error(if throttled == "Throttled" { 429 } else { 400 }, throttled),
            Reply::Whole(Statement::Failed) => error(500, "InternalError"),
            Reply::Whole(Statement::Refused) => error(400, "InvalidParameter"),
            Reply::Whole(_) => (200, "{".to_owned()),
        }
    });
    Client::from_conf(config!(aws_sdk_sns, wire))
}

fn error(status: u16, code: &str) -> Response {
    let body = format!("<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code></Error></ErrorResponse>");
    (status, body)
}

fn of_each(said: &[Statement], strangers: usize, throttled: &str) -> Response {
    let accepted = |id: usize| format!("<member><Id>{id}</Id><MessageId>m</MessageId></member>");
    let mut successful: String = (0..strangers).map(|stranger| accepted(90 + stranger)).collect();
    let mut failed = String::new();
    for (id, said) in said.iter().enumerate() {
        let (code, sender_fault) = match said {
            Statement::Accepted => {
                successful += &accepted(id);
                continue;
            }
            Statement::Throttled => (throttled, true),
            Statement::Failed => ("InternalError", false),
            Statement::Refused => ("ParameterValueInvalid", true),
            Statement::Unknown => ("NeverHeardOf", false),
            _ => continue,
        };
        failed.extend([format!(
            "<member><Id>{id}</Id><Code>{code}</Code><SenderFault>{sender_fault}</SenderFault></member>"
        )]);
    }
    let result = format!("<Successful>{successful}</Successful><Failed>{failed}</Failed>");
    let body =
        format!("<PublishBatchResponse><PublishBatchResult>{result}</PublishBatchResult></PublishBatchResponse>");
    (200, body)
}

const ARN: &str = "arn:aws:sns:eu-central-1:1:orders";

struct Messages;

impl Fixture for Messages {
    type Target = SnsTopic;

    fn target(&self, service: Service, limits: Option<Limits>) -> SnsTopic {
        // With limits that are given, the service is not asked for any.
        let limits = limits.unwrap_or(Limits::new(MAX_MESSAGES, MAX_BATCH_BYTES));
        SnsTopic::new(client(THROTTLES[0], move |numbers| service.call(numbers)), ARN).with_limits(limits)
    }

    fn entry(&self, number: usize, bytes: usize) -> PublishBatchRequestEntry {
        let entry = PublishBatchRequestEntry::builder().id("id");
        entry.message(text(number, bytes)).build().unwrap()
    }

    fn number(&self, message: &PublishBatchRequestEntry) -> usize {
        number(message.message())
    }

    fn entry_replies(&self) -> &[Statement] {
        &[
            Statement::Accepted,
            Statement::Throttled,
            Statement::Failed,
            Statement::Refused,
            Statement::Unknown,
            Statement::Nothing,
        ]
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
async fn messages_are_paced_by_every_throttle() {
    for code in THROTTLES {
        paces(code, &Messages, |bucket, limits| {
            SnsTopic::new(client(code, bucket), ARN).with_limits(limits)
        })
        .await;
    }
}
