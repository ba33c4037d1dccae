//! A table.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::index::{Index, IndexOptions};
use super::items::{Items, Write, units_of};
use super::key::Schema;
use super::options::TableOptions;
use super::value::size_of_item;
use super::vector_index::VectorIndex;
use crate::admission::{AdmissionControl, Demand, IndexDemand, Provision};
use crate::calls::{Call, Cost, Verdict};
use crate::capacity::Capacity;
use crate::fault::{InjectedFault, Predicate};
use crate::gate::Gate;
use crate::handles::{handle, handle_capacity};
use crate::journal::{Acknowledgement, Action, AnswerReceipt};
use crate::registry::{ACCOUNT, REGION, lock};
use crate::wire::Refusal;

/// Bytes of a write to a vector index that count as a unit of its throughput.
const UNIT: f64 = 1_024.0;

/// A table of the simulator. Clones are handles to the same table.
#[derive(Clone)]
pub struct Table {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    /// By the clock of the machine.
    created: SystemTime,
    schema: Schema,
    indexes: Vec<Index>,
    vector_indexes: Vec<VectorIndex>,
    counts_only: bool,
    state: Mutex<TableState>,
    /// The capacity and the faults of batch reads and scans.
    reads: Mutex<Gate>,
    poison: Predicate,
    hot: Predicate,
    hot_reads: Predicate,
}

pub(super) struct TableState {
    pub(super) gate: Gate,
    pub(super) items: Items,
}

handle!(Table, "entries", "arrive");

impl Table {
    handle_capacity!(
        "write units",
        "table(\"orders\", TableOptions::key(\"id\", KeyType::S).capacity(1_000.0))"
    );

    /// The ARN. Requests may name the table by it.
    pub fn arn(&self) -> String {
        format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{}", self.inner.name)
    }

    /// Changes how many units per second one of the partitions accepts, at each of these times after now: 0 is an outage,
    /// [`f64::INFINITY`] the limit of a healthy partition, 1,000. Partitions are numbered from 0. Does nothing if there is no
    /// such partition.
    pub fn schedule_partition(&self, number: usize, steps: impl IntoIterator<Item = (Duration, f64)>) {
        self.with_gate(|gate| gate.schedule_partition(number, steps));
    }

    /// The current number of partitions; 0 if there are none.
    pub fn partitions(&self) -> usize {
        self.with_gate(|gate| gate.partitions())
    }

    /// Calls with an item (or with the key of another write) for which the predicate is true are refused with
    /// `ValidationException`.
    ///
    /// The item is the JSON of the request: `orders.poison(|item| item["id"]["S"] == "7")`.
    pub fn poison(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.inner.poison.set(predicate);
    }

    /// Items (or keys of other writes) for which the predicate is true are returned as unprocessed, or throttled if they are written
    /// alone or in a transaction, whatever the capacity.
    pub fn reject_while(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.key_range(Capacity::none(), predicate);
    }

