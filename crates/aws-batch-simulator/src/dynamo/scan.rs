//! `Scan`: pages of a table or of one of its segments.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::change::one_of;
use super::consumed::read_units;
use super::evaluation::Failure;
use super::get::exceeded;
use super::items::Page;
use super::key::place_of_key;
use super::single::internal_error;
use super::table::Table;
use super::tables::Tables;
use super::throttling::throttled_read;
use super::value::unexpected;
use crate::admission::{Demand, Place, Throttle, ThroughputLimit};
use crate::calls::{Call, Cost, Verdict};
use crate::fault::InjectedFault;
use crate::journal::Answered;
use crate::wire::{Outcome, Refusal};

/// A page ends after this many bytes: 1 MB.
pub(super) const LARGEST_PAGE: usize = 1_048_576;

/// Segments of a scan at most.
const MOST_SEGMENTS: u64 = 1_000_000;

/// Members that the simulator does not know. An answer without their effect would be wrong.
const UNKNOWN: [&str; 4] = ["IndexName", "AttributesToGet", "ScanFilter", "ConditionalOperator"];

/// What a call asks for.
struct Requested {
    /// Items at most, before the filter.
    most: usize,
    /// The key after which the page begins.
    after: Option<String>,
    /// The hashes of the partition keys of the segment.
    hashes: RangeInclusive<u64>,
    is_consistent: bool,
    is_count: bool,
    returns_capacity: bool,
}

pub(super) fn scan(tables: &Tables, body: &Value, answered: &Answered) -> Result<Outcome, Refusal> {
    let table = tables.of_request(body)?;
    let call = table.reads().call(answered);
    let requested = requested(&table, body).inspect_err(|_| table.count_refused_read())?;
    if let Some(ended) = ended_by_fault(&table, &call.fault) {
        return ended;
    }
    let page = table.page(
        &requested.hashes,
        requested.after.as_deref(),
        requested.most,
        LARGEST_PAGE,
    );
    // A page lies in the partitions from its first item on; the first of them decides.
    let first = page.items.first().and_then(Value::as_object);
    let place = first.and_then(|item| table.schema().place(item));
    let cost = Cost {
        demand: Demand::new(
            place.unwrap_or_else(|| Place::new(*requested.hashes.start(), 0)),
            read_units(page.bytes, requested.is_consistent),
        ),
        is_hot: page.items.iter().any(|item| table.is_hot_read(item)),
    };
    let answer = answer(&table, body, &requested, page, cost.demand.units);
    let answer = answer.inspect_err(|_| table.count_refused_read())?;
    charged(&table, &call, cost)?;
    Ok(Outcome::Success(answer))
}

/// What a fault answers instead of the page, if it does.
pub(super) fn ended_by_fault(table: &Table, fault: &InjectedFault) -> Option<Result<Outcome, Refusal>> {
    fault.replaces_answer()?;
    table.reads().count_failed_call(fault, 1);
    Some(match fault {
        InjectedFault::AccountLimit => Err(throttled_read(table, of_table(ThroughputLimit::Account))),
        fault if fault.is_throttle() => Err(exceeded(table)),
        fault => Ok(Outcome::Fault(fault.clone())),
    })
}

/// Takes the cost of a page from the capacity for reads, if there is enough of it.
pub(super) fn charged(table: &Table, call: &Call, cost: Cost) -> Result<(), Refusal> {
    let mut reads = table.reads();
    match reads.decide(call, &[cost]).first() {
        Some(Verdict::Throttled(throttle)) => {
            reads.statistics.throttled_calls += 1;
            Err(throttled_read(table, *throttle))
        }
        Some(Verdict::Failed { .. }) => {
            reads.statistics.failed_calls += 1;
            Err(internal_error())
        }
        _ => Ok(()),
    }
}

fn of_table(limit: ThroughputLimit) -> Throttle {
    Throttle { index: None, limit }
}

fn answer(table: &Table, body: &Value, requested: &Requested, page: Page, units: f64) -> Result<Value, Refusal> {
    let last = page.items.last().filter(|_| page.has_more);
    let last = last.map(|last| table.schema().project(last));
    let scanned = page.items.len();
    let items = table.select(body, page.items).map_err(Failure::into_refusal)?;
    let mut answer = json!({"Count": items.len(), "ScannedCount": scanned});
    if let Some(last) = last {
        answer["LastEvaluatedKey"] = last;
    }
    if !requested.is_count {
        answer["Items"] = Value::Array(items);
    }
    if requested.returns_capacity {
        answer["ConsumedCapacity"] = json!({"TableName": table.name(), "CapacityUnits": units});
    }
    Ok(answer)
}

