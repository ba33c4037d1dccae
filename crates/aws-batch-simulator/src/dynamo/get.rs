//! `BatchGetItem` and `GetItem`.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::change::{CAPACITY, one_of};
use super::consumed::{add_consumed, read_units, units_of_table};
use super::expressions::Selection;
use super::request::{TablePart, find, requests};
use super::table::Table;
use super::tables::Tables;
use super::throttling::throttled_read;
use super::value::{check_item, missing, size_of_item, unexpected};
use super::wording::{Wording, invalid_member};
use crate::admission::{Demand, Throttle, ThroughputLimit};
use crate::calls::{Call, Cost, Statistics, Verdict};
use crate::capacity::Capacity;
use crate::fault::{Faults, InjectedFault};
use crate::journal::AnswerReceipt;
use crate::wire::{OperationOutcome, Refusal};

/// Keys in one call at most.
const MOST_KEYS: usize = 100;

/// Bytes of an answer's items: 16 MB. Keys beyond it come back unprocessed.
const LARGEST_ANSWER: usize = 16 * 1_024 * 1_024;

/// Batch reads and scans, which have a capacity and faults of their own.
impl Table {
    /// Changes the capacity for batch reads, scans and queries, in read units per second. Default: unlimited.
    pub fn set_read_capacity(&self, capacity: impl Into<Capacity>) {
        self.reads().set_capacity(capacity.into());
    }

    /// Sets the random faults of batch reads, scans and queries. Default: none.
    pub fn set_read_faults(&self, faults: Faults) {
        self.reads().set_faults(faults);
    }

    /// Sets the faults of the next batch reads, scans and queries, one for each call, even for one that is refused because of its
    /// contents.
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

    /// The counts of batch reads, scans and queries. A page of a scan or a query is a call with one entry.
    pub fn read_statistics(&self) -> Statistics {
        self.reads().statistics
    }

    pub(super) fn count_refused_read(&self) {
        self.reads().statistics.refused_calls += 1;
    }
}

/// The keys that a call reads from one table, and how it reads them.
struct Keys {
    of_items: Vec<Value>,
    is_consistent: bool,
    selection: Selection,
    /// The other members of the request, which are returned with unprocessed keys.
    more: Value,
}

/// Of a call without requests. Some regions have another wording.
const NO_REQUESTS: &str = "1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: Member must have \
                           length greater than or equal to 1";

pub(super) fn get(tables: &Tables, body: &mut Value, answered: &AnswerReceipt) -> Result<OperationOutcome, Refusal> {
    let requests = requests(body, NO_REQUESTS)?;
    let found = find(tables, &requests);
    let all = || found.iter().flatten();
    let calls: Vec<Call> = all().map(|table| table.reads().call(answered)).collect();
    // A key is wrong whatever its table is, even if there is no such table.
    let parts = check(requests, body).and_then(|keys| parts(keys, found.clone()?));
    let parts = parts.inspect_err(|_| all().for_each(Table::count_refused_read))?;
    let mut faults = calls.iter().map(|call| &call.fault);
    if let Some(fault) = faults.find(|fault| fault.replaces_answer().is_some()) {
        for part in &parts {
            let keys = part.entries.of_items.len();
            part.table.reads().count_failed_call(fault, keys);
        }
        return match parts.first() {
            Some(part) if fault.is_throttle() => Err(exceeded(&part.table)),
            _ => Ok(OperationOutcome::Fault(fault.clone())),
        };
    }
    let capacity = body["ReturnConsumedCapacity"].as_str();
    let (mut responses, mut unprocessed, mut consumed) = (Map::new(), Map::new(), Vec::new());
    let (mut bytes, mut processed) = (0, 0);
    for (part, call) in parts.into_iter().zip(&calls) {
        let TablePart {
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
            items.extend(item.and_then(|item| keys.selection.select(item)));
        }
        if !left.is_empty() {
            let mut rest = keys.more;
            rest["Keys"] = Value::Array(left);
            unprocessed.insert(name.clone(), rest);
        }
        let of_table = (capacity == Some("INDEXES")).then_some(units);
        consumed.push(units_of_table(&name, units, of_table));
        responses.insert(name, Value::Array(items));
    }
    if processed == 0
        && let Some(first) = all().next()
    {
        for table in all() {
            table.reads().statistics.throttled_calls += 1;
        }
        return Err(exceeded(first));
    }
    let mut answer = json!({"Responses": responses, "UnprocessedKeys": unprocessed});
    add_consumed(&mut answer, capacity, |_| Value::Array(consumed));
    Ok(OperationOutcome::Success(answer))
}