    /// Items (or keys of other writes) for which the predicate is true have a capacity of their own, in addition to that of the
    /// table, like those of a hot key range. Replaces an earlier range, and the predicate of
    /// [`reject_while`](Self::reject_while).
    pub fn key_range(&self, capacity: impl Into<Capacity>, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.with_gate(|gate| gate.set_hot_range(capacity.into()));
        self.inner.hot.set(predicate);
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.state().items.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item with this key, both as JSON of the wire: `{"id": {"S": "7"}}`.
    pub fn item(&self, key: &Value) -> Option<Value> {
        let key = self.key_of(key)?;
        self.state().items.get(&key)
    }

    /// The number of items that this vector index has; 0 if there is no such index. An item that was accepted and has no vector, or
    /// not the partition key of the index, is not in it.
    pub fn vectors(&self, index: &str) -> usize {
        let Some(index) = self.vector_indexes().iter().find(|known| known.name == index) else {
            return 0;
        };
        let items = self.items();
        items
            .iter()
            .filter_map(Value::as_object)
            .filter(|item| index.has(item))
            .count()
    }

    /// All items as JSON of the wire, in no particular order.
    pub fn items(&self) -> Vec<Value> {
        self.state().items.all()
    }

    /// The primary key of an item as text, equal for equal keys, as in [`Record::key`](crate::Record::key). `None` if it is not
    /// an item of this table.
    pub fn key_of(&self, item: &Value) -> Option<String> {
        self.schema().key_of_item(item.as_object()?).ok()
    }
}

impl Table {
    pub(crate) fn new(name: &str, options: TableOptions, seed: u64) -> Self {
        let now = Instant::now();
        let mut control = AdmissionControl::new(options.throughput, now, seed);
        let mut indexes = Vec::with_capacity(options.indexes.len());
        for (name, IndexOptions { schema, throughput }) in options.indexes {
            control = control.with_index(throughput, now);
            indexes.push(Index { name, schema });
        }
        let mut vector_indexes = Vec::with_capacity(options.vector_indexes.len());
        for (name, options) in options.vector_indexes {
            control = control.with_index(options.throughput.clone(), now);
            vector_indexes.push(VectorIndex { name, options });
        }
        let state = TableState {
            gate: Gate::new(control, seed),
            items: Items::default(),
        };
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                created: SystemTime::now(),
                schema: options.schema,
                indexes,
                vector_indexes,
                counts_only: options.counts_only,
                state: Mutex::new(state),
                reads: Mutex::new(Gate::new(AdmissionControl::new(options.reads, now, seed), seed)),
                poison: Predicate::default(),
                hot: Predicate::default(),
                hot_reads: Predicate::default(),
            }),
        }
    }

    /// Seconds since 1970.
    pub(super) fn created(&self) -> f64 {
        let since_epoch = self.inner.created.duration_since(UNIX_EPOCH);
        since_epoch.unwrap_or_default().as_secs_f64()
    }

    /// A UUID, another one for a table that replaces this one.
    pub(super) fn id(&self) -> String {
        let since_epoch = self.inner.created.duration_since(UNIX_EPOCH);
        let nanoseconds = since_epoch.unwrap_or_default().as_nanos();
        let (high, low) = (nanoseconds >> 48, nanoseconds & 0xffff_ffff_ffff);
        format!("{high:08x}-0000-4000-8000-{low:012x}")
    }

    pub(super) fn reads(&self) -> MutexGuard<'_, Gate> {
        lock(&self.inner.reads)
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.inner.schema
    }

    pub(super) fn indexes(&self) -> &[Index] {
        &self.inner.indexes
    }

    pub(super) fn vector_indexes(&self) -> &[VectorIndex] {
        &self.inner.vector_indexes
    }

    /// Refuses an item that an index cannot take.
    pub(super) fn check_indexes(&self, item: &Map<String, Value>) -> Result<(), Refusal> {
        self.indexes().iter().try_for_each(|index| index.check(item))?;
        self.vector_indexes().iter().try_for_each(|index| index.check(item))
    }

    /// The size by which an item with this size is billed: with the elements of vectors as 32-bit floats. Captured from DynamoDB in
    /// October 2026.
    pub(super) fn billed_size(&self, item: &Value, size: usize) -> usize {
        let billed: BTreeMap<&str, usize> = self.vector_indexes().iter().map(VectorIndex::billed).collect();
        billed.iter().fold(size, |size, (attribute, bytes)| {
            let Some(vector) = item.get(attribute) else {
                return size;
            };
            let sent = Map::from_iter([((*attribute).to_owned(), vector.clone())]);
            let sent = size_of_item(&sent).unwrap_or_default();
            (size + attribute.len() + bytes).saturating_sub(sent)
        })
    }

    /// The ARN of the table, or of one of its indexes. Vector indexes are numbered after the others.
    pub(super) fn arn_of(&self, index: Option<usize>) -> String {
        let names = self.indexes().iter().map(|index| &index.name);
        let mut names = names.chain(self.vector_indexes().iter().map(|index| &index.name));
        match index.and_then(|number| names.nth(number)) {
            Some(name) => format!("{}/index/{name}", self.arn()),
            None => self.arn(),
        }
    }

    /// The description of the capacity of the table, or of one of its indexes.
    pub(super) fn provision(&self, index: Option<usize>) -> Provision {
        self.state().gate.provision(index).unwrap_or_default()
    }

    pub(super) fn is_on_demand(&self) -> bool {
        self.provision(None).is_on_demand
    }

    pub(super) fn counts_only(&self) -> bool {
        self.inner.counts_only
    }

    /// Whether the item or the key belongs to the key range that has a capacity of its own.
    pub(super) fn is_hot(&self, entry: &Value) -> bool {
        self.inner.hot.holds(entry)
    }

    /// The same for reads.
    pub(super) fn is_hot_read(&self, item: &Value) -> bool {
        self.inner.hot_reads.holds(item)
    }

    pub(super) fn set_hot_reads(&self, capacity: Capacity, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.reads().set_hot_range(capacity);
        self.inner.hot_reads.set(predicate);
    }

    pub(super) fn poisons(&self, entry: &Value) -> bool {
        self.inner.poison.holds(entry)
    }

    pub(super) fn with_gate<R>(&self, act: impl FnOnce(&mut Gate) -> R) -> R {
        act(&mut self.state().gate)
    }

    /// Counts a call and returns its fault. No answer can omit a write.
    pub(super) fn call(&self, answered: &AnswerReceipt) -> Call {
        let mut call = self.with_gate(|gate| gate.call(answered));
        if let InjectedFault::Omitted { .. } = call.fault {
            call.fault = InjectedFault::None;
        }
        call
    }

    /// Applies the writes that the gate accepts, and returns what each of them costs.
    pub(super) fn apply(
        &self,
        writes: &[Write],
        call: &Call,
        acknowledgement: impl Fn(&Verdict) -> Acknowledgement,
    ) -> (Vec<Verdict>, Vec<Demand>) {
        let hot: Vec<bool> = writes.iter().map(|write| self.is_hot(&write.entry)).collect();
        let mut state = self.state();
        let state = &mut *state;
        let costs: Vec<Cost> = writes
            .iter()
            .zip(hot)
            .map(|(write, is_hot)| Cost {
                demand: state.demand(self, write),
                is_hot,
            })
            .collect();
        let verdicts = state.gate.decide(call, &costs);
        for (write, verdict) in writes.iter().zip(&verdicts) {
            if verdict.is_applied() && !self.inner.counts_only {
                state.items.store(write);
            }
            state.record(call, write, acknowledgement(verdict));
        }
        (verdicts, costs.into_iter().map(|cost| cost.demand).collect())
    }

    /// Records writes that are not applied in the journal.
    pub(super) fn record(&self, writes: &[Write], call: &Call, acknowledgement: Acknowledgement) {
        let mut state = self.state();
        for write in writes {
            state.record(call, write, acknowledgement);
        }
    }

    /// The description of the capacity for reads.
    pub(super) fn read_provision(&self) -> Provision {
        self.reads().provision(None).unwrap_or_default()
    }

    pub(super) fn size(&self) -> usize {
        self.state().items.bytes()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, TableState> {
        lock(&self.inner.state)
    }
}

