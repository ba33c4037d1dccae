//! Log streams of CloudWatch Logs.

use std::time::Duration;

use aws_batch_simulator::{Capacity, InjectedFault, LogStreamOptions, Record, Simulator};
use aws_sdk_cloudwatchlogs::Client;
use aws_sdk_cloudwatchlogs::config::retry::RetryConfig;
use aws_sdk_cloudwatchlogs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_cloudwatchlogs::operation::put_log_events::{PutLogEventsError, PutLogEventsOutput};
use aws_sdk_cloudwatchlogs::types::InputLogEvent;

const HOUR: i64 = 60 * 60 * 1_000;
const NOW: i64 = 1_800_000_000_000;

/// Without retries.
fn client(simulator: &Simulator) -> Client {
    let config = simulator.cloudwatch_logs_client().config().to_builder();
    Client::from_conf(config.retry_config(RetryConfig::disabled()).build())
}

async fn put(
    client: &Client,
    events: impl IntoIterator<Item = (i64, String)>,
) -> Result<PutLogEventsOutput, SdkError<PutLogEventsError>> {
    let event = |(time, message)| {
        InputLogEvent::builder()
            .timestamp(time)
            .message(message)
            .build()
            .unwrap()
    };
    let events = events.into_iter().map(event).collect();
    let call = client.put_log_events().log_group_name("shop").log_stream_name("web-1");
    call.set_log_events(Some(events)).send().await
}

fn events(times: &[i64]) -> Vec<(i64, String)> {
    times.iter().map(|time| (*time, "m".to_owned())).collect()
}

#[tokio::test(start_paused = true)]
async fn a_call_is_taken_as_a_whole_or_not_at_all() {
    let simulator = Simulator::new(1);
    let capacity = Capacity::per_second(1.0).burst(1.0).starts_full();
    let stream = simulator.log_stream(
        "shop",
        "web-1",
        LogStreamOptions::default().clock_at(NOW).capacity(capacity),
    );
    let client = client(&simulator);
    put(&client, events(&[NOW; 100])).await.unwrap();
    assert_eq!(
        put(&client, events(&[NOW])).await.unwrap_err().code(),
        Some("ThrottlingException")
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    stream.script([InjectedFault::Unprocessed(1)]);
    let failed = put(&client, events(&[NOW; 2])).await.unwrap_err();
    assert_eq!(failed.code(), Some("ServiceUnavailableException"));
    put(&client, events(&[NOW])).await.unwrap();
    let statistics = stream.statistics();
    assert_eq!(
        (
            stream.len(),
            statistics.applied,
            statistics.throttled,
            statistics.failed
        ),
        (101, 101, 1, 2)
    );
    assert_eq!((statistics.throttled_calls, statistics.failed_calls), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn events_are_rejected_alone_for_their_times() {
    let simulator = Simulator::new(1);
    let stream = simulator.log_stream("shop", "web-1", LogStreamOptions::default().clock_at(NOW));
    let times = [NOW - 15 * 24 * HOUR, NOW - HOUR, NOW, NOW + 3 * HOUR];
    let output = put(&client(&simulator), events(&times)).await.unwrap();
    let rejected = output.rejected_log_events_info().unwrap();
    assert_eq!(rejected.too_old_log_event_end_index(), Some(1));
    assert_eq!(rejected.expired_log_event_end_index(), None);
    assert_eq!(rejected.too_new_log_event_start_index(), Some(3));
    assert_eq!(
        stream.events().iter().map(|event| event.timestamp).collect::<Vec<_>>(),
        times[1..3]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_breaks_a_rule_is_refused_as_a_whole() {
    let simulator = Simulator::new(1);
    let stream = simulator.log_stream("shop", "web-1", LogStreamOptions::default().clock_at(NOW));
    let client = client(&simulator);
    let largest = |more: usize| vec![(NOW, "m".repeat(1_048_576 - 26 + more))];
    put(&client, largest(0)).await.unwrap();
    put(&client, events(&[NOW - 24 * HOUR, NOW])).await.unwrap();
    for refused in [
        events(&[]),
        events(&vec![NOW; 10_001]),
        events(&[NOW, NOW - 1]),
        events(&[NOW - 24 * HOUR - 1, NOW]),
        largest(1),
        vec![(NOW, String::new())],
    ] {
        let error = put(&client, refused).await.unwrap_err();
        assert_eq!(error.code(), Some("InvalidParameterException"));
    }
    assert_eq!((stream.len(), stream.statistics().refused_calls), (3, 6));
}

#[tokio::test(start_paused = true)]
async fn no_fault_reports_events_as_put_that_are_not() {
    for applied in [false, true] {
        let simulator = Simulator::new(1);
        let stream = simulator.log_stream("shop", "web-1", LogStreamOptions::default().clock_at(NOW));
        let client = client(&simulator);
        let fault = InjectedFault::Empty { applied };
        stream.script([fault.clone(), fault.clone(), fault]);
        put(&client, events(&[NOW; 2])).await.unwrap();
        assert_eq!(stream.len(), 2);
        let output = put(&client, events(&[NOW - 15 * 24 * HOUR, NOW])).await.unwrap();
        assert!(output.rejected_log_events_info().is_some(), "one of them is not kept");
        stream.set_capacity(Capacity::none());
        put(&client, events(&[NOW])).await.unwrap_err();
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_with_a_rejected_first_event_costs_as_much_as_any_other() {
    let simulator = Simulator::new(1);
    let capacity = Capacity::per_second(1.0).burst(2.0).starts_full();
    let options = LogStreamOptions::default().clock_at(NOW).capacity(capacity);
    let stream = simulator.log_stream("shop", "web-1", options);
    let client = client(&simulator);
    let old = NOW - 15 * 24 * HOUR;
    put(&client, events(&[old, NOW])).await.unwrap();
    put(&client, events(&[old])).await.unwrap();
    let throttled = put(&client, events(&[NOW])).await.unwrap_err();
    assert_eq!(throttled.code(), Some("ThrottlingException"));
    let statistics = stream.statistics();
    assert_eq!((stream.len(), statistics.units, statistics.throttled), (1, 2.0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_fault_applies_a_call_only_as_far_as_there_is_capacity() {
    let simulator = Simulator::new(1);
    let capacity = Capacity::per_second(1.0).burst(1.0).starts_full();
    let options = LogStreamOptions::default().clock_at(NOW).capacity(capacity);
    let stream = simulator.log_stream("shop", "web-1", options);
    stream.keep_journal();
    let dropped = InjectedFault::Dropped { applied: true };
    stream.script([dropped.clone(), dropped]);
    let client = client(&simulator);
    for _ in 0..2 {
        put(&client, events(&[NOW; 2])).await.unwrap_err();
    }
    let statistics = stream.statistics();
    assert_eq!((stream.len(), statistics.applied, statistics.throttled), (2, 2, 2));
    assert_eq!((statistics.failed_calls, statistics.throttled_calls), (2, 0));
    let applied = |record: &Record| record.acknowledgement().is_applied();
    assert_eq!(
        stream.journal().iter().map(applied).collect::<Vec<_>>(),
        [true, true, false, false]
    );
}
