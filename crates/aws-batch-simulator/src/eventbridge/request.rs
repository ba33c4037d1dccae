//! Checks events as EventBridge does.

use serde_json::Value;

use super::bus::EventBus;
use crate::intake::Arrival;
use crate::wire::Refusal;

/// Events in a call at most. From the API reference of `PutEvents`.
const MOST_EVENTS: usize = 10;
/// The first size of a call that is too large, in bytes. From the API reference of `PutEvents`: less than 1 MB.
const TOO_LARGE: usize = 1_000_000;
/// Bytes that are counted for the time of an event. From the user guide of EventBridge.
const TIME: usize = 14;

/// Refuses the whole call.
pub(super) fn check(events: Value) -> Result<Vec<Value>, Refusal> {
    let invalid = |message: String| Refusal::new("ValidationException", message);
    let events = match events {
        Value::Array(events) if (1..=MOST_EVENTS).contains(&events.len()) => events,
        _ => {
            return Err(invalid(format!(
                "1 validation error detected: Value at 'entries' failed to satisfy constraint: Member must have length less \
                 than or equal to {MOST_EVENTS} and greater than or equal to 1"
            )));
        }
    };
    if events.iter().map(size_of).sum::<usize>() >= TOO_LARGE {
        return Err(invalid(
            "Total size of the entries in the request is over the limit.".to_owned(),
        ));
    }
    Ok(events)
}

/// An event for a bus, if the bus exists, with the reason why this event alone fails.
pub(super) fn arrival(event: Value, bus: Option<&EventBus>) -> Arrival {
    let failure = failure(&event).or_else(|| {
        let poisons = bus.is_some_and(|bus| bus.intake().poison.holds(&event));
        poisons.then(|| {
            let message = "The simulator is set to refuse this event.";
            Refusal::new("NotAuthorizedForSourceException", message)
        })
    });
    let bytes = size_of(&event);
    Arrival {
        failure,
        ..Arrival::new(event, bytes)
    }
}

fn failure(event: &Value) -> Option<Refusal> {
    let missing = ["Source", "DetailType", "Detail"]
        .into_iter()
        .find(|part| event[part].as_str().is_none_or(str::is_empty));
    if let Some(part) = missing {
        let message = format!("Parameter {part} is not valid. Reason: {part} is a required argument.");
        return Some(Refusal::new("InvalidArgument", message));
    }
    let detail = event["Detail"].as_str().unwrap_or_default();
    let is_object = serde_json::from_str(detail).is_ok_and(|detail: Value| detail.is_object());
    (!is_object).then(|| Refusal::new("MalformedDetail", "Detail is malformed."))
}

fn size_of(event: &Value) -> usize {
    let text = |value: &Value| value.as_str().map_or(0, str::len);
    let resources = event["Resources"].as_array().into_iter().flatten();
    let time = if event["Time"].is_null() { 0 } else { TIME };
    time + text(&event["Source"])
        + text(&event["DetailType"])
        + text(&event["Detail"])
        + resources.map(text).sum::<usize>()
}