impl TableState {
    /// What a write needs of the table and of its indexes.
    pub(super) fn demand(&self, table: &Table, write: &Write) -> Demand {
        let key = write.entry.as_object();
        let place = key.and_then(|entry| table.schema().place(entry)).unwrap_or_default();
        let mut demand = Demand::new(place, self.items.units(write));
        if table.indexes().is_empty() && table.vector_indexes().is_empty() {
            return demand;
        }
        let old = self.items.get_with_units(&write.key);
        let old = old.as_ref().map(|(item, units)| (item, *units));
        let (before, after) = (old.map(|(item, _)| item), write.is_put.then_some(&write.entry));
        let new = write.is_put.then(|| (&write.entry, units_of(write.size)));
        let numbered = table.indexes().iter().enumerate();
        demand.indexes = numbered
            .flat_map(|(number, index)| index.demands(number, old, new))
            .collect();
        for (number, index) in table.vector_indexes().iter().enumerate() {
            let bytes = index.write_bytes(before, after);
            demand.vector_bytes.push(bytes.unwrap_or_default());
            let place = index.place(after, place).or_else(|| index.place(before, place));
            demand
                .indexes
                .extend(bytes.zip(place).map(|(bytes, place)| IndexDemand {
                    index: table.indexes().len() + number,
                    place,
                    units: bytes / UNIT,
                }));
        }
        demand
    }

    fn record(&mut self, call: &Call, write: &Write, acknowledgement: Acknowledgement) {
        let action = if write.is_put { Action::Put } else { Action::Delete };
        let journal = &mut self.gate.journal;
        journal.write(&call.info, action, &write.key, &write.entry, acknowledgement);
    }
}
