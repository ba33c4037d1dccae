//! `PutEvents`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::bus::EventBus;
use super::request::{arrival, check};
use super::{DEFAULT, THROTTLED, short};
use crate::Inner;
use crate::fault::InjectedFault;
use crate::intake::{Arrival, Call, Fate, acknowledged_by_place, by_place};
use crate::journal::Heard;
use crate::wire::Outcome;

/// The events of a call to one bus.
struct Part {
    bus: EventBus,
    places: Vec<usize>,
    call: Call,
}

pub(super) fn put(simulator: &Arc<Inner>, mut body: Value, heard: &Heard) -> Outcome {
    let events = body.get_mut("Entries").map_or(Value::Null, Value::take);
    let parts = split(simulator, &events, heard);
    let events = match check(events) {
        Ok(events) => events,
        Err(refusal) => {
            for part in &parts {
                part.bus.intake().refused();
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
    let arrivals: Vec<Arrival> = events.map(|(place, event)| arrival(event, bus_of(place))).collect();
    let fault = parts
        .first()
        .map_or(&InjectedFault::None, |part| &part.call.strike.fault);
    let mut fates: Vec<Fate> = arrivals.iter().map(without_bus).collect();
    for Part { bus, places, call } in &parts {
        let of_bus: Vec<&Arrival> = places.iter().map(|place| &arrivals[*place]).collect();
        // A fault that replaces the answer is the same for all parts.
        if let Ok(of_bus) = bus.intake().admit(call, &of_bus, acknowledged_by_place(fault)) {
            for (place, fate) in places.iter().zip(of_bus) {
                fates[*place] = fate;
            }
        }
    }
    if fault.replaces_answer().is_some() {
        return Outcome::Struck(fault.clone());
    }
    let (entries, failed) = by_place(
        &arrivals,
        fates,
        fault,
        THROTTLED,
        |_, number| json!({"EventId": format!("00000000-0000-4000-a000-{number:012x}")}),
    );
    let answer = json!({"FailedEntryCount": failed, "Entries": entries});
    match fault {
        InjectedFault::Slow(delay) => Outcome::Late(answer, *delay),
        _ => Outcome::Success(answer),
    }
}

/// An event for a bus that does not exist is accepted, and lost.
fn without_bus(arrival: &Arrival) -> Fate {
    match &arrival.failure {
        Some(refusal) => Fate::Refused(refusal.clone()),
        None => Fate::Taken(0),
    }
}

/// The existing buses that the events are for, in the order of the events. The fault of the call is that of the first bus.
fn split(simulator: &Inner, events: &Value, heard: &Heard) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (place, event) in events.as_array().into_iter().flatten().enumerate() {
        let name = short(event["EventBusName"].as_str().unwrap_or(DEFAULT));
        if let Some(part) = parts.iter_mut().find(|part| part.bus.name() == name) {
            part.places.push(place);
        } else if let Some(bus) = simulator.buses.find(name) {
            let call = match parts.first() {
                Some(first) => bus.intake().also_called(first.call.strike.clone(), heard),
                None => bus.intake().call(heard),
            };
            let places = vec![place];
            parts.push(Part { bus, places, call });
        }
    }
    parts
}
