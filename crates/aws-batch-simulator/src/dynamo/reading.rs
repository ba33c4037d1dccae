//! What scans and queries have in common: pages of a table or of one of its indexes.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use super::change::{CAPACITY, one_of};
use super::consumed::{add_consumed, read_units, units_of_table};
use super::expressions::Selection;
use super::get::exceeded;
use super::index::Index;
use super::key::{Rank, Schema};
use super::single::internal_error;
use super::table::Table;
use super::tables::{Tables, not_found};
use super::throttling::throttled_read;
use super::value::unexpected;
use super::wording::invalid_member;
use crate::admission::{Demand, Throttle, ThroughputLimit};
use crate::calls::{Call, Cost, Verdict};
use crate::fault::InjectedFault;
use crate::journal::AnswerReceipt;
use crate::wire::{OperationOutcome, Refusal};

/// A page ends after this many bytes: 1 MB.
const LARGEST_PAGE: usize = 1_048_576;

/// The table that a call reads, or an index of it. Nothing distinguishes an index from a table with another key, except that several items may have
/// the same one.
pub(super) struct View<'t> {
    pub(super) table: &'t Table,
    index: Option<&'t Index>,
}

/// The place of an item in a view: in an index, by its key there, and then by that of the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) own: Rank,
    of_table: Option<Rank>,
}

/// What a call returns, whatever it reads.
pub(super) struct ReturnOptions {
    /// Items at most, before the filter.
    most: usize,
    pub(super) is_consistent: bool,
    is_count: bool,
    capacity: Option<String>,
}

/// Where a page begins, and which items it may have.
pub(super) struct PageRange<'w> {
    /// The hashes of the partition keys.
    pub(super) hashes: RangeInclusive<u64>,
    pub(super) after: Option<Position>,
    pub(super) is_forward: bool,
    pub(super) accepts: &'w dyn Fn(&Map<String, Value>) -> bool,
}

/// Some of the items, one after another.
pub(super) struct Page {
    pub(super) items: Vec<Value>,
    /// Bytes of the items.
    bytes: usize,
    /// Whether there may be more items.
    pub(super) has_more: bool,
}