fn requested(table: &Table, body: &Value) -> Result<Requested, Refusal> {
    if let Some(member) = UNKNOWN.iter().find(|member| !body[**member].is_null()) {
        return Err(Refusal::validation(format!(
            "The simulator does not know {member} of a scan"
        )));
    }
    let selections = [
        "ALL_ATTRIBUTES",
        "ALL_PROJECTED_ATTRIBUTES",
        "COUNT",
        "SPECIFIC_ATTRIBUTES",
    ];
    let select = one_of(body, "Select", "select", &selections)?;
    let is_count = select == Some("COUNT");
    if is_count && !body["ProjectionExpression"].is_null() {
        return Err(Refusal::validation(
            "Cannot specify the ProjectionExpression when choosing to get only the Count",
        ));
    }
    let capacity = one_of(
        body,
        "ReturnConsumedCapacity",
        "returnConsumedCapacity",
        &["INDEXES", "TOTAL", "NONE"],
    )?;
    let (hashes, position) = segment(body)?;
    let after = match &body["ExclusiveStartKey"] {
        Value::Null => None,
        Value::Object(key) => Some(table.schema().key_alone(key)?),
        _ => return Err(unexpected()),
    };
    if after.as_deref().is_some_and(|key| !hashes.contains(&place_of_key(key))) {
        return Err(Refusal::validation(format!(
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct \
             Segment. {position}"
        )));
    }
    Ok(Requested {
        most: limit(body)?,
        after,
        hashes,
        is_consistent: body["ConsistentRead"] == Value::Bool(true),
        is_count,
        returns_capacity: matches!(capacity, Some("INDEXES" | "TOTAL")),
    })
}

fn limit(body: &Value) -> Result<usize, Refusal> {
    match &body["Limit"] {
        Value::Null => Ok(usize::MAX),
        limit => limit
            .as_u64()
            .filter(|limit| *limit > 0)
            .and_then(|limit| usize::try_from(limit).ok())
            .ok_or_else(|| {
                Refusal::validation(
                    format!("1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint: Member must have value \
                     greater than or equal to 1"),
                )
            }),
    }
}

/// The hashes of the segment, and its number in the words of an error.
fn segment(body: &Value) -> Result<(RangeInclusive<u64>, String), Refusal> {
    let missing = |missing: &str, present: &str| {
        Refusal::validation(format!(
            "The {missing} parameter is required but was not present in the request when {present} is present"
        ))
    };
    let (segment, total) = match (&body["Segment"], &body["TotalSegments"]) {
        (Value::Null, Value::Null) => return Ok((0..=u64::MAX, String::new())),
        (Value::Null, _) => return Err(missing("Segment", "parameter TotalSegments")),
        (_, Value::Null) => return Err(missing("TotalSegments", "Segment parameter")),
        (segment, total) => (
            segment.as_u64().ok_or_else(unexpected)?,
            total.as_u64().ok_or_else(unexpected)?,
        ),
    };
    if !(1..=MOST_SEGMENTS).contains(&total) {
        return Err(Refusal::validation(format!(
            "1 validation error detected: Value '{total}' at 'totalSegments' failed to satisfy constraint: Member must have \
             value less than or equal to {MOST_SEGMENTS}"
        )));
    }
    if segment >= total {
        return Err(Refusal::validation(format!(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: {segment} is not less \
             than TotalSegments: {total}"
        )));
    }
    let bound = |number: u64| {
        let bound = (u128::from(number) << u64::BITS) / u128::from(total);
        u64::try_from(bound).unwrap_or(u64::MAX)
    };
    let end = if segment + 1 == total {
        u64::MAX
    } else {
        bound(segment + 1) - 1
    };
    Ok((
        bound(segment)..=end,
        format!("TotalSegments: {total} Segment: {segment}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_divide_all_hashes_without_a_gap() {
        for total in [1_u64, 2, 3, 7, 1_000] {
            let mut next = 0_u128;
            for number in 0..total {
                let (hashes, _) = segment(&json!({"Segment": number, "TotalSegments": total})).unwrap();
                assert_eq!(u128::from(*hashes.start()), next);
                next = u128::from(*hashes.end()) + 1;
            }
            assert_eq!(next, 1 << 64);
        }
    }
}
