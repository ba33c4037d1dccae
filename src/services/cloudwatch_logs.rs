//! CloudWatch Logs: events to one log stream by `PutLogEvents`.

use std::borrow::Cow;

use aws_sdk_cloudwatchlogs::Client;
use aws_sdk_cloudwatchlogs::config::Builder;
use aws_sdk_cloudwatchlogs::operation::RequestId;
use aws_sdk_cloudwatchlogs::types::{InputLogEvent, RejectedLogEventsInfo};

use super::debug::debug_by_name;
use crate::aws::classify;
use crate::aws::correlate::{UNITS_OF_CALL, of_whole_call};
use crate::aws::renewal::Changes;
use crate::aws::request::{request_span, send, single_attempt};
use crate::aws::whole_body::WholeBody;
use crate::contract::{Answer, BatchTarget, Fault, Lane, Limits, Verdict};
use crate::invalid::InvalidEntry;

/// Events in a call. From the API reference of `PutLogEvents`.
pub const MAX_EVENTS: usize = 10_000;

/// Bytes of a call, as [`event_size`] counts its events: 1 MiB. From the API reference of `PutLogEvents`.
pub const MAX_BATCH_BYTES: usize = 1_048_576;

/// Bytes that CloudWatch Logs counts for an event in addition to its message. From the API reference of `PutLogEvents`.
const EVENT_OVERHEAD: usize = 26;

/// Milliseconds between the first and the last event of a call at most: 24 hours. From the API reference of `PutLogEvents`.
const LONGEST_SPAN: u64 = 24 * 60 * 60 * 1_000;

/// A log stream to put events into. It and its log group must exist: if they do not, the delivery stops.
///
/// Events that CloudWatch Logs does not take because of their time, more than 14 days or the retention of the log group back, or more
/// than 2 hours ahead, are handed back with the fault `TooOldLogEvent`, `ExpiredLogEvent` or `TooNewLogEvent`; the others of their call
/// are in the stream.
///
/// # Order
/// The events of a call are sent in the order of their times, as `PutLogEvents` requires, and those of the same millisecond in the
/// order of the input. At most one call is in flight, so that this is also the order of events of different calls, such as the lines of
/// a stack trace. [`unordered`](Self::unordered) lifts that; the stream shows events by their times all the same.
///
/// A call must not span more than 24 hours. Events that were read together and lie further apart are halved, without a call, until
/// each part is short enough. So input that is sorted by time, file by file, needs no more calls than its days; input that mixes days
/// line by line needs a call for nearly every event.
///
/// # When the answer is lost
/// The events are put again, and may be in the stream twice: CloudWatch Logs neither recognizes them nor gives them ids. An answer
/// without a request id does not come from CloudWatch Logs, and leaves the events in doubt.
///
/// # Capacity
/// CloudWatch Logs limits the calls of an account in a second, whatever they carry: from "CloudWatch Logs quotas". So the pace counts
/// calls, and full calls cost least.
///
/// The SDK's retries are off for these calls, because the delivery retries; the rest of the client's configuration applies.
#[derive(Clone)]
#[must_use]
pub struct LogStream {
    client: Client,
    changes: Changes<Builder>,
    group: String,
    stream: String,
    limits: Limits,
    is_ordered: bool,
}

impl LogStream {
    /// The log stream with this name, of the log group with this name.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_EVENTS`], 10,000 |
    /// | bytes of a call, and of an event | [`MAX_BATCH_BYTES`], 1,048,576; it was 256 KiB for an event until April 2025 |
    pub fn new(client: Client, group: impl Into<String>, stream: impl Into<String>) -> Self {
        // An answer that names no rejected events may have no members.
        let changes = single_attempt!(aws_sdk_cloudwatchlogs, client, Some(WholeBody::Json));
        Self {
            changes,
            client,
            group: group.into(),
            stream: stream.into(),
            limits: Limits::new(MAX_EVENTS, MAX_BATCH_BYTES),
            is_ordered: true,
        }
    }

    /// Several calls are in flight at once, for streams of more than a call takes, 1 MiB or 10,000 events, in each round trip. Events
    /// of the same millisecond that are in different calls may then be in any order.
    pub fn unordered(mut self) -> Self {
        self.is_ordered = false;
        self
    }

