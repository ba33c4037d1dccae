//! `Query`: pages of the items of one partition key.

use serde_json::{Map, Value};

use super::expressions::{KeyCondition, Selection};
use super::key::Schema;
use super::reading::{Position, Returned, View, Wanted, charged, ended_by_fault};
use super::tables::Tables;
use super::value::unexpected;
use crate::admission::{Demand, Place};
use crate::calls::Cost;
use crate::journal::Answered;
use crate::wire::{Outcome, Refusal};

/// What a call asks for.
struct Requested {
    returned: Returned,
    selection: Selection,
    condition: KeyCondition,
    /// The hash of the partition key.
    hash: u64,
    after: Option<Position>,
}

pub(super) fn query(tables: &Tables, body: &Value, answered: &Answered) -> Result<Outcome, Refusal> {
    let table = tables.of_request(body)?;
    let call = table.reads().call(answered);
    let requested = View::of(&table, body).and_then(|view| Ok((requested(&view, body)?, view)));
    let (requested, view) = requested.inspect_err(|_| table.count_refused_read())?;
    if let Some(ended) = ended_by_fault(&table, &call.fault) {
        return ended;
    }
    let Requested {
        returned,
        selection,
        condition,
        hash,
        after,
    } = requested;
    let wanted = Wanted {
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
    Ok(Outcome::Success(answer))
}

fn requested(view: &View<'_>, body: &Value) -> Result<Requested, Refusal> {
    let returned = Returned::of(body)?;
    let (selection, condition) = Selection::of_query(body, view.schema())?;
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
    Ok(Requested {
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
