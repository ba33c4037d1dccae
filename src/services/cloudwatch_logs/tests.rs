use proptest::prelude::*;

use super::*;
use crate::aws::recording::{Recorder, recorded_config};
use crate::contract::Rejection;

const HOUR: i64 = 60 * 60 * 1_000;

fn client(recorder: &Recorder) -> Client {
    Client::from_conf(recorded_config!(aws_sdk_cloudwatchlogs, recorder.clone()).build())
}

fn recorder(body: &'static str) -> Recorder {
    Recorder::answering(200, body).with_request_ids()
}

fn stream(recorder: &Recorder) -> LogStream {
    LogStream::new(client(recorder), "shop", "web-1")
}

fn event(timestamp: i64, message: &str) -> InputLogEvent {
    let event = InputLogEvent::builder().timestamp(timestamp).message(message);
    event.build().unwrap()
}

/// `.` accepted, `o` too old, `e` expired, `n` too new.
async fn answered(body: &'static str, times: &[i64]) -> String {
    let stream = stream(&recorder(body));
    let events: Vec<_> = times.iter().map(|time| event(*time, "m")).collect();
    let answer = stream.send(&events).await;
    let letter = |verdict: &Verdict| match verdict {
        Verdict::Accepted => '.',
        Verdict::Refused(fault) => match fault.code() {
            "TooOldLogEvent" => 'o',
            "ExpiredLogEvent" => 'e',
            "TooNewLogEvent" => 'n',
            code => panic!("{code}"),
        },
        other => panic!("{other:?}"),
    };
    match &answer {
        Answer::Each(verdicts) => verdicts.iter().map(letter).collect(),
        Answer::Whole(verdict) => letter(verdict).to_string().repeat(events.len()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn events_are_sent_in_the_order_of_their_times_and_else_in_that_of_the_input() {
    let recorder = recorder("{}");
    let events = [event(3, "c"), event(1, "a1"), event(2, "b"), event(1, "a2")];
    let answer = stream(&recorder).send(&events).await;
    assert!(matches!(answer, Answer::Whole(Verdict::Accepted)), "{answer:?}");
    let request: serde_json::Value = serde_json::from_str(&recorder.only_request().body).unwrap();
    let sent = request["logEvents"].as_array().unwrap().iter();
    let sent: Vec<_> = sent.map(|event| event["message"].as_str().unwrap()).collect();
    assert_eq!(sent, ["a1", "a2", "b", "c"]);
    assert_eq!(
        (&request["logGroupName"], &request["logStreamName"]),
        (&"shop".into(), &"web-1".into())
    );
}

#[tokio::test]
async fn the_events_that_are_rejected_are_those_that_were_sent_at_these_places() {
    let times = &[50, 10, 40, 20, 30];
    assert_eq!(answered("{}", times).await, ".....");
    assert_eq!(
        answered(r#"{"rejectedLogEventsInfo":{"tooOldLogEventEndIndex":2}}"#, times).await,
        ".o.o."
    );
    assert_eq!(
        answered(r#"{"rejectedLogEventsInfo":{"expiredLogEventEndIndex":1}}"#, times).await,
        ".e..."
    );
    assert_eq!(
        answered(r#"{"rejectedLogEventsInfo":{"tooNewLogEventStartIndex":3}}"#, times).await,
        "n.n.."
    );
    let all = r#"{"rejectedLogEventsInfo":
        {"tooOldLogEventEndIndex":1,"expiredLogEventEndIndex":3,"tooNewLogEventStartIndex":4}}"#;
    assert_eq!(answered(all, times).await, "no.ee");
}

#[tokio::test]
async fn indices_beyond_the_events_reject_none_or_all() {
    assert_eq!(
        answered(r#"{"rejectedLogEventsInfo":{"tooOldLogEventEndIndex":9}}"#, &[1, 2]).await,
        "oo"
    );
    assert_eq!(
        answered(r#"{"rejectedLogEventsInfo":{"tooNewLogEventStartIndex":2}}"#, &[1, 2]).await,
        ".."
    );
    assert_eq!(answered(r#"{"rejectedLogEventsInfo":{}}"#, &[1, 2]).await, "..");
}

#[tokio::test]
async fn events_of_more_than_a_day_are_refused_without_a_call() {
    let recorder = recorder("{}");
    let stream = stream(&recorder);
    let day = [event(24 * HOUR, "b"), event(0, "a")];
    assert!(matches!(stream.send(&day).await, Answer::Whole(Verdict::Accepted)));
    let more = [event(24 * HOUR + 1, "b"), event(0, "a")];
    let answer = stream.send(&more).await;
    assert!(
        matches!(&answer, Answer::Whole(Verdict::Refused(fault)) if !fault.is_ambiguous()),
        "{answer:?}"
    );
    assert_eq!(recorder.requests(), 1);
}

#[tokio::test]
async fn an_answer_without_a_request_id_leaves_the_events_in_doubt() {
    let answer = stream(&Recorder::answering(200, "{}")).send(&[event(1, "m")]).await;
    assert!(
        matches!(&answer, Answer::Whole(Verdict::Rejected(Rejection::Unanswered, fault)) if fault.is_ambiguous()),
        "{answer:?}"
    );
}

#[test]
fn an_event_has_its_limits() {
    let stream = stream(&recorder("{}"));
    let checked = |event: &InputLogEvent| stream.check(event).map_err(|error| error.to_string());
    let largest = "ü".repeat((MAX_BATCH_BYTES - 26) / 2);
    assert_eq!(checked(&event(0, &largest)), Ok(MAX_BATCH_BYTES));
    assert_eq!(
        checked(&event(0, &(largest + "x"))),
        Err("the event has 1048577 bytes, the limit is 1048576".to_owned())
    );
    assert_eq!(
        checked(&event(0, "")),
        Err("the message is missing or empty".to_owned())
    );
    assert_eq!(
        checked(&event(-1, "m")),
        Err(format!(
            "the timestamp in milliseconds is -1, the limits are 0 and {}",
            i64::MAX
        ))
    );
}

#[test]
fn events_keep_their_order_unless_it_is_lifted() {
    let stream = stream(&recorder("{}"));
    let lane = stream.lane(&event(1, "a"));
    assert!(lane.is_some() && lane == stream.lane(&event(2, "b")));
    assert_eq!(stream.unordered().lane(&event(1, "a")), None);
}

proptest! {
    /// Whatever the order of the input, each event has the verdict of its time.
    #[test]
    fn the_verdict_of_an_event_does_not_depend_on_its_place(times in prop::collection::vec(0_i64..20, 1..40)) {
        let events: Vec<_> = times.iter().map(|time| event(*time, "m")).collect();
        let places = by_time(&events);
        let sorted: Vec<i64> = places.iter().map(|place| times[*place]).collect();
        prop_assert!(sorted.is_sorted());
        let index = |limit: i64| i32::try_from(sorted.partition_point(|time| *time < limit)).unwrap();
        let rejected = RejectedLogEventsInfo::builder()
            .too_old_log_event_end_index(index(3))
            .expired_log_event_end_index(index(7))
            .too_new_log_event_start_index(index(15));
        let Answer::Each(verdicts) = each(&places, &rejected.build()) else {
            panic!("one for each event");
        };
        for (time, verdict) in times.iter().zip(verdicts) {
            let code = match &verdict {
                Verdict::Refused(fault) => fault.code(),
                _ => "",
            };
            let expected = match time {
                ..3 => "TooOldLogEvent",
                3..7 => "ExpiredLogEvent",
                7..15 => "",
                15.. => "TooNewLogEvent",
            };
            prop_assert_eq!(code, expected);
        }
    }
}

/// The end of the connection may have cut the rejected events off.
#[tokio::test]
async fn an_answer_that_lost_its_body_leaves_a_doubt() {
    let answer = stream(&recorder("")).send(&[event(0, "m")]).await;
    assert!(
        matches!(&answer, Answer::Whole(Verdict::Rejected(Rejection::Connection, fault)) if fault.is_ambiguous()),
        "{answer:?}"
    );
}
