//! `PutItem`, `UpdateItem` and `DeleteItem`.

use serde_json::{Value, json};

use super::change::{CAPACITY, Change, ChangeKind, problem_of_enum};
use super::consumed::{ConsumedUnits, add_consumed};
use super::decision::DecidedChange;
use super::expressions;
use super::request::METRICS;
use super::table::Table;
use super::tables::{Tables, not_found};
use super::throttling::{throttled, throttled_by_fault};
use super::wording::{Wording, invalid_member, invalid_members};
use crate::calls::{CONFLICT, Call, INTERNAL_ERROR, Verdict};
use crate::journal::{Acknowledgement, AnswerReceipt};
use crate::wire::{OperationOutcome, Refusal};

/// What a call asks for in addition to its change.
struct CallOptions<'a> {
    /// The table's name or ARN, as in the request.
    name: &'a str,
    values: Option<&'a str>,
    capacity: Option<&'a str>,
}

pub(super) fn write(
    tables: &Tables,
    kind: ChangeKind,
    body: Value,
    answered: &AnswerReceipt,
) -> Result<OperationOutcome, Refusal> {
    let found = tables.maybe_of_request(&body)?;
    let call = found
        .as_ref()
        .map(|table| table.with_gate(|gate| gate.whole_call(answered)));
    let refused = |_: &Refusal| {
        if let Some(table) = &found {
            table.with_gate(|gate| gate.statistics.refused_calls += 1);
        }
    };
    // A value is wrong whatever the table is, even if there is no such table.
    let mut change = check(kind, body).inspect_err(refused)?;
    let (Some(table), Some(call)) = (found.clone(), call) else {
        return Err(expressions::check(&change).err().unwrap_or_else(not_found));
    };
    let fitting = fit(&table, &mut change);
    // Expressions are checked again with the item. A wrong one comes before a wrong key.
    let fitting = fitting.map_err(|problem| expressions::check(&change).err().unwrap_or(problem));
    fitting.inspect_err(refused)?;
    if let Some(is_applied) = call.fault.replaces_answer() {
        return answer_with_fault(&table, &change, &call, is_applied);
    }
    let decided = table.decide(&change, &call, acknowledgement).inspect_err(refused)?;
    let requested = requested(kind, &change.request)?;
    answer(&table, &change, &decided, &requested)
}

fn check(kind: ChangeKind, body: Value) -> Result<Change, Refusal> {
    requested(kind, &body)?;
    Change::parse(kind, body, Wording::Member)
}

/// Finds the key of a change, and checks that it fits the table.
fn fit(table: &Table, change: &mut Change) -> Result<(), Refusal> {
    change.find_key(table)?;
    if table.poisons(change.entry()) {
        return Err(poisoned());
    }
    Ok(())
}

pub(super) fn poisoned() -> Refusal {
    Refusal::validation("One or more parameter values were invalid: the simulator is set to refuse this item")
}

fn requested(kind: ChangeKind, body: &Value) -> Result<CallOptions<'_>, Refusal> {
    // The service names neither the member nor its value, and one of the allowed values wrongly.
    let of_values = problem_of_enum(body, "ReturnValues", &VALUES)?.map(|_| {
        "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
            .to_owned()
    });
    // An update stops there.
    if let Some(problem) = of_values.as_ref().filter(|_| kind == ChangeKind::Update) {
        return Err(invalid_member(problem));
    }
    let problems = [
        problem_of_enum(body, "ReturnConsumedCapacity", &CAPACITY)?,
        of_values,
        problem_of_enum(body, "ReturnItemCollectionMetrics", &METRICS)?,
        problem_of_enum(body, "ReturnValuesOnConditionCheckFailure", &["ALL_OLD", "NONE"])?,
    ];
    invalid_members(&problems.into_iter().flatten().collect::<Vec<_>>())?;
    let values = body["ReturnValues"].as_str();
    if kind != ChangeKind::Update && !matches!(values, None | Some("NONE" | "ALL_OLD")) {
        return Err(invalid_member("ReturnValues can only be ALL_OLD or NONE"));
    }
    Ok(CallOptions {
        name: body["TableName"].as_str().unwrap_or_default(),
        values,
        capacity: body["ReturnConsumedCapacity"].as_str(),
    })
}

const VALUES: [&str; 5] = ["ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW", "NONE"];

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
fn answer_with_fault(
    table: &Table,
    change: &Change,
    call: &Call,
    is_applied: bool,
) -> Result<OperationOutcome, Refusal> {
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
    Ok(OperationOutcome::Fault(fault))
}

fn answer(
    table: &Table,
    change: &Change,
    decided: &DecidedChange,
    requested: &CallOptions<'_>,
) -> Result<OperationOutcome, Refusal> {
    let DecidedChange { verdict, prepared } = decided;
    match verdict {
        Verdict::Throttled(throttle) => {
            table.with_gate(|gate| gate.statistics.throttled_calls += 1);
            return Err(throttled(table, [*throttle]));
        }
        Verdict::ConditionFailed => {
            let refusal = Refusal::new("ConditionalCheckFailedException", "The conditional request failed");
            let item = prepared.item_before().filter(|_| change.returns_item_of_failure());
            let refusal = match item {
                Some(item) => refusal.capital_message().with("Item", item),
                None => refusal,
            };
            return Err(refusal);
        }
        _ => {}
    }
    if let Some(refusal) = failure(verdict) {
        if refusal.is_of_service() {
            table.with_gate(|gate| gate.statistics.failed_calls += 1);
        }
        return Err(refusal);
    }
    let mut answer = json!({});
    let attributes = match requested.values {
        Some("ALL_OLD") => prepared.item_before(),
        Some("ALL_NEW") => prepared.item_after(),
        Some("UPDATED_OLD" | "UPDATED_NEW") => prepared.evaluation.updated.clone(),
        _ => None,
    };
    if let Some(attributes) = attributes {
        answer["Attributes"] = attributes;
    }
    add_consumed(&mut answer, requested.capacity, |with_indexes| {
        let used = ConsumedUnits::of(table, std::iter::once(&prepared.cost.demand));
        used.to_json(requested.name, table, with_indexes)
    });
    Ok(OperationOutcome::Success(answer))
}
