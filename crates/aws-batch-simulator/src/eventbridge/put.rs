//! `PutEvents`.

use serde_json::{Value, json};

use super::bus::{Buses, EventBus, bus_name};
use crate::calls::Call;
use crate::fault::InjectedFault;
use crate::intake::{Entry, EntryResult, ErrorText, acknowledged_by_place, by_place, entries_of};
use crate::journal::AnswerReceipt;
use crate::wire::{OperationOutcome, Refusal};

/// Events in a call at most. From the API reference of `PutEvents`.
const MOST_EVENTS: usize = 10;
/// The first size of a call that is too large, in bytes. From the API reference of `PutEvents`: less than 1 MB.
const TOO_LARGE: usize = 1_000_000;
/// Bytes that are counted for the time of an event. From the user guide of EventBridge.
const TIME: usize = 14;

/// The error of throttled events and calls.
const THROTTLED: ErrorText = ("ThrottlingException", "Rate exceeded");

/// The events of a call to one bus.
struct BusPart {
    bus: EventBus,
    places: Vec<usize>,
    call: Call,
}

pub(super) fn put(buses: &Buses, mut body: Value, answered: &AnswerReceipt) -> OperationOutcome {
    let events = body.get_mut("Entries").map_or(Value::Null, Value::take);
    let parts = split(buses, &events, answered);
    let events = match check(events) {
        Ok(events) => events,
        Err(refusal) => {
            for part in &parts {
                part.bus.intake().count_refused_call();
            }
            return refusal.into();
        }
    };
    let bus_of = |place| {
        parts
            .iter()
            .find(|part| part.places.contains(&place))
            .map(|part| &part.bus)
    };
    let events = events.into_iter().enumerate();
    let events: Vec<Entry> = events.map(|(place, event)| entry(event, bus_of(place))).collect();
    let fault = parts.first().map_or(&InjectedFault::None, |part| &part.call.fault);
    let mut results: Vec<EntryResult> = events.iter().map(without_bus).collect();
    let mut rest = fault.clone();
    for BusPart { bus, places, call } in &parts {
        let of_bus: Vec<&Entry> = places.iter().map(|place| &events[*place]).collect();
        let good = of_bus.iter().filter(|event| event.failure.is_none()).count();
        let mut call = call.clone();
        call.fault = rest.clone();
        rest = rest.after(good);
        // A fault that replaces the answer is the same for all parts.
        if let Ok(of_bus) = bus.intake().admit(&call, &of_bus, acknowledged_by_place(fault)) {
            for (place, result) in places.iter().zip(of_bus) {
                results[*place] = result;
            }
        }
    }
    if fault.replaces_answer().is_some() {
        return OperationOutcome::Fault(fault.clone());
    }
    let accepted = |_: &Entry, number| json!({"EventId": format!("00000000-0000-4000-a000-{number:012x}")});
    let (entries, failed) = by_place(&events, results, fault, THROTTLED, accepted);
    OperationOutcome::Success(json!({"FailedEntryCount": failed, "Entries": entries}))
}

/// The error of a call that is throttled as a whole.
pub(super) fn throttled() -> Refusal {
    Refusal::new(THROTTLED.0, THROTTLED.1)
}

/// An event for a bus that does not exist is accepted, and lost.
fn without_bus(event: &Entry) -> EntryResult {
    match &event.failure {
        Some(refusal) => EntryResult::Refused(refusal.clone()),
        None => EntryResult::Accepted(0),
    }
}

/// The existing buses that the events are for, in the order of the events. The fault of the call is that of the first bus.
fn split(buses: &Buses, events: &Value, answered: &AnswerReceipt) -> Vec<BusPart> {
    let mut parts: Vec<BusPart> = Vec::new();
    for (place, event) in events.as_array().into_iter().flatten().enumerate() {
        let name = bus_name(&event["EventBusName"]);
        if let Some(part) = parts.iter_mut().find(|part| part.bus.name() == name) {
            part.places.push(place);
        } else if let Some(bus) = buses.find(name) {
            let call = match parts.first() {
                Some(first) => bus.intake().state().gate.join(&first.call),
                None => bus.intake().call(answered),
            };
            let places = vec![place];
            parts.push(BusPart { bus, places, call });
        }
    }
    parts
}

/// Refuses the whole call.
fn check(events: Value) -> Result<Vec<Value>, Refusal> {
    let events = entries_of(events, "entries", MOST_EVENTS)?;
    if events.iter().map(size_of).sum::<usize>() >= TOO_LARGE {
        return Err(Refusal::new(
            "ValidationException",
            "Total size of the entries in the request is over the limit.",
        ));
    }
    Ok(events)
}

/// An event for a bus, if the bus exists, with the reason why this event alone fails.
fn entry(event: Value, bus: Option<&EventBus>) -> Entry {
    let failure = failure(&event).or_else(|| {
        let fails = bus.is_some_and(|bus| bus.intake().poison.holds(&event));
        fails.then(|| {
            let message = "The simulator is set to refuse this event.";
            Refusal::new("NotAuthorizedForSourceException", message)
        })
    });
    let bytes = size_of(&event);
    Entry {
        failure,
        ..Entry::new(event, bytes)
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
    if event["Source"]
        .as_str()
        .is_some_and(|source| source.starts_with("aws."))
    {
        return Some(Refusal::new(
            "NotAuthorizedForSourceException",
            "Not authorized for the source.",
        ));
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