    /// Other limits, for endpoints with lower or higher ones.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl BatchTarget for LogStream {
    type Entry = InputLogEvent;

    fn name(&self) -> Cow<'_, str> {
        format!("logs/{}/{}", self.group, self.stream).into()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn check(&self, event: &InputLogEvent) -> Result<usize, InvalidEntry> {
        if event.message().is_empty() {
            return Err(InvalidEntry::Missing { part: "message" });
        }
        if event.timestamp() < 0 {
            return Err(InvalidEntry::OutOfRange {
                part: "timestamp in milliseconds",
                low: 0,
                high: i64::MAX,
                actual: event.timestamp(),
            });
        }
        self.limits.check_size("event", event_size(event))
    }

    fn lane(&self, _: &InputLogEvent) -> Option<Lane> {
        self.is_ordered.then(|| Lane::ordered(""))
    }

    async fn send(&self, events: &[InputLogEvent]) -> Answer {
        let places = by_time(events);
        if spans_too_long(&places, events) {
            return Answer::Whole(Verdict::Refused(Fault::new("events of more than 24 hours")));
        }
        let sorted = places.iter().map(|place| events[*place].clone()).collect();
        let span = request_span!(
            "CloudWatch Logs",
            "PutLogEvents",
            aws.log.group.names = &*self.group,
            aws.log.stream.names = &*self.stream,
            aws.log.event_count = events.len(),
        );
        let call = self
            .client
            .put_log_events()
            .log_group_name(&self.group)
            .log_stream_name(&self.stream)
            .set_log_events(Some(sorted));
        match send!(aws_sdk_cloudwatchlogs, call, self.changes, span) {
            Ok(output) => match (of_whole_call(output.request_id()), output.rejected_log_events_info()) {
                (Answer::Whole(Verdict::Accepted), Some(rejected)) => each(&places, rejected),
                (answer, _) => answer,
            },
            Err(error) => classify(error),
        }
    }

    /// The call counts, whatever it carries.
    async fn send_metered(&self, events: &[InputLogEvent]) -> (Answer, Option<f64>) {
        (self.send(events).await, Some(UNITS_OF_CALL))
    }
}

/// Bytes of an event as CloudWatch Logs counts them: the UTF-8 of its message, and 26.
pub fn event_size(event: &InputLogEvent) -> usize {
    event.message().len() + EVENT_OVERHEAD
}

/// The places of the events in the order of their times.
fn by_time(events: &[InputLogEvent]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..events.len()).collect();
    places.sort_by_key(|place| events[*place].timestamp());
    places
}

fn spans_too_long(places: &[usize], events: &[InputLogEvent]) -> bool {
    let (Some(first), Some(last)) = (places.first(), places.last()) else {
        return false;
    };
    events[*last].timestamp().abs_diff(events[*first].timestamp()) > LONGEST_SPAN
}

/// The verdict for each event of a call whose events were sent in the order of these places, some of which were rejected for their
/// times. They are those before an index or from an index on, in the order sent.
fn each(places: &[usize], rejected: &RejectedLogEventsInfo) -> Answer {
    let before = |end: Option<i32>| usize::try_from(end.unwrap_or(0)).unwrap_or(0);
    let too_old = before(rejected.too_old_log_event_end_index());
    let expired = before(rejected.expired_log_event_end_index());
    let too_new = rejected.too_new_log_event_start_index();
    let too_new = too_new.map_or(usize::MAX, |start| usize::try_from(start).unwrap_or(0));
    let mut verdicts = vec![Verdict::Accepted; places.len()];
    for (index, place) in places.iter().enumerate() {
        let code = match index {
            _ if index < too_old => "TooOldLogEvent",
            _ if index < expired => "ExpiredLogEvent",
            _ if index >= too_new => "TooNewLogEvent",
            _ => continue,
        };
        verdicts[*place] = Verdict::Refused(Fault::new(code));
    }
    Answer::Each(verdicts)
}

debug_by_name!(LogStream);

#[cfg(test)]
mod tests;
