//! `Query`: pages of the items of one partition key.

use serde_json::{Map, Value};

use super::expressions::{Condition, KeyCondition, Selection};
use super::key::Schema;
use super::reading::{PageRange, Position, ReturnOptions, View, charged, ended_by_fault};
use super::tables::{Tables, not_found};
use super::value::unexpected;
use crate::admission::{Demand, Place};
use crate::calls::Cost;
use crate::journal::AnswerReceipt;
use crate::wire::{OperationOutcome, Refusal};

/// What a call asks for, whatever its table is.
struct QueryRequest {
    returned: ReturnOptions,
    selection: Selection,
    condition: Condition,
}

/// The same for its table.
struct TableQuery {
    returned: ReturnOptions,
    selection: Selection,
    condition: KeyCondition,
    /// The hash of the partition key.
    hash: u64,
    after: Option<Position>,
}

pub(super) fn query(tables: &Tables, body: &Value, answered: &AnswerReceipt) -> Result<OperationOutcome, Refusal> {
    let found = tables.maybe_of_request(body)?;
    let asked = asked(body);
    let Some(table) = found else {
        return Err(asked.err().unwrap_or_else(not_found));
    };
    let call = table.reads().call(answered);
    let requested = asked.and_then(|asked| {
        let view = View::of(&table, body)?;
        Ok((requested(&view, asked, body)?, view))
    });
    let (requested, view) = requested.inspect_err(|_| table.count_refused_read())?;
    if let Some(ended) = ended_by_fault(&table, &call.fault) {
        return ended;
    }
    let TableQuery {
        returned,
        selection,
        condition,
        hash,
        after,
    } = requested;
    let wanted = PageRange {
        hashes: hash..=hash,
        after,
        is_forward: body["ScanIndexForward"] != Value::Bool(false),
        accepts: &|item| condition.holds(item),
    };
    let mut page = view.page(&wanted, &returned);
    page.has_more &= !view.has_single_items();
    let units = page.units(returned.is_consistent);
    let cost = Cost {
        demand: Demand::new(Place::new(hash, 0), units),
        is_hot: page.items.iter().any(|item| table.is_hot_read(item)),
    };
    let answer = view.answer(page, &selection, &returned, units);
    charged(&table, &call, cost)?;
    Ok(OperationOutcome::Success(answer))
}

fn asked(body: &Value) -> Result<QueryRequest, Refusal> {
    let returned = ReturnOptions::of(body)?;
    let (selection, condition) = Selection::of_query(body)?;
    Ok(QueryRequest {
        returned,
        selection,
        condition,
    })
}

fn requested(view: &View<'_>, asked: QueryRequest, body: &Value) -> Result<TableQuery, Refusal> {
    let QueryRequest {
        returned,
        selection,
        condition,
    } = asked;
    let condition = selection.fit(&condition, view.schema(), body)?;
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
        returned,
        selection,
        condition,
        hash,
        after,
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
