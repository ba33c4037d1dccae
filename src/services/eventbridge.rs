//! EventBridge: events to one bus by `PutEvents`.

use std::borrow::Cow;

use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::config::Builder;
use aws_sdk_eventbridge::types::{PutEventsRequestEntry, PutEventsResultEntry};
use tracing::{debug, warn};

use super::checks::check_length;
use super::debug::debug_by_name;
use crate::aws::correlate::{by_place, entry_verdict};
use crate::aws::renewal::Changes;
use crate::aws::request::{messaging_span, send, single_attempt};
use crate::aws::{classify, of_named_resources};
use crate::contract::{Acknowledgement, Advice, Answer, BatchTarget, Fault, Limits, Lookup, LookupError, Verdict};
use crate::events::LOOKUP;
use crate::invalid::InvalidEntry;

/// Events in a call. From the API reference of `PutEvents`.
pub const MAX_EVENTS: usize = 10;

/// Bytes of the events of a call, as [`event_size`] counts them: less than 1 MB. From the API reference of `PutEvents`,
/// which does not say whether that is 1,000,000 or 1,048,576.
pub const MAX_BATCH_BYTES: usize = 999_999;

/// Bytes that EventBridge counts for the time of an event. From its user guide, like all of [`event_size`].
const TIME: usize = 14;

/// Characters of a detail type. From the API reference of `PutEventsRequestEntry`. An event with a longer one was accepted and lost when this was tried.
const MAX_DETAIL_TYPE_LENGTH: usize = 128;

/// The code of a bus that does not exist.
const NO_BUS: &str = "ResourceNotFoundException";

/// An event bus to put events on.
///
/// `PutEvents` reports success for a bus that does not exist, and drops the events. So `DescribeEventBus` checks before the
/// first event that the bus exists, and is called until it is answered; if there is no such bus, the delivery stops and
/// hands all events back. It is called again once an hour: events that are put after the bus was deleted are lost until then. If that
/// call is not permitted, a warning is logged and the events are put.
///
/// EventBridge keeps no order. The [`message_id`](Acknowledgement::message_id) of an accepted event is its `EventId`. Which
/// events failed is read from the answer for each event, never from `FailedEntryCount`. An event that names another bus
/// goes to that bus, which is not checked: its fault is that of the event, and stops no other.
///
/// The SDK's retries are off for these calls, because the delivery retries; the rest of the client's configuration applies.
#[derive(Clone)]
pub struct EventBus {
    client: Client,
    changes: Changes<Builder>,
    name: String,
    limits: Limits,
    exists: Lookup<()>,
}

impl EventBus {
    /// The bus with this name or ARN.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_EVENTS`], 10 |
    /// | bytes of a call | [`MAX_BATCH_BYTES`], 999,999 |
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        Self {
            changes: single_attempt!(aws_sdk_eventbridge, client),
            client,
            name: name.into(),
            limits: Limits::new(MAX_EVENTS, MAX_BATCH_BYTES),
            exists: Lookup::by("DescribeEventBus"),
        }
    }

    /// Other limits, for endpoints with lower or higher ones.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The bus without the first part of its ARN, which has the account id.
    fn short_name(&self) -> &str {
        let name = self.name.rsplit_once(":event-bus/");
        name.map_or(&*self.name, |(_, name)| name)
    }

    /// Whether the event names a bus that is not this one.
    fn is_for_another_bus(&self, event: &PutEventsRequestEntry) -> bool {
        event.event_bus_name().is_some_and(|name| name != self.name)
    }

    async fn describe(&self) -> Result<(), LookupError> {
        let call = self.client.describe_event_bus().name(&self.name).customize();
        let described = call.config_override(self.changes.clone()).send().await;
        described.map_err(classify)?;
        Ok(())
    }

    /// Why events must not be put now: the bus does not exist or no longer, or it is not known whether it does.
    fn forbids(&self) -> Option<Fault> {
        let is_unknown = self.exists.get().is_none() && !self.exists.is_denied();
        let fault = self.exists.last_fault()?;
        (is_unknown || fault.code() == NO_BUS).then_some(fault)
    }
}

impl BatchTarget for EventBus {
    type Entry = PutEventsRequestEntry;

    fn name(&self) -> Cow<'_, str> {
        format!("eventbridge/{}", self.short_name()).into()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    async fn prepare(&self) {
        let Err(fault) = self.exists.ask(|| self.describe()).await else {
            return;
        };
        if LookupError::advice(&fault) == Advice::Wait {
            // The delivery stops with this fault.
            return debug!(target: LOOKUP, destination = &*self.name(), code = fault.code(), "no such event bus");
        }
        warn!(
            target: LOOKUP,
            destination = &*self.name(),
            code = fault.code(),
            advice = "allow events:DescribeEventBus, or make sure that the bus exists",
            "it is not known whether the event bus exists: events to one that does not are lost"
        );
    }

    fn preparation_fault(&self) -> Option<Fault> {
        self.exists.missing()
    }

    fn check(&self, event: &PutEventsRequestEntry) -> Result<usize, InvalidEntry> {
        let parts = [
            ("source", event.source()),
            ("detail type", event.detail_type()),
            ("detail", event.detail()),
        ];
        for (part, text) in parts {
            if text.is_none_or(str::is_empty) {
                return Err(InvalidEntry::Missing { part });
            }
        }
        let detail_type = event.detail_type().unwrap_or_default();
        let rule = "of at most 128 characters";
        check_length("detail type", detail_type, MAX_DETAIL_TYPE_LENGTH, rule)?;
        self.limits.check_size("event", event_size(event))
    }

    async fn send(&self, events: &[PutEventsRequestEntry]) -> Answer {
        let of_others = events.iter().filter(|event| self.is_for_another_bus(event)).count();
        if let Some(fault) = self.forbids().filter(|_| of_others < events.len()) {
            return Answer::Stop(fault);
        }
        let events = events.iter().cloned().map(|mut event| {
            event.event_bus_name.get_or_insert_with(|| self.name.clone());
            event
        });
        let events: Vec<_> = events.collect();
        let sent = events.len();
        let span = messaging_span!(
            "EventBridge",
            "aws_eventbridge",
            "PutEvents",
            "send",
            self.short_name(),
            sent
        );
        let call = self.client.put_events().set_entries(Some(events));
        match send!(aws_sdk_eventbridge, call, self.changes, span) {
            Ok(output) => {
                let verdicts = output.entries.unwrap_or_default().into_iter().map(verdict);
                by_place("EventBridge", sent, verdicts)
            }
            Err(error) if of_others > 0 => of_named_resources(classify(error)),
            Err(error) => classify(error),
        }
    }
}

/// Bytes of an event as EventBridge counts them: the UTF-8 of its source, detail type, detail and resources, and 14 for its
/// time.
pub fn event_size(event: &PutEventsRequestEntry) -> usize {
    let texts = [event.source(), event.detail_type(), event.detail()];
    let texts = texts.into_iter().flatten().map(str::len).sum::<usize>();
    let resources = event.resources().iter().map(String::len).sum::<usize>();
    event.time().map_or(0, |_| TIME) + texts + resources
}

fn verdict(answer: PutEventsResultEntry) -> Verdict {
    let accepted = answer.event_id.filter(|id| !id.is_empty());
    let accepted = accepted.map(|id| Acknowledgement {
        message_id: Some(id),
        sequence_number: None,
    });
    entry_verdict(answer.error_code.as_deref(), answer.error_message.as_deref(), accepted)
}

debug_by_name!(EventBus);

#[cfg(test)]
mod tests;
