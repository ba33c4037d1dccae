//! `BatchGetItem` and `GetItem`.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value, json};

use super::consumed::read_units;
use super::projection::{attributes, only};
use super::request::{Part, split};
use super::table::{Table, Tables};
use super::throttling::throttled_read;
use super::value::{size_of_item, unexpected};
use crate::admission::{Demand, Throttle, ThroughputLimit};
use crate::calls::{Call, Cost, Statistics, Verdict};
use crate::capacity::Capacity;
use crate::fault::{Faults, InjectedFault};
use crate::journal::Answered;
use crate::wire::{Outcome, Refusal};

/// Keys in one call at most.
const MOST_KEYS: usize = 100;

/// Bytes of an answer's items: 16 MB. Keys beyond it come back unprocessed.
const LARGEST_ANSWER: usize = 16 * 1_024 * 1_024;

/// Batch reads and scans, which have a capacity and faults of their own.
impl Table {
    /// Changes the capacity for batch reads and scans, in read units per second. Default: unlimited.
    pub fn set_read_capacity(&self, capacity: impl Into<Capacity>) {
        self.reads().set_capacity(capacity.into());
    }

    /// Sets the random faults of batch reads and scans. Default: none.
    pub fn set_read_faults(&self, faults: Faults) {
        self.reads().set_faults(faults);
    }

    /// Sets the faults of the next batch reads and scans, one for each call.
    pub fn script_reads(&self, faults: impl IntoIterator<Item = InjectedFault>) {
        self.reads().set_script(faults);
    }

    /// Items for which the predicate is true have a read capacity of their own, in addition to that of the table, like those of a hot
    /// key range: pages of a scan with one of them use both. Replaces an earlier range.
    pub fn read_range(
        &self,
        capacity: impl Into<Capacity>,
        predicate: impl Fn(&Value) -> bool + Send + Sync + 'static,
    ) {
        self.set_hot_reads(capacity.into(), predicate);
    }

    /// The counts of batch reads and scans. A page of a scan is a call with one entry.
    pub fn read_statistics(&self) -> Statistics {
        self.reads().statistics
    }
}

/// The keys that a call reads from one table, and how it reads them.
struct Keys {
    of_items: Vec<Value>,
    is_consistent: bool,
    /// The requested attributes; `None` for all.
    attributes: Option<BTreeSet<String>>,
    /// The other members of the request, which are returned with unprocessed keys.
    more: Map<String, Value>,
}

pub(super) fn get(tables: &Tables, body: &mut Value) -> Result<Outcome, Refusal> {
    let parts = checked(split(tables, body)?)?;
    // Reads have no journal.
    let call = |part: &Part<Keys>| part.table.reads().call(&Answered::default());
    let calls: Vec<Call> = parts.iter().map(call).collect();
    let faults = calls.iter().map(|call| &call.fault);
    if let Some(fault) = faults.clone().find(|fault| fault.replaces_answer().is_some()) {
        return match parts.first() {
            Some(part) if fault.is_throttle() => Err(exceeded(&part.table)),
            _ => Ok(Outcome::Fault(fault.clone())),
        };
    }
    let delay = faults.filter_map(|fault| match fault {
        InjectedFault::Slow(delay) => Some(*delay),
        _ => None,
    });
    let delay = delay.max();
    let (mut responses, mut unprocessed, mut consumed) = (Map::new(), Map::new(), Vec::new());
    let (mut bytes, mut processed) = (0, 0);
    let first = parts.first().map(|part| part.table.clone());
    for (part, call) in parts.into_iter().zip(&calls) {
        let Part {
            name,
            table,
            entries: keys,
        } = part;
        let found: Vec<Option<Value>> = keys.of_items.iter().map(|key| table.item(key)).collect();
        let costs: Vec<Cost> = keys
            .of_items
            .iter()
            .zip(&found)
            .map(|(key, item)| keys.cost(&table, key, item.as_ref()))
            .collect();
        let verdicts = table.reads().decide(call, &costs);
        let (mut items, mut left, mut units) = (Vec::new(), Vec::new(), 0.0);
        for (((key, item), cost), verdict) in keys.of_items.iter().zip(found).zip(&costs).zip(&verdicts) {
            let size = item.as_ref().map_or(0, size);
            if *verdict != Verdict::Accepted || bytes + size > LARGEST_ANSWER {
                left.push(key.clone());
                continue;
            }
            bytes += size;
            processed += 1;
            units += cost.demand.units;
            items.extend(item.map(|item| keys.projected(item)));
        }
        if !left.is_empty() {
            let mut rest = keys.more;
            rest.insert("Keys".to_owned(), Value::Array(left));
            unprocessed.insert(name.clone(), Value::Object(rest));
        }
        consumed.push(json!({"TableName": name, "CapacityUnits": units}));
        responses.insert(name, Value::Array(items));
    }
    if processed == 0
        && let Some(table) = first
    {
        return Err(exceeded(&table));
    }
    let mut answer = json!({"Responses": responses, "UnprocessedKeys": unprocessed});
    if let Some("TOTAL" | "INDEXES") = body["ReturnConsumedCapacity"].as_str() {
        answer["ConsumedCapacity"] = Value::Array(consumed);
    }
    Ok(match delay {
        Some(delay) => Outcome::Late(answer, delay),
        None => Outcome::Success(answer),
    })
}