/// Answers a call that reads a page: what it has `asked` for whatever its table is, what it has `requested` of its table, and the `page`,
/// with its cost.
pub(super) fn read<A, R>(
    tables: &Tables,
    body: &Value,
    answered: &AnswerReceipt,
    asked: impl FnOnce(&Value) -> Result<(Selection, A), Refusal>,
    requested: impl FnOnce(&View<'_>, &Selection, A) -> Result<R, Refusal>,
    page: impl FnOnce(&View<'_>, R, &ReturnOptions) -> (Page, Demand),
) -> Result<OperationOutcome, Refusal> {
    let found = tables.maybe_of_request(body)?;
    let asked = ReturnOptions::of(body).and_then(|returned| Ok((returned, asked(body)?)));
    let Some(table) = found else {
        return Err(asked.err().unwrap_or_else(not_found));
    };
    let call = table.reads().call(answered);
    let read = asked.and_then(|(returned, (selection, asked))| {
        let view = View::of(&table, body)?;
        Ok((requested(&view, &selection, asked)?, view, selection, returned))
    });
    let (requested, view, selection, returned) = read.inspect_err(|_| table.count_refused_read())?;
    if let Some(ended) = ended_by_fault(&table, &call.fault) {
        return ended;
    }
    let (page, demand) = page(&view, requested, &returned);
    let is_hot = page.items.iter().any(|item| table.is_hot_read(item));
    let answer = view.answer(page, &selection, &returned, demand.units);
    charged(&table, &call, Cost { demand, is_hot })?;
    Ok(OperationOutcome::Success(answer))
}

impl<'t> View<'t> {
    /// What the request names.
    fn of(table: &'t Table, body: &Value) -> Result<Self, Refusal> {
        let index = match &body["IndexName"] {
            Value::Null => None,
            Value::String(name) => {
                let found = table.indexes().iter().find(|index| index.name == *name);
                Some(found.ok_or_else(|| {
                    Refusal::validation(format!("The table does not have the specified index: {name}"))
                })?)
            }
            _ => return Err(unexpected()),
        };
        if index.is_some() && body["ConsistentRead"] == Value::Bool(true) {
            return Err(Refusal::validation(
                "Consistent reads are not supported on global secondary indexes",
            ));
        }
        Ok(Self { table, index })
    }

    pub(super) fn schema(&self) -> &Schema {
        self.index.map_or_else(|| self.table.schema(), |index| &index.schema)
    }

    /// The place of an item; `None` if the view does not have it.
    pub(super) fn position(&self, item: &Map<String, Value>) -> Option<Position> {
        let own = Rank::of(&self.schema().key_of_item(item).ok()?);
        let of_table = match self.index {
            Some(_) => Some(Rank::of(&self.table.schema().key_of_item(item).ok()?)),
            None => None,
        };
        Some(Position { own, of_table })
    }

    /// The place that `ExclusiveStartKey` names, if there is one.
    pub(super) fn start(&self, body: &Value) -> Result<Option<Position>, Refusal> {
        let key = match &body["ExclusiveStartKey"] {
            Value::Null => return Ok(None),
            Value::Object(key) => key,
            _ => return Err(unexpected()),
        };
        if self.index.is_none() {
            if key.len() != self.schema().attributes().count() {
                return Err(Refusal::validation("The provided starting key is invalid"));
            }
            let own = Rank::of(&self.table.schema().key_alone(key)?);
            return Ok(Some(Position { own, of_table: None }));
        }
        let position = self.position(key);
        position
            .map(Some)
            .filter(|_| key.keys().all(|name| self.has_key(name)))
            .ok_or_else(|| {
                Refusal::validation(
                    "The provided starting key is invalid: The provided key element does not match the schema",
                )
            })
    }

    /// Whether at most one item has a partition key.
    pub(super) fn has_single_items(&self) -> bool {
        self.index.is_none() && self.schema().sort.is_none()
    }

    fn has_key(&self, attribute: &str) -> bool {
        let mut keys = self.schema().attributes().chain(self.table.schema().attributes());
        keys.any(|(name, _)| name == attribute)
    }

    /// The key after which the next page begins.
    pub(super) fn key_of(&self, item: &Value) -> Value {
        let keys = self.schema().attributes().chain(self.table.schema().attributes());
        Value::Object(keys.map(|(name, _)| (name.clone(), item[name].clone())).collect())
    }

    /// A page of the items. In an index their order is determined for each page.
    pub(super) fn page(&self, wanted: &PageRange<'_>, returned: &ReturnOptions) -> Page {
        let state = self.table.state();
        let accepts = |item: &Value| item.as_object().is_some_and(|item| (wanted.accepts)(item));
        if self.index.is_none() {
            let after = wanted.after.as_ref().map(|after| &after.own);
            let items = state.items.after(&wanted.hashes, after, wanted.is_forward);
            return Page::of(items.filter(|(item, _)| accepts(item)), returned.most);
        }
        let all = state.items.after(&(0..=u64::MAX), None, true);
        let placed = all.filter_map(|(item, size)| Some((self.position(item.as_object()?)?, item, size)));
        let mut placed: Vec<(Position, Value, usize)> = placed
            .filter(|(position, item, _)| wanted.hashes.contains(&position.own.hash) && accepts(item))
            .filter(|(position, ..)| match &wanted.after {
                Some(after) if wanted.is_forward => position > after,
                Some(after) => position < after,
                None => true,
            })
            .collect();
        placed.sort_by(|(one, ..), (other, ..)| {
            if wanted.is_forward {
                one.cmp(other)
            } else {
                other.cmp(one)
            }
        });
        Page::of(placed.into_iter().map(|(_, item, size)| (item, size)), returned.most)
    }

    /// The answer with a page. `units` is what the page has consumed.
    fn answer(&self, page: Page, selection: &Selection, returned: &ReturnOptions, units: f64) -> Value {
        let last = page
            .items
            .last()
            .filter(|_| page.has_more)
            .map(|last| self.key_of(last));
        let scanned = page.items.len();
        let items: Vec<Value> = page
            .items
            .into_iter()
            .filter_map(|item| selection.select(item))
            .collect();
        let mut answer = json!({"Count": items.len(), "ScannedCount": scanned});
        if let Some(last) = last {
            answer["LastEvaluatedKey"] = last;
        }
        if !returned.is_count {
            answer["Items"] = Value::Array(items);
        }
        add_consumed(&mut answer, returned.capacity.as_deref(), |with_index| {
            let of_table = if self.index.is_some() { 0.0 } else { units };
            let mut consumed = units_of_table(self.table.name(), units, with_index.then_some(of_table));
            if let Some(index) = self.index.filter(|_| with_index) {
                consumed["GlobalSecondaryIndexes"] = json!({&index.name: {"CapacityUnits": units}});
            }
            consumed
        });
        answer
    }
}

impl Page {
    fn of(items: impl Iterator<Item = (Value, usize)>, most: usize) -> Self {
        let mut rest = items.peekable();
        let mut page = Self {
            items: Vec::new(),
            bytes: 0,
            has_more: false,
        };
        while page.items.len() < most && page.bytes < LARGEST_PAGE {
            let Some((item, size)) = rest.next() else { break };
            page.bytes += size;
            page.items.push(item);
        }
        // The service stops at the limit without looking further.
        page.has_more = page.items.len() == most || rest.peek().is_some();
        page
    }

    /// Read units of the page.
    pub(super) fn units(&self, is_consistent: bool) -> f64 {
        read_units(self.bytes, is_consistent)
    }

    /// The hash of the last item that was read, of those with these hashes.
    pub(super) fn last_hash(&self, view: &View<'_>, hashes: &RangeInclusive<u64>) -> u64 {
        let last = self.items.last().filter(|_| self.has_more).and_then(Value::as_object);
        let last = last.and_then(|last| view.position(last));
        last.map_or(*hashes.end(), |last| last.own.hash)
    }
}

impl ReturnOptions {
    fn of(body: &Value) -> Result<Self, Refusal> {
        let selections = [
            "SPECIFIC_ATTRIBUTES",
            "COUNT",
            "ALL_ATTRIBUTES",
            "ALL_PROJECTED_ATTRIBUTES",
        ];
        let select = one_of(body, "Select", &selections)?;
        let capacity = one_of(body, "ReturnConsumedCapacity", &CAPACITY)?;
        check_select(body, select)?;
        Ok(Self {
            most: limit(body)?,
            is_consistent: body["ConsistentRead"] == Value::Bool(true),
            is_count: select == Some("COUNT"),
            capacity: capacity.map(str::to_owned),
        })
    }
}

/// `Select` must fit the projection. An index of the simulator has all attributes.
fn check_select(body: &Value, select: Option<&str>) -> Result<(), Refusal> {
    let members = ["ProjectionExpression", "AttributesToGet"];
    let projection = members.into_iter().find(|member| !body[*member].is_null());
    let problem = match (select, projection) {
        (Some("SPECIFIC_ATTRIBUTES"), None) => {
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
                .to_owned()
        }
        (Some("COUNT"), Some(member)) => format!("Cannot specify the {member} when choosing to get only the Count"),
        (Some(select @ ("ALL_ATTRIBUTES" | "ALL_PROJECTED_ATTRIBUTES")), Some(member)) => {
            format!("Cannot specify the {member} when choosing to get {select}")
        }
        (Some("ALL_PROJECTED_ATTRIBUTES"), None) if body["IndexName"].is_null() => {
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName".to_owned()
        }
        _ => return Ok(()),
    };
    Err(invalid_member(problem))
}

fn limit(body: &Value) -> Result<usize, Refusal> {
    match &body["Limit"] {
        Value::Null => Ok(usize::MAX),
        limit => limit
            .as_u64()
            .filter(|limit| *limit > 0)
            .and_then(|limit| usize::try_from(limit).ok())
            .ok_or_else(|| {
                invalid_member(format_args!(
                    "Value '{limit}' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"
                ))
            }),
    }
}

/// What a fault answers instead of the page, if it does.
fn ended_by_fault(table: &Table, fault: &InjectedFault) -> Option<Result<OperationOutcome, Refusal>> {
    fault.replaces_answer()?;
    table.reads().count_failed_call(fault, 1);
    Some(match fault {
        InjectedFault::AccountLimit => Err(throttled_read(table, Throttle::of_table(ThroughputLimit::Account))),
        fault if fault.is_throttle() => Err(exceeded(table)),
        fault => Ok(OperationOutcome::Fault(fault.clone())),
    })
}

/// Takes the cost of a page from the capacity for reads, if there is enough of it.
fn charged(table: &Table, call: &Call, cost: Cost) -> Result<(), Refusal> {
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
