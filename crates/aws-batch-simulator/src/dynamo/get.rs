//! `BatchGetItem`.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::invalid;
use super::request::{Part, split};
use super::table::Table;
use super::throttling::throttled;
use super::value::weigh_item;
use crate::Inner;
use crate::admission::{Demand, Throttle, ThroughputLimit};
use crate::bucket::Capacity;
use crate::fault::{Faults, InjectedFault};
use crate::gate::{Passage, Strike, Toll};
use crate::statistics::Statistics;
use crate::wire::{Outcome, Refusal};

/// Keys in one call at most.
const MOST_KEYS: usize = 100;

/// Bytes of an answer's items: 16 MB. Keys beyond it come back unprocessed.
const LARGEST_ANSWER: usize = 16 * 1_024 * 1_024;

/// Bytes that one read unit covers in a consistent read; an eventually consistent read takes half a unit.
const READ_UNIT: usize = 4_096;

/// Batch reads, which have a capacity and faults of their own.
impl Table {
    /// Changes the capacity for batch reads, in read units per second. Default: unlimited.
    pub fn set_read_capacity(&self, capacity: Capacity) {
        self.reads().set_capacity(capacity);
    }

    /// Sets the random faults of batch reads. Default: none.
    pub fn set_read_faults(&self, faults: Faults) {
        self.reads().set_faults(faults);
    }

    /// Sets the faults of the next batch reads, one for each call.
    pub fn script_reads(&self, faults: impl IntoIterator<Item = InjectedFault>) {
        self.reads().set_script(faults);
    }

    /// The counts of batch reads.
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

pub(super) fn get(simulator: &Inner, body: &mut Value) -> Outcome {
    let parts = match split(simulator, body).and_then(checked) {
        Ok(parts) => parts,
        Err(refusal) => return refusal.into(),
    };
    let strikes: Vec<Strike> = parts.iter().map(|part| part.table.reads().strike()).collect();
    let replacing = strikes.iter().map(|strike| &strike.fault);
    if let Some(fault) = replacing.clone().find(|fault| fault.replaces_answer().is_some()) {
        return match parts.first() {
            Some(part) if fault.is_throttle() => exceeded(&part.table).into(),
            _ => Outcome::Struck(fault.clone()),
        };
    }
    let delay = replacing.filter_map(|fault| match fault {
        InjectedFault::Slow(delay) => Some(*delay),
        _ => None,
    });
    let delay = delay.max();
    let (mut responses, mut unprocessed, mut consumed) = (Map::new(), Map::new(), Vec::new());
    let (mut bytes, mut processed) = (0, 0);
    let tables: Vec<Table> = parts.iter().map(|part| part.table.clone()).collect();
    for (
        Part {
            name,
            table,
            writes: keys,
        },
        strike,
    ) in parts.into_iter().zip(strikes)
    {
        let found: Vec<Option<Value>> = keys.of_items.iter().map(|key| table.item(key)).collect();
        let tolls: Vec<Toll> = keys
            .of_items
            .iter()
            .zip(&found)
            .map(|(key, item)| keys.toll(&table, key, item.as_ref()))
            .collect();
        let passages = table.reads().sift(Instant::now(), &strike, &tolls);
        let (mut items, mut left, mut units) = (Vec::new(), Vec::new(), 0.0);
        for (((key, item), toll), passage) in keys.of_items.iter().zip(found).zip(&tolls).zip(&passages) {
            let size = item.as_ref().map_or(0, size);
            if *passage != Passage::Passed || bytes + size > LARGEST_ANSWER {
                left.push(key.clone());
                continue;
            }
            bytes += size;
            processed += 1;
            units += toll.demand.units;
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
        && let Some(table) = tables.first()
    {
        return exceeded(table).into();
    }
    let mut answer = json!({"Responses": responses, "UnprocessedKeys": unprocessed});
    if let Some("TOTAL" | "INDEXES") = body["ReturnConsumedCapacity"].as_str() {
        answer["ConsumedCapacity"] = Value::Array(consumed);
    }
    match delay {
        Some(delay) => Outcome::Late(answer, delay),
        None => Outcome::Success(answer),
    }
}

/// The answer when no key of a call was read.
fn exceeded(table: &Table) -> Refusal {
    let limit = ThroughputLimit::Provisioned;
    throttled(table, [Throttle { index: None, limit }])
}

fn size(item: &Value) -> usize {
    item.as_object()
        .and_then(|item| weigh_item(item).ok())
        .unwrap_or_default()
}

/// Checks the whole call: one invalid key causes all of it to be refused.
fn checked(parts: Vec<Part<Value>>) -> Result<Vec<Part<Keys>>, Refusal> {
    let mut count = 0;
    let check = |Part {
                     name,
                     table,
                     writes: body,
                 }| {
        let keys = keys(&table, body)?;
        count += keys.of_items.len();
        if count > MOST_KEYS {
            return Err(invalid("Too many items requested for the BatchGetItem call"));
        }
        Ok(Part {
            name,
            table,
            writes: keys,
        })
    };
    parts.into_iter().map(check).collect()
}

fn keys(table: &Table, mut body: Value) -> Result<Keys, Refusal> {
    let Value::Array(keys) = body["Keys"].take() else {
        return Err(invalid(
            "1 validation error detected: Value null at 'requestItems' failed to satisfy constraint: Member must not be null",
        ));
    };
    let mut distinct = HashSet::with_capacity(keys.len());
    for key in &keys {
        let attributes = key
            .as_object()
            .ok_or_else(|| Refusal::serialization("Unexpected value type in payload"))?;
        if !distinct.insert(table.schema().key_alone(attributes)?) {
            return Err(invalid("Provided list of item keys contains duplicates"));
        }
    }
    let attributes = attributes(&body)?;
    let Value::Object(mut more) = body else {
        return Err(Refusal::serialization("Unexpected value type in payload"));
    };
    more.remove("Keys");
    Ok(Keys {
        of_items: keys,
        is_consistent: more.get("ConsistentRead") == Some(&Value::Bool(true)),
        attributes,
        more,
    })
}

/// The names in a projection, of attributes at the top of an item.
fn attributes(body: &Value) -> Result<Option<BTreeSet<String>>, Refusal> {
    let Some(expression) = body["ProjectionExpression"].as_str() else {
        return Ok(None);
    };
    let name = |part: &str| {
        let part = part.trim();
        let name = if part.starts_with('#') {
            body["ExpressionAttributeNames"][part].as_str()
        } else {
            Some(part).filter(|part| !part.contains(['.', '[']) && !part.is_empty())
        };
        let words = "Invalid ProjectionExpression: the simulator knows names of attributes at the top of an item";
        name.map(str::to_owned).ok_or_else(|| invalid(words))
    };
    expression.split(',').map(name).collect::<Result<_, _>>().map(Some)
}

impl Keys {
    fn toll(&self, table: &Table, key: &Value, item: Option<&Value>) -> Toll {
        let place = key
            .as_object()
            .and_then(|key| table.schema().place(key))
            .unwrap_or_default();
        let started = item.map_or(0, size).div_ceil(READ_UNIT).max(1);
        #[expect(clippy::cast_precision_loss, reason = "an item has 100 units at most")]
        let units = started as f64 / if self.is_consistent { 1.0 } else { 2.0 };
        Toll {
            demand: Demand::new(place, units),
            hot: false,
        }
    }

    fn projected(&self, item: Value) -> Value {
        match (&self.attributes, item) {
            (Some(attributes), Value::Object(mut item)) => {
                item.retain(|name, _| attributes.contains(name));
                Value::Object(item)
            }
            (_, item) => item,
        }
    }
}
