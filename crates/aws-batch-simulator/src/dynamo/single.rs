//! `PutItem`, `UpdateItem` and `DeleteItem`.

use serde_json::{Map, Value};

use super::change::{Change, Kind, one_of};
use super::consumed::Consumed;
use super::decision::Decided;
use super::table::{Table, Tables};
use super::throttling::{throttled, throttled_by_fault};
use crate::calls::{CONFLICT, Call, INTERNAL_ERROR, Verdict};
use crate::journal::{Acknowledgement, Answered};
use crate::wire::{Outcome, Refusal};

/// What a call asks for besides its change.
struct Requested<'a> {
    /// The table's name or ARN, as in the request.
    name: &'a str,
    values: Option<&'a str>,
    capacity: Option<&'a str>,
}

pub(super) fn write(tables: &Tables, kind: Kind, body: Value, answered: &Answered) -> Result<Outcome, Refusal> {
    let table = tables.of_request(&body)?;
    let call = table.whole_call(answered);
    let refused = |_: &Refusal| table.with_gate(|gate| gate.statistics.refused_calls += 1);
    let change = check(&table, kind, body).inspect_err(refused)?;
    if let Some(is_applied) = call.fault.replaces_answer() {
        return answer_with_fault(&table, &change, &call, is_applied);
    }
    let decided = table.decide(&change, &call, acknowledgement).inspect_err(refused)?;
    let requested = requested(kind, &change.request)?;
    answer(&table, &change, &call, &decided, &requested)
}

fn check(table: &Table, kind: Kind, body: Value) -> Result<Change, Refusal> {
    requested(kind, &body)?;
    let mut change = Change::parse(kind, body)?;
    change.find_key(table.schema(), table.indexes())?;
    if table.poisons(change.entry()) {
        return Err(poisoned());
    }
    Ok(change)
}

pub(super) fn poisoned() -> Refusal {
    Refusal::validation("One or more parameter values were invalid: the simulator is set to refuse this item")
}

fn requested(kind: Kind, body: &Value) -> Result<Requested<'_>, Refusal> {
    let values = ["ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW", "NONE"];
    let values = one_of(body, "ReturnValues", "returnValues", &values)?;
    if kind != Kind::Update && !matches!(values, None | Some("NONE" | "ALL_OLD")) {
        return Err(Refusal::validation(
            "1 validation error detected: ReturnValues can only be ALL_OLD or NONE",
        ));
    }
    let on_failure = "ReturnValuesOnConditionCheckFailure";
    one_of(
        body,
        on_failure,
        "returnValuesOnConditionCheckFailure",
        &["ALL_OLD", "NONE"],
    )?;
    let capacity = ["INDEXES", "TOTAL", "NONE"];
    Ok(Requested {
        name: body["TableName"].as_str().unwrap_or_default(),
        values,
        capacity: one_of(body, "ReturnConsumedCapacity", "returnConsumedCapacity", &capacity)?,
    })
}

/// What the caller learns about a change: nothing if the status says that the service has failed.
fn acknowledgement(verdict: &Verdict) -> Acknowledgement {
    match (verdict, failure(verdict)) {
        (Verdict::Failed { .. }, Some(refusal)) if refusal.is_of_service() => {
            Acknowledgement::Ambiguous { applied: false }
        }
        _ => verdict.acknowledgement(),
    }
}

/// The error of a change that a fault has caused to fail.
fn failure(verdict: &Verdict) -> Option<Refusal> {
    let Verdict::Failed { code, sender_fault } = verdict else {
        return None;
    };
    Some(match code.as_ref() {
        CONFLICT => Refusal::new("TransactionConflictException", "Transaction is ongoing for the item"),
        INTERNAL_ERROR => internal_error(),
        _ => Refusal::new(code.clone(), "Simulated failure").status(if *sender_fault { 400 } else { 500 }),
    })
}

pub(super) fn internal_error() -> Refusal {
    Refusal::new("InternalServerError", "Internal server error").status(500)
}

/// The answer of a fault. The change may be applied even so.
fn answer_with_fault(table: &Table, change: &Change, call: &Call, is_applied: bool) -> Result<Outcome, Refusal> {
    let fault = call.fault.clone();
    let decided = is_applied.then(|| table.decide(change, call, |verdict| verdict.acknowledgement().without_answer()));
    let skipped = if let Some(Ok(_)) = decided {
        0
    } else {
        table.record_change(change, call, fault.acknowledgement_of_skipped());
        1
    };
    table.with_gate(|gate| gate.count_failed_call(&fault, skipped));
    if fault.is_throttle() {
        return Err(throttled_by_fault(table, &fault));
    }
    Ok(Outcome::Fault(fault))
}

fn answer(
    table: &Table,
    change: &Change,
    call: &Call,
    decided: &Decided,
    requested: &Requested<'_>,
) -> Result<Outcome, Refusal> {
    let Decided { verdict, prepared } = decided;
    match verdict {
        Verdict::Throttled(throttle) => {
            table.with_gate(|gate| gate.statistics.throttled_calls += 1);
            return Err(throttled(table, [*throttle]));
        }
        Verdict::ConditionFailed => {
            let refusal = Refusal::new("ConditionalCheckFailedException", "The conditional request failed");
            let item = prepared.item_before().filter(|_| change.returns_item_of_failure());
            let refusal = match item {
                Some(item) => refusal.with("Item", item),
                None => refusal,
            };
            return Ok(Outcome::refused(refusal, &call.fault));
        }
        _ => {}
    }
    if let Some(refusal) = failure(verdict) {
        if refusal.is_of_service() {
            table.with_gate(|gate| gate.statistics.failed_calls += 1);
        }
        return Err(refusal);
    }
    let mut answer = Map::new();
    let attributes = match requested.values {
        Some("ALL_OLD") => prepared.item_before(),
        Some("ALL_NEW") => prepared.item_after(),
        Some("UPDATED_OLD" | "UPDATED_NEW") => prepared.evaluation.updated.clone(),
        _ => None,
    };
    answer.extend(attributes.map(|attributes| ("Attributes".to_owned(), attributes)));
    if let Some("TOTAL" | "INDEXES") = requested.capacity {
        let used = Consumed::of(table, std::iter::once(&prepared.cost.demand));
        let json = used.to_json(requested.name, table, requested.capacity == Some("INDEXES"));
        answer.insert("ConsumedCapacity".to_owned(), json);
    }
    Ok(Outcome::success(Value::Object(answer), &call.fault))
}
