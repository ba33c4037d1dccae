//! CloudWatch Logs: events to a log stream.

use aws_batch_delivery::conformance::{Fixture, Reply, Service, Statement, check};
use aws_batch_delivery::targets::Limits;
use aws_batch_delivery::targets::cloudwatch_logs::LogStream;
use aws_sdk_cloudwatchlogs::Client;
use aws_sdk_cloudwatchlogs::types::InputLogEvent;

use crate::conformance::throttles::paces;
use crate::conformance::wire::{Wire, config, identified, of_the_call};
use crate::conformance::{cases, number, text};

/// From the errors that all services share: `PutLogEvents` names none of its own.
const THROTTLES: &[&str] = &["ThrottlingException"];

fn client(throttled: &'static str, answer: impl Fn(&[usize]) -> Reply + Send + Sync + 'static) -> Client {
    let wire = Wire::of_bytes(move |request| {
        let request: serde_json::Value = serde_json::from_slice(request).expect("the request is JSON");
        let events = request["logEvents"].as_array().expect("a batch has events");
        let message = |event: &serde_json::Value| number(event["message"].as_str().expect("an event has a message"));
        let numbers: Vec<usize> = events.iter().map(message).collect();
        let (status, body) = match answer(&numbers) {
            Reply::Each { said, .. } if said.iter().all(|said| *said == Statement::Accepted) => (200, "{}".to_owned()),
            // A single event is only rejected for its time: without capacity, the call is throttled.
            Reply::Each { .. } => of_the_call(Statement::Throttled, throttled, ""),
            Reply::Whole(said) => of_the_call(said, throttled, "InvalidParameterException"),
        };
        identified(status, body)
    });
    Client::from_conf(config!(aws_sdk_cloudwatchlogs, wire))
}

struct Events {
    is_ordered: bool,
}

impl Events {
    fn of(&self, client: Client) -> LogStream {
        let stream = LogStream::new(client, "shop", "web-1");
        if self.is_ordered { stream } else { stream.unordered() }
    }
}

impl Fixture for Events {
    type Target = LogStream;

    fn target(&self, service: Service, limits: Option<Limits>) -> LogStream {
        let target = self.of(client(THROTTLES[0], move |numbers| service.call(numbers)));
        limits.into_iter().fold(target, LogStream::with_limits)
    }

    fn entry(&self, number: usize, bytes: usize) -> InputLogEvent {
        // All of the same millisecond, so that the order in a call is that of the input.
        let event = InputLogEvent::builder().timestamp(1).message(text(number, bytes));
        event.build().unwrap()
    }

    fn number(&self, event: &InputLogEvent) -> usize {
        number(event.message())
    }

    fn entry_replies(&self) -> &[Statement] {
        &[Statement::Accepted]
    }
}

#[tokio::test(start_paused = true)]
async fn events_keep_the_contract() {
    check(Events { is_ordered: true }, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn events_without_an_order_keep_the_contract() {
    check(Events { is_ordered: false }, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn events_are_paced_by_every_throttle() {
    let events = Events { is_ordered: false };
    for code in THROTTLES {
        paces(code, &events, |bucket, limits| {
            events.of(client(code, bucket)).with_limits(limits)
        })
        .await;
    }
}
