//! `Scan`: pages of a table, of one of its indexes, or of a segment.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::consumed::read_units;
use super::expressions::Selection;
use super::reading::{Page, PageRange, Position, ReturnOptions, View, read};
use super::tables::Tables;
use super::value::unexpected;
use super::wording::invalid_members;
use crate::admission::{Demand, Place};
use crate::journal::AnswerReceipt;
use crate::wire::{OperationOutcome, Refusal};

/// Segments of a scan at most.
const MOST_SEGMENTS: i64 = 1_000_000;

/// What a call asks for, in its table.
struct TableScan {
    /// The key after which the page begins.
    after: Option<Position>,
    /// The hashes of the partition keys of the segment.
    hashes: RangeInclusive<u64>,
}

pub(super) fn scan(tables: &Tables, body: &Value, answered: &AnswerReceipt) -> Result<OperationOutcome, Refusal> {
    let asked = |body: &Value| Ok((Selection::of_scan(body)?, segment(body)?));
    let requested =
        |view: &View<'_>, _: &Selection, (hashes, segment): (_, String)| requested(view, hashes, &segment, body);
    read(tables, body, answered, asked, requested, page)
}

fn page(view: &View<'_>, requested: TableScan, returned: &ReturnOptions) -> (Page, Demand) {
    let TableScan { after, hashes } = requested;
    let first_hash = after.as_ref().map_or(*hashes.start(), |after| after.own.hash);
    let wanted = PageRange {
        hashes: hashes.clone(),
        after,
        is_forward: true,
        accepts: &|_| true,
    };
    let page = view.page(&wanted, returned);
    // A page lies in the partitions from its first item on; the first of them decides.
    let first = page.items.first().and_then(Value::as_object);
    let place = first.and_then(|item| view.table.schema().place(item));
    // Each partition that a page reads of costs a unit at least, as 4 units for a single small item of a new table on demand show.
    let partitions = partitions(view.table.partitions(), first_hash..=page.last_hash(view, &hashes));
    let least = read_units(0, returned.is_consistent) * partitions;
    let units = page.units(returned.is_consistent).max(least);
    (
        page,
        Demand::new(place.unwrap_or_else(|| Place::new(first_hash, 0)), units),
    )
}

/// How many of the partitions, which divide the hashes evenly, have some of these.
fn partitions(all: usize, hashes: RangeInclusive<u64>) -> f64 {
    let number = |hash: u64| (u128::from(hash) * all as u128) >> u64::BITS;
    #[expect(clippy::cast_precision_loss, reason = "a number of partitions")]
    let touched = (number(*hashes.end()).saturating_sub(number(*hashes.start())) + 1) as f64;
    touched
}

fn requested(view: &View<'_>, hashes: RangeInclusive<u64>, segment: &str, body: &Value) -> Result<TableScan, Refusal> {
    let after = view.start(body)?;
    if after.as_ref().is_some_and(|after| !hashes.contains(&after.own.hash)) {
        return Err(Refusal::validation(format!(
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct \
             Segment. {segment}"
        )));
    }
    Ok(TableScan { after, hashes })
}

/// The hashes of the partition keys of the segment, and its number in the words of an error.
fn segment(body: &Value) -> Result<(RangeInclusive<u64>, String), Refusal> {
    let missing = |missing: &str, present: &str| {
        Refusal::validation(format!(
            "The {missing} parameter is required but was not present in the request when {present} is present"
        ))
    };
    let (segment, of_segment) = number(body, "Segment", "segment", 0..=MOST_SEGMENTS - 1)?;
    let (total, of_total) = number(body, "TotalSegments", "totalSegments", 1..=MOST_SEGMENTS)?;
    invalid_members(&of_total.into_iter().chain(of_segment).collect::<Vec<_>>())?;
    let (segment, total) = match (segment, total) {
        (None, None) => return Ok((0..=u64::MAX, String::new())),
        (None, Some(_)) => return Err(missing("Segment", "parameter TotalSegments")),
        (Some(_), None) => return Err(missing("TotalSegments", "Segment parameter")),
        (Some(segment), Some(total)) => (segment, total),
    };
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

/// A member that is a number, if it is there, and what is wrong with it.
fn number(
    body: &Value,
    member: &str,
    path: &str,
    allowed: RangeInclusive<i64>,
) -> Result<(Option<u64>, Option<String>), Refusal> {
    if body[member].is_null() {
        return Ok((None, None));
    }
    let number = body[member].as_i64().ok_or_else(unexpected)?;
    let bound = if number < *allowed.start() {
        format!("greater than or equal to {}", allowed.start())
    } else if number > *allowed.end() {
        format!("less than or equal to {}", allowed.end())
    } else {
        return Ok((u64::try_from(number).ok(), None));
    };
    let problem = format!("Value '{number}' at '{path}' failed to satisfy constraint: Member must have value {bound}");
    Ok((None, Some(problem)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
