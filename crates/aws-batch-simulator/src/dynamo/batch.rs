//! `BatchWriteItem`.

use serde_json::{Map, Value, json};

use super::consumed::{ConsumedUnits, add_consumed};
use super::items::Write;
use super::key::KeyType;
use super::request::{TablePart, check, find, find_keys, requests};
use super::table::Table;
use super::tables::Tables;
use super::throttling::{throttled, throttled_by_fault};
use crate::calls::{Call, Verdict};
use crate::fault::InjectedFault;
use crate::journal::AnswerReceipt;
use crate::wire::{OperationOutcome, Refusal};

/// The writes of a call to one table, and the call as the table counts it.
type PartialCall = (TablePart<Vec<Write>>, Call);

/// Of a call without requests. Some regions have another wording.
const NO_REQUESTS: &str = "The requestItems parameter is required for BatchWriteItem";

pub(super) fn write(tables: &Tables, mut body: Value, answered: &AnswerReceipt) -> Result<OperationOutcome, Refusal> {
    let requests = requests(&mut body, NO_REQUESTS)?;
    let found = find(tables, &requests);
    let calls: Vec<Call> = found.iter().flatten().map(|table| table.call(answered)).collect();
    // A value is wrong whatever its table is, even if there is no such table.
    let parts = check(requests, &body).and_then(|lists| parts(lists, found.clone()?));
    let parts = parts.inspect_err(|_| {
        for table in found.iter().flatten() {
            table.with_gate(|gate| gate.statistics.refused_calls += 1);
        }
    })?;
    let parts: Vec<PartialCall> = parts.into_iter().zip(calls).collect();
    let mut faults = parts.iter().map(|(_, call)| &call.fault);
    let replacing = faults.find(|fault| fault.replaces_answer().is_some());
    match replacing.cloned() {
        Some(fault) => answer_with_fault(fault, &parts),
        None => answer(parts, &body),
    }
}

fn parts(lists: Vec<(String, Vec<Write>)>, tables: Vec<Table>) -> Result<Vec<TablePart<Vec<Write>>>, Refusal> {
    let with_tables = lists.into_iter().zip(tables);
    let parts = with_tables.map(|((name, mut entries), table)| {
        find_keys(&table, &mut entries)?;
        Ok(TablePart { name, table, entries })
    });
    parts.collect()
}

/// The answer of a fault. The writes may be applied even so.
fn answer_with_fault(fault: InjectedFault, parts: &[PartialCall]) -> Result<OperationOutcome, Refusal> {
    for (TablePart { table, entries, .. }, call) in parts {
        let skipped = if fault.replaces_answer() == Some(true) {
            table.apply(entries, call, |verdict| verdict.acknowledgement().without_answer());
            0
        } else {
            table.record(entries, call, fault.acknowledgement_of_skipped());
            entries.len()
        };
        table.with_gate(|gate| gate.count_failed_call(&fault, skipped));
    }
    match parts.first() {
        Some((TablePart { table, .. }, _)) if fault.is_throttle() => Err(throttled_by_fault(table, &fault)),
        _ => Ok(OperationOutcome::Fault(fault)),
    }
}

fn answer(parts: Vec<PartialCall>, body: &Value) -> Result<OperationOutcome, Refusal> {
    let requested = body["ReturnConsumedCapacity"].as_str();
    let mut consumed = Vec::new();
    let mut decided = Vec::with_capacity(parts.len());
    for (part, call) in parts {
        let (verdicts, demands) = part.table.apply(&part.entries, &call, Verdict::acknowledgement);
        let applied = demands.iter().zip(&verdicts);
        let applied = applied.filter(|(_, verdict)| verdict.is_applied());
        let used = ConsumedUnits::of(&part.table, applied.map(|(demand, _)| demand));
        consumed.push(used.to_json(&part.name, &part.table, requested == Some("INDEXES")));
        decided.push((part, call, verdicts));
    }

    let mut verdicts = decided.iter().flat_map(|(_, _, verdicts)| verdicts);
    if verdicts.all(Verdict::is_throttled) {
        for (part, ..) in &decided {
            part.table.with_gate(|gate| gate.statistics.throttled_calls += 1);
        }
        if let Some((part, _, verdicts)) = decided.first() {
            let throttles = verdicts.iter().filter_map(|verdict| match verdict {
                Verdict::Throttled(throttle) => Some(*throttle),
                _ => None,
            });
            return Err(throttled(&part.table, throttles));
        }
    }

    let mut unprocessed = Map::new();
    for (part, call, verdicts) in decided {
        let mut rest: Vec<Value> = part
            .entries
            .into_iter()
            .zip(&verdicts)
            .filter(|(_, verdict)| !verdict.is_applied())
            .map(|(write, _)| write.into_request())
            .collect();
        match call.fault {
            InjectedFault::Repeated(_) => rest.extend_from_within(..),
            InjectedFault::Unknown(count) => rest.extend((0..count).map(|number| never_sent(&part.table, number))),
            _ => {}
        }
        if !rest.is_empty() {
            unprocessed.insert(part.name, Value::Array(rest));
        }
    }
    let mut answer = json!({"UnprocessedItems": unprocessed});
    add_consumed(&mut answer, requested, |_| Value::Array(consumed));
    Ok(OperationOutcome::Success(answer))
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
