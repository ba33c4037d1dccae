//! EventBridge: events to a bus.

use aws_batch_delivery::conformance::{Fixture, Reply, Service, Statement, check};
use aws_batch_delivery::targets::Limits;
use aws_batch_delivery::targets::eventbridge::EventBus;
use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use serde_json::{Value, json};

use crate::conformance::throttles::paces;
use crate::conformance::wire::{Wire, by_place, config, of_the_call};
use crate::conformance::{cases, number, text};

/// From the documentation of `PutEventsResultEntry`, and of the errors that all actions share.
const THROTTLE: &str = "ThrottlingException";

fn client(answer: impl Fn(&[usize]) -> Reply + Send + Sync + 'static) -> Client {
    let wire = Wire::of_json(move |request| {
        let Some(events) = request["Entries"].as_array() else {
            return (200, json!({"Name": "orders"}).to_string());
        };
        let detail = |event: &Value| event["Detail"].as_str().map(number);
        let numbers: Vec<usize> = events
            .iter()
            .map(|event| detail(event).expect("an event has its detail"))
            .collect();
        match answer(&numbers) {
            Reply::Each { said, strangers } => {
                let entries = by_place(&said, strangers, &json!({"EventId": "e"}), THROTTLE);
                // The counter is wrong, and must be ignored.
                (200, json!({"Entries": entries, "FailedEntryCount": 0}).to_string())
            }
            Reply::Whole(said) => of_the_call(said, THROTTLE, "ValidationException"),
        }
    });
    Client::from_conf(config!(aws_sdk_eventbridge, wire))
}

struct Events;

impl Fixture for Events {
    type Target = EventBus;

    fn target(&self, service: Service, limits: Option<Limits>) -> EventBus {
        let target = EventBus::new(client(move |numbers| service.call(numbers)), "orders");
        limits.into_iter().fold(target, EventBus::with_limits)
    }

    fn entry(&self, number: usize, bytes: usize) -> PutEventsRequestEntry {
        let event = PutEventsRequestEntry::builder().source("shop").detail_type("order");
        event.detail(text(number, bytes)).build()
    }

    fn number(&self, entry: &PutEventsRequestEntry) -> usize {
        number(entry.detail().unwrap())
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
async fn events_keep_the_contract() {
    check(Events, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn events_are_paced_by_a_throttle() {
    paces(THROTTLE, &Events, |bucket, limits| {
        EventBus::new(client(bucket), "orders").with_limits(limits)
    })
    .await;
}
