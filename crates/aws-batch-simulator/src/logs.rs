//! The part of CloudWatch Logs that accepts events: `PutLogEvents`.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::capacity::Capacity;
use crate::handles::{counts_only_option, debug_fields, handle_capacity, kept_handle};
use crate::intake::WholeIntake;
use crate::journal::AnswerReceipt;
use crate::registry::Registry;
use crate::wire::{Api, OperationOutcome, Protocol, Refusal};

pub(crate) const API: Api = Api {
    protocol: Protocol::Json11,
    namespace: "",
    has_checksums: false,
    has_query_errors: false,
    throttled,
};

/// Events in a call at most. From the API reference of `PutLogEvents`, as all of these.
const MOST_EVENTS: usize = 10_000;
/// Bytes of a call at most: those of the messages, and [`OVERHEAD`] for each event.
const LARGEST_CALL: usize = 1_048_576;
const OVERHEAD: usize = 26;
/// Milliseconds between the first and the last event of a call at most.
const LONGEST_SPAN: i64 = 24 * 60 * 60 * 1_000;
/// The oldest event, and how far ahead the newest one may be.
const OLDEST: Duration = Duration::from_secs(14 * 24 * 60 * 60);
const NEWEST: Duration = Duration::from_secs(2 * 60 * 60);

/// The options of a log stream of CloudWatch Logs.
///
/// # Default
/// - capacity: unlimited
/// - the clock is that of the machine
/// - the log group keeps its events forever
/// - events are kept
#[derive(Debug, Clone, Copy, Default)]
#[must_use]
pub struct LogStreamOptions {
    capacity: Capacity,
    started_at: Option<i64>,
    retention: Option<Duration>,
    counts_only: bool,
}

impl LogStreamOptions {
    counts_only_option!("events");

    /// The capacity, in calls per second. A call is accepted as a whole or not at all. The service limits the calls of an account.
    pub fn capacity(mut self, calls: impl Into<Capacity>) -> Self {
        self.capacity = calls.into();
        self
    }

    /// The clock of the service, by which it rejects events: these milliseconds after 1970 when the stream is made, and from then on
    /// by tokio's clock.
    pub fn clock_at(mut self, milliseconds: i64) -> Self {
        self.started_at = Some(milliseconds);
        self
    }

    /// For how long the log group keeps its events. Older ones are rejected.
    pub fn retention(mut self, time: Duration) -> Self {
        self.retention = Some(time);
        self
    }
}

/// An event in a log stream.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogEvent {
    /// Milliseconds after 1970.
    pub timestamp: i64,
    /// The message.
    pub message: String,
}

debug_fields!(LogEvent, timestamp);

/// A log stream of the simulator, which keeps its events. Clones are handles to the same log stream.
#[derive(Clone)]
pub struct LogStream {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    /// The milliseconds after 1970 at this time.
    clock: (i64, Instant),
    retention: Option<Duration>,
    intake: WholeIntake<LogEvent>,
}

kept_handle!(LogStream, "events", "are put");

impl LogStream {
    handle_capacity!("calls", "log_stream(\"shop\", \"web-1\", LogStreamOptions::default())");

    /// Calls with an event for which the predicate is true are refused with `InvalidParameterException`.
    ///
    /// The event is the JSON of the request: `stream.poison(|event| event["message"] == "7")`.
    pub fn poison(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.inner.intake.poison.set(predicate);
    }

    /// All events by their times, those of the same millisecond in the order of acceptance.
    pub fn events(&self) -> Vec<LogEvent> {
        let mut events = self.inner.intake.state().kept.clone();
        events.sort_by_key(|event| event.timestamp);
        events
    }
}

impl LogStream {
    /// The name is that of the log group, a colon, and that of the stream, which has no colon.
    pub(crate) fn new(name: &str, options: LogStreamOptions, seed: u64) -> Self {
        let of_machine = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started_at = options.started_at.unwrap_or_else(|| milliseconds(of_machine()));
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                clock: (started_at, Instant::now()),
                retention: options.retention,
                intake: WholeIntake::new(options.capacity, options.counts_only, seed),
            }),
        }
    }

    /// Milliseconds after 1970.
    fn now(&self) -> i64 {
        let (then, at) = self.inner.clock;
        then.saturating_add(milliseconds(at.elapsed()))
    }
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The name of a log stream among those of all log groups. The name of a stream has no colon.
pub(crate) fn full_name(group: &str, stream: &str) -> String {
    format!("{group}:{stream}")
}

pub(crate) fn operate(
    streams: &Registry<LogStream>,
    operation: &str,
    body: Value,
    answered: &AnswerReceipt,
) -> OperationOutcome {
    match operation {
        "PutLogEvents" => put(streams, body, answered).into(),
        _ => Refusal::unknown_operation().into(),
    }
}