/// The answer when nothing of a call was read.
pub(super) fn exceeded(table: &Table) -> Refusal {
    let limit = ThroughputLimit::Provisioned;
    throttled_read(table, Throttle { index: None, limit })
}

fn size(item: &Value) -> usize {
    item.as_object()
        .and_then(|item| size_of_item(item).ok())
        .unwrap_or_default()
}

/// Checks the whole call: one invalid key causes all of it to be refused.
fn checked(parts: Vec<Part<Value>>) -> Result<Vec<Part<Keys>>, Refusal> {
    let mut count = 0;
    let check = |part: Part<Value>| {
        let Part { name, table, entries } = part;
        let keys = keys(&table, entries)?;
        count += keys.of_items.len();
        if count > MOST_KEYS {
            return Err(Refusal::validation(
                "Too many items requested for the BatchGetItem call",
            ));
        }
        Ok(Part {
            name,
            table,
            entries: keys,
        })
    };
    parts.into_iter().map(check).collect()
}

fn keys(table: &Table, mut body: Value) -> Result<Keys, Refusal> {
    let Value::Array(keys) = body["Keys"].take() else {
        return Err(Refusal::validation(
            "1 validation error detected: Value null at 'requestItems' failed to satisfy constraint: Member must not be null",
        ));
    };
    let mut distinct = HashSet::with_capacity(keys.len());
    for key in &keys {
        let attributes = key.as_object().ok_or_else(unexpected)?;
        if !distinct.insert(table.schema().key_alone(attributes)?) {
            return Err(Refusal::validation("Provided list of item keys contains duplicates"));
        }
    }
    let attributes = attributes(&body)?;
    let Value::Object(mut more) = body else {
        return Err(unexpected());
    };
    more.remove("Keys");
    Ok(Keys {
        of_items: keys,
        is_consistent: more.get("ConsistentRead") == Some(&Value::Bool(true)),
        attributes,
        more,
    })
}

impl Keys {
    fn cost(&self, table: &Table, key: &Value, item: Option<&Value>) -> Cost {
        let place = key
            .as_object()
            .and_then(|key| table.schema().place(key))
            .unwrap_or_default();
        Cost {
            demand: Demand::new(place, read_units(item.map_or(0, size), self.is_consistent)),
            is_hot: table.is_hot_read(item.unwrap_or(key)),
        }
    }

    fn projected(&self, item: Value) -> Value {
        match (&self.attributes, item) {
            (Some(attributes), item) => only(item, attributes),
            (None, item) => item,
        }
    }
}

/// `GetItem`, whatever the capacity.
pub(super) fn get_item(tables: &Tables, body: &Value) -> Result<Value, Refusal> {
    let table = tables.of_request(body)?;
    let key = body["Key"]
        .as_object()
        .ok_or_else(|| Refusal::validation("The parameter 'Key' is required but was not present in the request"))?;
    table.schema().key_alone(key)?;
    Ok(match table.item(&body["Key"]) {
        Some(item) => json!({"Item": item}),
        None => json!({}),
    })
}
