//! `Query`: pages of the items of one partition key.

use serde_json::{Map, Value};

use super::expressions::{Condition, KeyCondition, Selection};
use super::key::Schema;
use super::reading::{Page, PageRange, Position, ReturnOptions, View, read};
use super::tables::Tables;
use super::value::unexpected;
use crate::admission::{Demand, Place};
use crate::journal::AnswerReceipt;
use crate::wire::{OperationOutcome, Refusal};

/// What a call asks for, in its table.
struct TableQuery {
    condition: KeyCondition,
    /// The hash of the partition key.
    hash: u64,
    after: Option<Position>,
    is_forward: bool,
}

pub(super) fn query(tables: &Tables, body: &Value, answered: &AnswerReceipt) -> Result<OperationOutcome, Refusal> {
    let requested =
        |view: &View<'_>, selection: &Selection, condition: Condition| requested(view, selection, &condition, body);
    read(tables, body, answered, Selection::of_query, requested, page)
}

fn page(view: &View<'_>, requested: TableQuery, returned: &ReturnOptions) -> (Page, Demand) {
    let TableQuery {
        condition,
        hash,
        after,
        is_forward,
    } = requested;
    let wanted = PageRange {
        hashes: hash..=hash,
        after,
        is_forward,
        accepts: &|item| condition.holds(item),
    };
    let mut page = view.page(&wanted, returned);
    page.has_more &= !view.has_single_items();
    let units = page.units(returned.is_consistent);
    (page, Demand::new(Place::new(hash, 0), units))
}

fn requested(
    view: &View<'_>,
    selection: &Selection,
    condition: &Condition,
    body: &Value,
) -> Result<TableQuery, Refusal> {
    let condition = selection.fit(condition, view.schema(), body)?;
    let hash = hash_of(view.schema(), &condition.partition)?;
    let after = view.start(body)?;
    if let Some(after) = &after {
        let key = body["ExclusiveStartKey"].as_object();
        if view.has_single_items() {
            return Err(Refusal::validation(format!(
                "The provided exclusive start key is invalid: ExclusiveStartKey: {}",
                body["ExclusiveStartKey"]
            )));
        }
        if after.own.hash != hash {
            return Err(Refusal::validation(
                "The provided starting key is outside query boundaries based on provided conditions",
            ));
        }
        if !key.is_some_and(|key| condition.holds(key)) {
            return Err(Refusal::validation(
                "The provided starting key does not match the range key predicate",
            ));
        }
    }
    Ok(TableQuery {
        condition,
        hash,
        after,
        is_forward: body["ScanIndexForward"] != Value::Bool(false),
    })
}

/// The hash of this partition key.
fn hash_of(schema: &Schema, partition: &Value) -> Result<u64, Refusal> {
    let alone = Schema {
        partition: schema.partition.clone(),
        sort: None,
    };
    let key = Map::from_iter([(schema.partition.0.clone(), partition.clone())]);
    alone.key_of_item(&key)?;
    Ok(alone.place(&key).ok_or_else(unexpected)?.partition_key)
}
