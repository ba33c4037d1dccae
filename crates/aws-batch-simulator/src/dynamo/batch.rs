//! `BatchWriteItem`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::key::KeyType;
use super::request::{Part, Write, check, split};
use super::table::Table;
use super::throttling::throttled;
use crate::Inner;
use crate::admission::{Throttle, ThroughputLimit};
use crate::fault::InjectedFault;
use crate::gate::{Passage, Strike};
use crate::journal::{Acknowledgement, CallMark, Heard};
use crate::wire::Outcome;

/// The writes of a call to one table, and the fault of the call.
struct Arrival {
    part: Part<Vec<Write>>,
    mark: CallMark,
    strike: Strike,
}

pub(super) fn write(simulator: &Arc<Inner>, mut body: Value, heard: &Heard) -> Outcome {
    let parts = match split(simulator, &mut body) {
        Ok(parts) => parts,
        Err(refusal) => return refusal.into(),
    };
    let arrivals: Vec<_> = parts.iter().map(|part| part.table.strike(heard)).collect();
    let tables: Vec<Table> = parts.iter().map(|part| part.table.clone()).collect();
    let arrivals: Vec<Arrival> = match check(parts) {
        Ok(parts) => parts
            .into_iter()
            .zip(arrivals)
            .map(|(part, (mark, strike))| Arrival { part, mark, strike })
            .collect(),
        Err(refusal) => {
            for table in tables {
                table.count(|statistics| statistics.refused_calls += 1);
            }
            return refusal.into();
        }
    };
    let mut struck = arrivals.iter().map(|arrival| &arrival.strike.fault);
    let replacing = struck.find(|fault| fault.replaces_answer().is_some());
    match replacing.cloned() {
        Some(fault) => answer_with(fault, &arrivals),
        None => answer(arrivals, &body),
    }
}

/// The answer of a fault. The writes may be applied even so.
fn answer_with(fault: InjectedFault, arrivals: &[Arrival]) -> Outcome {
    let is_throttle = fault.is_throttle();
    for Arrival { part, mark, strike } in arrivals {
        let Part { table, writes, .. } = part;
        if fault.replaces_answer() == Some(true) {
            table.apply(writes, mark, strike, |passage| Acknowledgement::Ambiguous {
                applied: passage.is_applied(),
            });
        } else {
            let acknowledgement = if fault.is_clear_refusal() {
                Acknowledgement::Rejected
            } else {
                Acknowledgement::Ambiguous { applied: false }
            };
            table.skip(writes, mark, acknowledgement);
        }
        table.count(|statistics| {
            let entries = writes.len() as u64;
            match (is_throttle, fault.replaces_answer()) {
                (true, _) => {
                    statistics.throttled_calls += 1;
                    statistics.throttled += entries;
                }
                (false, Some(true)) => statistics.failed_calls += 1,
                _ => {
                    statistics.failed_calls += 1;
                    statistics.failed += entries;
                }
            }
        });
    }
    match (is_throttle, arrivals.first()) {
        (true, Some(arrival)) => {
            let limit = match fault {
                InjectedFault::AccountLimit => ThroughputLimit::Account,
                _ if arrival.part.table.is_on_demand() => ThroughputLimit::KeyRange,
                _ => ThroughputLimit::Provisioned,
            };
            throttled(&arrival.part.table, [Throttle { index: None, limit }]).into()
        }
        _ => Outcome::Struck(fault),
    }
}

fn answer(arrivals: Vec<Arrival>, body: &Value) -> Outcome {
    let asked = body["ReturnConsumedCapacity"].as_str();
    let mut consumed = Vec::new();
    let sifted: Vec<(Arrival, Vec<Passage>)> = arrivals
        .into_iter()
        .map(|arrival| {
            let Arrival { part, mark, strike } = &arrival;
            let (passages, used) = part.table.apply(&part.writes, mark, strike, |passage| {
                if passage.is_applied() {
                    Acknowledgement::Accepted
                } else {
                    Acknowledgement::Rejected
                }
            });
            consumed.push(used.to_json(&part.name, &part.table, asked == Some("INDEXES")));
            (arrival, passages)
        })
        .collect();

    let mut passages = sifted.iter().flat_map(|(_, passages)| passages);
    if passages.all(|passage| matches!(passage, Passage::Throttled(_))) {
        for (arrival, _) in &sifted {
            arrival.part.table.count(|statistics| statistics.throttled_calls += 1);
        }
        if let Some((arrival, passages)) = sifted.first() {
            let throttles = passages.iter().filter_map(|passage| match passage {
                Passage::Throttled(throttle) => Some(*throttle),
                _ => None,
            });
            return throttled(&arrival.part.table, throttles).into();
        }
    }

    let mut unprocessed = Map::new();
    let mut late = None;
    for (Arrival { part, strike, .. }, passages) in sifted {
        let mut rest: Vec<Value> = part
            .writes
            .into_iter()
            .zip(&passages)
            .filter(|(_, passage)| !passage.is_applied())
            .map(|(write, _)| write.into_request())
            .collect();
        match strike.fault {
            InjectedFault::Repeated(_) => rest.extend_from_within(..),
            InjectedFault::Unknown(count) => rest.extend((0..count).map(|number| never_sent(&part.table, number))),
            InjectedFault::Slow(delay) => late = late.max(Some(delay)),
            _ => {}
        }
        if !rest.is_empty() {
            unprocessed.insert(part.name, Value::Array(rest));
        }
    }
    let mut answer = json!({"UnprocessedItems": unprocessed});
    if let Some("TOTAL" | "INDEXES") = asked {
        answer["ConsumedCapacity"] = Value::Array(consumed);
    }
    match late {
        Some(delay) => Outcome::Late(answer, delay),
        None => Outcome::Success(answer),
    }
}

/// A put with a key that no request has named.
fn never_sent(table: &Table, number: usize) -> Value {
    let attributes = table.schema().attributes().map(|(name, kind)| {
        let value = match kind {
            KeyType::S => format!("never sent {number}"),
            KeyType::N => format!("-9999999999999{number}"),
            // The length of unpadded Base64 is a multiple of four.
            KeyType::B => format!("bmV2ZXIgc2Vu{number:04}"),
        };
        (name.clone(), json!({kind.tag(): value}))
    });
    let item: Map<String, Value> = attributes.collect();
    json!({"PutRequest": {"Item": item}})
}