/// The answer when no item of a call was read.
pub(super) fn exceeded(table: &Table) -> Refusal {
    throttled_read(table, Throttle::of_table(ThroughputLimit::Provisioned))
}

fn size(item: &Value) -> usize {
    item.as_object()
        .and_then(|item| size_of_item(item).ok())
        .unwrap_or_default()
}

/// Checks what does not depend on a table: one invalid key causes the whole call to be refused.
fn check(requests: Map<String, Value>, body: &Value) -> Result<Vec<(String, Keys)>, Refusal> {
    let lists = requests.into_iter().map(|(name, request)| Ok((name, keys(request)?)));
    let lists: Vec<(String, Keys)> = lists.collect::<Result<_, _>>()?;
    let refuse = |name: &str, limit: &str| {
        let constraint = format!("Member must have length {limit}");
        Err(invalid_member(format_args!(
            "Value at 'RequestItems.{name}.member.Keys' failed to satisfy constraint: {constraint}"
        )))
    };
    if let Some((name, _)) = lists.iter().find(|(_, keys)| keys.of_items.is_empty()) {
        return refuse(name, "greater than or equal to 1");
    }
    let count: usize = lists.iter().map(|(_, keys)| keys.of_items.len()).sum();
    let longest = lists.iter().max_by_key(|(_, keys)| keys.of_items.len());
    if let Some((name, _)) = longest.filter(|_| count > MOST_KEYS) {
        return refuse(name, "less than or equal to 100");
    }
    one_of(body, "ReturnConsumedCapacity", &CAPACITY)?;
    let has = |member: &str| lists.iter().any(|(_, keys)| !keys.more[member].is_null());
    if has("AttributesToGet") && has("ProjectionExpression") {
        return Err(Refusal::validation(
            "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: \
             {AttributesToGet} Expression parameters: {ProjectionExpression}",
        ));
    }
    for (_, keys) in &lists {
        for key in &keys.of_items {
            check_item(key.as_object().ok_or_else(unexpected)?, Wording::Plain)?;
        }
    }
    Ok(lists)
}

fn keys(mut request: Value) -> Result<Keys, Refusal> {
    let members = request.as_object_mut().ok_or_else(unexpected)?;
    let of_items = match members.remove("Keys") {
        Some(Value::Array(keys)) => keys,
        None | Some(Value::Null) => return Err(missing("requestItems")),
        _ => return Err(unexpected()),
    };
    Ok(Keys {
        of_items,
        selection: Selection::of_items(&request)?,
        is_consistent: request["ConsistentRead"] == Value::Bool(true),
        more: request,
    })
}

/// The same with their tables, which they must fit.
fn parts(lists: Vec<(String, Keys)>, tables: Vec<Table>) -> Result<Vec<TablePart<Keys>>, Refusal> {
    let with_tables = lists.into_iter().zip(tables);
    let parts = with_tables.map(|((name, entries), table)| {
        let mut distinct = HashSet::with_capacity(entries.of_items.len());
        for key in &entries.of_items {
            table.schema().key_alone(key.as_object().ok_or_else(unexpected)?)?;
            // As texts: a number that is written in two ways is read twice.
            if !distinct.insert(table.schema().project(key).to_string()) {
                return Err(Refusal::validation("Provided list of item keys contains duplicates"));
            }
        }
        Ok(TablePart { name, table, entries })
    });
    parts.collect()
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
}

/// `GetItem`, whatever the capacity.
pub(super) fn get_item(tables: &Tables, body: &Value) -> Result<Value, Refusal> {
    let key = &body["Key"];
    let attributes = match key {
        Value::Null => return Err(missing("key")),
        key => key.as_object().ok_or_else(unexpected)?,
    };
    let found = tables.of_request(body);
    let capacity = one_of(body, "ReturnConsumedCapacity", &CAPACITY)?;
    check_item(attributes, Wording::Plain)?;
    let selection = Selection::of_items(body)?;
    let table = found?;
    table.schema().key_alone(attributes)?;
    let item = table.item(key);
    let units = read_units(
        item.as_ref().map_or(0, size),
        body["ConsistentRead"] == Value::Bool(true),
    );
    let mut answer = json!({});
    if let Some(item) = item.and_then(|item| selection.select(item)) {
        answer["Item"] = item;
    }
    let name = body["TableName"].as_str().unwrap_or_default();
    add_consumed(&mut answer, capacity, |with_table| {
        units_of_table(name, units, with_table.then_some(units))
    });
    Ok(answer)
}
