use aws_sdk_eventbridge::primitives::DateTime;
use aws_sdk_eventbridge::types::builders::PutEventsRequestEntryBuilder;

use super::*;
use crate::aws::recording::{Recorder, recorded_config};

fn client(recorder: &Recorder) -> Client {
    Client::from_conf(recorded_config!(aws_sdk_eventbridge, recorder.clone()).build())
}

fn event() -> PutEventsRequestEntryBuilder {
    PutEventsRequestEntry::builder()
        .source("shop")
        .detail_type("order")
        .detail("{}")
}

fn checked(event: PutEventsRequestEntryBuilder) -> Result<usize, String> {
    let bus = EventBus::new(client(&Recorder::answering(200, "{}")), "orders");
    bus.check(&event.build()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn nothing_is_sent_to_a_bus_that_does_not_exist() {
    let recorder = Recorder::answering(400, r#"{"__type":"ResourceNotFoundException","message":"no such bus"}"#);
    let bus = EventBus::new(client(&recorder), "orders");
    bus.prepare().await;
    let answer = bus.send(&[event().build()]).await;
    assert!(
        matches!(&answer, Answer::Stop(fault) if fault.code() == "ResourceNotFoundException"),
        "{answer:?}"
    );
    recorder.only_request();
}

/// `PutEvents` reports success for it.
#[tokio::test(start_paused = true)]
async fn a_bus_that_was_deleted_is_noticed_within_an_hour() {
    const GONE: (u16, &str) = (400, r#"{"__type":"ResourceNotFoundException","message":"no such bus"}"#);
    const FAILS: (u16, &str) = (503, "");
    let recorder = Recorder::answering_in_turn([
        (200, r#"{"Name":"orders"}"#),
        GONE,
        FAILS,
        (200, r#"{"Name":"orders"}"#),
    ]);
    let bus = EventBus::new(client(&recorder), "orders");
    bus.prepare().await;
    assert!(bus.forbids().is_none());
    tokio::time::sleep(std::time::Duration::from_secs(60 * 60)).await;
    assert!(bus.preparation_fault().is_some());
    bus.prepare().await;
    let answer = bus.send(&[event().build()]).await;
    assert!(matches!(answer, Answer::Stop(_)), "{answer:?}");
    // A call that fails does not bring it back.
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    bus.prepare().await;
    assert!(bus.forbids().is_some());
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    bus.prepare().await;
    assert!(bus.forbids().is_none());
}

/// It goes to that bus, and what is wrong there is its own.
#[tokio::test]
async fn an_event_that_names_another_bus_stops_no_other() {
    let recorder = Recorder::answering(400, r#"{"__type":"ResourceNotFoundException","message":"no such bus"}"#);
    let bus = EventBus::new(client(&recorder), "orders");
    let is_refused = |answer: &Answer| matches!(answer, Answer::Whole(Verdict::Refused(_)));
    let other = || event().event_bus_name("other").build();
    assert!(is_refused(&bus.send(&[event().build(), other()]).await));
    assert!(matches!(
        bus.send(&[event().event_bus_name("orders").build()]).await,
        Answer::Stop(_)
    ));
    bus.prepare().await;
    assert!(matches!(bus.send(&[event().build()]).await, Answer::Stop(_)));
    let before = recorder.requests();
    assert!(is_refused(&bus.send(&[other()]).await));
    assert_eq!(recorder.requests(), before + 1, "the other bus may exist");
}

#[tokio::test]
async fn events_are_sent_although_the_lookup_is_forbidden() {
    let recorder = Recorder::answering(400, r#"{"__type":"AccessDeniedException"}"#);
    let bus = EventBus::new(client(&recorder), "orders");
    bus.prepare().await;
    bus.prepare().await;
    assert_eq!(recorder.requests(), 1);
    bus.send(&[event().build()]).await;
    assert_eq!(recorder.requests(), 2);
}

#[tokio::test]
async fn an_event_goes_to_the_bus_unless_it_names_its_own() {
    let recorder = Recorder::answering(200, r#"{"Entries":[{"EventId":"e"},{"EventId":"f"}]}"#);
    let bus = EventBus::new(client(&recorder), "orders");
    bus.send(&[event().build(), event().event_bus_name("other").build()])
        .await;
    let body = recorder.only_request().body;
    for name in ["orders", "other"] {
        assert_eq!(
            body.matches(&format!(r#""EventBusName":"{name}""#)).count(),
            1,
            "{body}"
        );
    }
}

#[test]
fn the_log_names_the_bus_without_its_account() {
    for given in ["orders", "arn:aws:events:eu-central-1:123456789012:event-bus/orders"] {
        let bus = EventBus::new(client(&Recorder::answering(200, "{}")), given);
        assert_eq!(bus.name(), "eventbridge/orders");
        assert!(!format!("{bus:?}").contains("123456789012"));
    }
}

#[test]
fn the_size_of_an_event_counts_its_texts_its_resources_and_its_time() {
    assert_eq!(checked(event()), Ok(11));
    assert_eq!(checked(event().resources("ab").resources("c")), Ok(14));
    assert_eq!(checked(event().time(DateTime::from_secs(0))), Ok(25));
    let error = checked(event().detail("x".repeat(MAX_BATCH_BYTES)));
    assert_eq!(
        error,
        Err("the event has 1000008 bytes, the limit is 999999".to_owned())
    );
}

#[test]
fn an_event_without_a_required_part_is_refused_before_the_call() {
    for (event, part) in [
        (event().source(""), "source"),
        (event().set_detail_type(None), "detail type"),
        (event().set_detail(None), "detail"),
    ] {
        assert_eq!(checked(event), Err(format!("the {part} is missing or empty")));
    }
}

#[test]
fn a_detail_type_of_more_than_128_characters_is_refused_before_the_call() {
    assert!(checked(event().detail_type("ä".repeat(128))).is_ok());
    assert_eq!(
        checked(event().detail_type("x".repeat(129))),
        Err("the detail type must be of at most 128 characters".to_owned())
    );
}