fn put(streams: &Registry<LogStream>, mut body: Value, answered: &AnswerReceipt) -> Result<OperationOutcome, Refusal> {
    let name = |member: &str| body[member].as_str().unwrap_or_default();
    let name = full_name(name("logGroupName"), name("logStreamName"));
    let stream = streams.find(&name).ok_or_else(|| {
        let message = "The specified log stream does not exist.";
        Refusal::new("ResourceNotFoundException", message)
    })?;
    let intake = &stream.inner.intake;
    let call = intake.call(answered);
    let Value::Array(events) = body["logEvents"].take() else {
        return Err(intake.refused(invalid("logEvents is missing")));
    };
    let times = check(&stream, &events).map_err(|refusal| intake.refused(refusal))?;
    let rejected = RejectedEvents::of(&stream, &times);
    let kept = events
        .iter()
        .enumerate()
        .map(|(index, event)| rejected.takes(index).then(|| kept(event)));
    let kept = kept.collect();
    let failed = Refusal::new("ServiceUnavailableException", "Simulated failure").status(503);
    Ok(intake
        .admit(&call, &events, kept)
        .outcome(|| rejected.answer(times.len()), throttled(), failed))
}

fn kept(event: &Value) -> LogEvent {
    LogEvent {
        timestamp: event["timestamp"].as_i64().unwrap_or_default(),
        message: event["message"].as_str().unwrap_or_default().to_owned(),
    }
}

/// Refuses the whole call, or returns the time of each event.
fn check(stream: &LogStream, events: &[Value]) -> Result<Vec<i64>, Refusal> {
    if !(1..=MOST_EVENTS).contains(&events.len()) {
        return Err(invalid(
            "1 validation error detected: Value at 'logEvents' failed to satisfy constraint",
        ));
    }
    let size = |event: &Value| OVERHEAD + event["message"].as_str().map_or(0, str::len);
    if events.iter().map(size).sum::<usize>() > LARGEST_CALL {
        return Err(invalid("Upload too large: it exceeds limit of 1048576 bytes"));
    }
    if events
        .iter()
        .any(|event| event["message"].as_str().is_none_or(str::is_empty))
    {
        return Err(invalid("Log event message must not be empty"));
    }
    let times = events
        .iter()
        .map(|event| event["timestamp"].as_i64().filter(|time| *time >= 0));
    let times: Vec<i64> = times
        .collect::<Option<_>>()
        .ok_or_else(|| invalid("Log event must have a timestamp"))?;
    if !times.is_sorted() {
        let message = "Log events in a single PutLogEvents request must be in chronological order.";
        return Err(invalid(message));
    }
    let RejectedEvents { old, new, .. } = RejectedEvents::of(stream, &times);
    if let [first, .., last] = &times[old.min(new)..new]
        && last - first > LONGEST_SPAN
    {
        let message = "The batch of log events in a single PutLogEvents request cannot span more than 24 hours.";
        return Err(invalid(message));
    }
    if events.iter().any(|event| stream.inner.intake.poison.holds(event)) {
        return Err(invalid("The simulator is set to refuse this event."));
    }
    Ok(times)
}

/// Which events of a call are rejected for their times: those before the larger of the first two indices, and those from `new` on.
struct RejectedEvents {
    old: usize,
    expired: usize,
    new: usize,
}

impl RejectedEvents {
    fn of(stream: &LogStream, times: &[i64]) -> Self {
        let now = stream.now();
        let before = |age: Duration| times.partition_point(|time| *time < now.saturating_sub(milliseconds(age)));
        Self {
            old: before(OLDEST),
            expired: stream.inner.retention.map_or(0, before),
            new: times.partition_point(|time| *time <= now.saturating_add(milliseconds(NEWEST))),
        }
    }

    fn takes(&self, index: usize) -> bool {
        index >= self.old && index >= self.expired && index < self.new
    }

    fn answer(&self, events: usize) -> Value {
        let mut rejected = json!({});
        if self.old > 0 {
            rejected["tooOldLogEventEndIndex"] = json!(self.old);
        }
        if self.expired > 0 {
            rejected["expiredLogEventEndIndex"] = json!(self.expired);
        }
        if self.new < events {
            rejected["tooNewLogEventStartIndex"] = json!(self.new);
        }
        let mut answer = json!({"nextSequenceToken": "0"});
        if rejected.as_object().is_some_and(|rejected| !rejected.is_empty()) {
            answer["rejectedLogEventsInfo"] = rejected;
        }
        answer
    }
}

/// The error of a throttled call.
fn throttled() -> Refusal {
    Refusal::new("ThrottlingException", "Rate exceeded")
}

fn invalid(message: &'static str) -> Refusal {
    Refusal::new("InvalidParameterException", message)
}
