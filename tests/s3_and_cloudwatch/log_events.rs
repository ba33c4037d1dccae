//! Events of a log stream.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_batch_delivery::targets::Limits;
use aws_batch_delivery::targets::cloudwatch_logs::LogStream;
use aws_batch_delivery::{Cause, Delivery};
use aws_batch_simulator::{Capacity, LogStreamOptions, Simulator};
use aws_sdk_cloudwatchlogs::types::InputLogEvent;

use crate::{client, faults_of_calls, simulator};

const HOUR: i64 = 60 * 60 * 1_000;
const DAY: i64 = 24 * HOUR;

/// When the log stream is made, in milliseconds after 1970.
const NOW: i64 = 1_800_000_000_000;

fn delivery(simulator: &Simulator) -> Delivery<LogStream> {
    Delivery::new(LogStream::new(
        client!(aws_sdk_cloudwatchlogs, simulator),
        "shop",
        "web-1",
    ))
}

/// Calls of 500 events, so that there are many.
fn of_small_calls(stream: LogStream) -> LogStream {
    stream.with_limits(Limits::new(500, 1_048_576))
}

fn options() -> LogStreamOptions {
    LogStreamOptions::default().clock_at(NOW)
}

fn event(timestamp: i64, message: impl Into<String>) -> InputLogEvent {
    let event = InputLogEvent::builder().timestamp(timestamp).message(message);
    event.build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn events_are_in_the_stream_in_their_order_whatever_goes_wrong() {
    let simulator = simulator();
    let stream = simulator.log_stream("shop", "web-1", options());
    stream.set_faults(faults_of_calls());
    // Ten events a millisecond, as the lines of stack traces.
    let count = 40_000;
    let events = (0..count).map(|number| event(NOW + number / 10, format!("{number:06}")));
    let delivery = delivery(&simulator).map_target(of_small_calls);
    let report = delivery.deliver(events).await.unwrap();
    assert_eq!(report.delivered, 40_000);
    let stored: Vec<String> = stream.events().into_iter().map(|event| event.message).collect();
    // An answer that was lost brings the events of a call twice, but the first copies of all are in their order.
    let mut seen = BTreeSet::new();
    let firsts: Vec<&String> = stored
        .iter()
        .filter(|message| seen.insert((*message).clone()))
        .collect();
    assert_eq!(firsts.len(), 40_000);
    assert!(firsts.is_sorted());
    assert!(stored.len() > firsts.len(), "no answer was lost");
}

#[tokio::test(start_paused = true)]
async fn without_an_order_several_calls_are_in_flight() {
    for (is_ordered, most) in [(true, 1), (false, 2)] {
        let simulator = simulator();
        let stream = simulator.log_stream("shop", "web-1", options());
        let delivery = delivery(&simulator).map_target(of_small_calls);
        let delivery = delivery.map_target(|target| if is_ordered { target } else { target.unordered() });
        let events = (0..40_000).map(|number| event(NOW, number.to_string()));
        delivery.deliver(events).await.unwrap();
        assert_eq!(stream.len(), 40_000);
        assert!(stream.calls() < 120, "{}", stream.calls());
        let in_flight = simulator.most_calls_in_flight();
        assert!(
            if is_ordered {
                in_flight == most
            } else {
                in_flight >= most
            },
            "{in_flight}"
        );
    }
}

/// Rebuilt from reports of log shippers that count a call as delivered although its answer names rejected events.
#[tokio::test(start_paused = true)]
async fn events_that_are_rejected_for_their_times_are_handed_back_and_nothing_else() {
    let simulator = simulator();
    let stream = simulator.log_stream("shop", "web-1", options().retention(Duration::from_hours(7 * 24)));
    let events = [
        event(NOW, "now"),
        event(NOW - 15 * DAY, "too old"),
        event(NOW - 8 * DAY, "expired"),
        event(NOW + 3 * HOUR, "too new"),
        event(NOW - HOUR, "an hour ago"),
        event(NOW - 6 * DAY, "six days ago"),
    ];
    let error = delivery(&simulator).deliver(events).await.unwrap_err();
    let mut causes: Vec<(u64, String)> = error
        .undelivered()
        .iter()
        .inspect(|undelivered| {
            assert!(matches!(undelivered.cause, Cause::Refused(_)) && !undelivered.may_have_been_delivered);
        })
        .map(|undelivered| (undelivered.position, undelivered.cause.to_string()))
        .collect();
    causes.sort();
    let expected = [(1, "TooOldLogEvent"), (2, "ExpiredLogEvent"), (3, "TooNewLogEvent")];
    assert_eq!(causes.len(), 3, "{causes:?}");
    for ((position, cause), (expected_position, code)) in causes.iter().zip(expected) {
        assert!(*position == expected_position && cause.contains(code), "{causes:?}");
    }
    let stored: Vec<String> = stream.events().into_iter().map(|event| event.message).collect();
    assert_eq!(stored, ["six days ago", "an hour ago", "now"]);
}

/// Rebuilt from reports of log shippers whose batches were refused after a gap in the logs, or at the first start with old files.
#[tokio::test(start_paused = true)]
async fn events_of_many_days_are_put_in_calls_of_a_day() {
    let simulator = simulator();
    let stream = simulator.log_stream("shop", "web-1", options());
    let count = 20_000;
    let events = (0..count).map(|number| event(NOW - 13 * DAY + number * (13 * DAY / count), number.to_string()));
    let report = delivery(&simulator).deliver(events).await.unwrap();
    assert_eq!(report.delivered, 20_000);
    let statistics = stream.statistics();
    assert_eq!(statistics.refused_calls, 0);
    assert!((13..=40).contains(&statistics.calls), "{statistics:?}");
}

#[tokio::test(start_paused = true)]
async fn a_log_stream_that_does_not_exist_stops_the_delivery() {
    let simulator = simulator();
    let error = delivery(&simulator).deliver([event(NOW, "m")]).await.unwrap_err();
    let cause = error.undelivered()[0].cause.to_string();
    assert!(cause.contains("ResourceNotFoundException"), "{cause}");
}

/// A call costs the same with one event as with ten thousand.
#[tokio::test(start_paused = true)]
async fn calls_are_paced_by_the_capacity_of_the_account() {
    let simulator = simulator();
    let capacity = Capacity::per_second(2.0).burst(2.0);
    let stream = simulator.log_stream("shop", "web-1", options().capacity(capacity));
    let events = (0..100_000).map(|number| event(NOW, number.to_string()));
    let report = delivery(&simulator).deliver(events).await.unwrap();
    assert_eq!((report.delivered, stream.len()), (100_000, 100_000));
    assert!(stream.calls() <= 300, "{:?}", stream.statistics());
    assert!(report.elapsed < Duration::from_mins(2), "{report:?}");
}
