//! A table.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::consumed::Consumed;
use super::index::{Index, IndexOptions};
use super::items::{Items, units_of};
use super::key::Schema;
use super::options::TableOptions;
use super::request::Write;
use crate::admission::{AdmissionControl, Demand, Provision};
use crate::bucket::Capacity;
use crate::fault::{Faults, InjectedFault};
use crate::gate::{Gate, Passage, Strike, Toll};
use crate::journal::{Acknowledgement, Action, CallMark, Heard, Record};
use crate::predicate::Predicate;
use crate::statistics::Statistics;
use crate::{ACCOUNT, REGION, lock};

/// A table of the simulator. Clones are handles to the same one.
#[derive(Clone)]
pub struct Table {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    schema: Schema,
    indexes: Vec<Index>,
    is_forgetful: bool,
    state: Mutex<State>,
    /// What stands before batch reads.
    reads: Mutex<Gate>,
    poison: Predicate,
    hot: Predicate,
}

struct State {
    gate: Gate,
    items: Items,
}

/// Handles for tests.
impl Table {
    /// The name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The ARN. Requests may name the table by it.
    pub fn arn(&self) -> String {
        format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{}", self.inner.name)
    }

    /// Changes the capacity. The level of the bucket is kept as far as it fits.
    pub fn set_capacity(&self, capacity: impl Into<Capacity>) {
        self.state().gate.set_capacity(capacity.into());
    }

    /// Changes the capacity later, each time so long after now, to the moment exactly.
    ///
    /// Replaces what was scheduled before; [`set_capacity`](Self::set_capacity) ends it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use aws_batch_simulator::{Simulator, KeyType, TableOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # let simulator = Simulator::new(1);
    /// let orders = simulator.table("orders", TableOptions::key("id", KeyType::S).capacity(1_000.0));
    /// orders.schedule_capacity([(Duration::from_secs(30), 500.0), (Duration::from_secs(60), 2_000.0)]);
    /// # }
    /// ```
    pub fn schedule_capacity<C: Into<Capacity>>(&self, steps: impl IntoIterator<Item = (Duration, C)>) {
        self.state().gate.schedule_capacity(steps);
    }

    /// One of the partitions takes so many units a second, each time so long after now: 0 is an outage, [`f64::INFINITY`] what a
    /// healthy one takes, 1,000. Partitions are numbered from 0. Nothing happens where there is no such partition.
    pub fn schedule_partition(&self, number: usize, steps: impl IntoIterator<Item = (Duration, f64)>) {
        self.state().gate.schedule_partition(number, steps);
    }

    /// How many partitions there are by now, and 0 where there are none.
    pub fn partitions(&self) -> usize {
        self.state().gate.partitions()
    }

    /// Another tenant writes: takes up to so many units from the bucket, and says how many there were.
    pub fn drain(&self, units: f64) -> f64 {
        self.state().gate.drain(units)
    }

    /// What goes wrong at random, from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.state().gate.set_faults(faults);
    }

    /// What happens to the next batch calls, in this order; after them the random faults strike again. Replaces what is
    /// left of an earlier script. A call that is refused for its contents takes its step of the script, too.
    pub fn script(&self, faults: impl IntoIterator<Item = InjectedFault>) {
        self.state().gate.set_script(faults);
    }

    /// Calls with an item (or with the key of a delete) for which this holds are refused with `ValidationException`.
    ///
    /// The item is as it is on the wire: `orders.poison(|item| item["id"]["S"] == "7")`.
    pub fn poison(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.inner.poison.set(predicate);
    }

    /// Items (or keys of deletes) for which this holds at the moment come back unprocessed, as those of a hot key range.
    pub fn reject_while(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.key_range(Capacity::none(), predicate);
    }

    /// Items (or keys of deletes) for which this holds are a key range with a capacity of its own, besides the table's.
    /// Replaces an earlier range.
    pub fn key_range(&self, capacity: impl Into<Capacity>, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.state().gate.set_hot(Some(capacity.into()));
        self.inner.hot.set(predicate);
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.state().items.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item with this key, both as they are on the wire: `{"id": {"S": "7"}}`.
    pub fn item(&self, key: &Value) -> Option<Value> {
        let key = self.key_of(key)?;
        self.state().items.get(&key)
    }

    /// All items, as they are on the wire, in no order that means anything.
    pub fn items(&self) -> Vec<Value> {
        self.state().items.all()
    }

    /// The primary key of an item in a form in which equal keys are equal text, as in [`Record::key`]; `None` for what is
    /// no item of this table.
    pub fn key_of(&self, item: &Value) -> Option<String> {
        self.schema().key_of_item(item.as_object()?).ok()
    }

    /// How many batch calls have arrived.
    pub fn calls(&self) -> u64 {
        self.state().gate.statistics.calls
    }

    /// What has arrived, in numbers.
    pub fn statistics(&self) -> Statistics {
        self.state().gate.statistics
    }

    /// Keeps a record of every entry from now on. Off at first, since it takes memory.
    pub fn keep_journal(&self) {
        self.state().gate.journal.switch_on();
    }

    /// What happened to every entry since [`keep_journal`](Self::keep_journal), in the order of arrival.
    pub fn journal(&self) -> Vec<Record> {
        self.state().gate.journal.records()
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
        let state = State {
            gate: Gate::new(control, seed),
            items: Items::default(),
        };
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                schema: options.schema,
                indexes,
                is_forgetful: options.is_forgetful,
                state: Mutex::new(state),
                reads: Mutex::new(Gate::new(AdmissionControl::new(Capacity::unlimited(), now, seed), seed)),
                poison: Predicate::default(),
                hot: Predicate::default(),
            }),
        }
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

    /// The ARN of the table, or of one of its indexes.
    pub(super) fn arn_of(&self, index: Option<usize>) -> String {
        let index = index.and_then(|number| self.inner.indexes.get(number));
        match index {
            Some(index) => format!("{}/index/{}", self.arn(), index.name),
            None => self.arn(),
        }
    }

    /// What the table, or one of its indexes, says of its capacity.
    pub(super) fn provision(&self, index: Option<usize>) -> Provision {
        self.state().gate.provision(index).unwrap_or_default()
    }

    pub(super) fn is_on_demand(&self) -> bool {
        self.provision(None).is_on_demand
    }

    pub(super) fn poisons(&self, entry: &Value) -> bool {
        self.inner.poison.holds(entry)
    }

    /// Counts a call and says what goes wrong with it.
    pub(super) fn strike(&self, heard: &Heard) -> (CallMark, Strike) {
        let mut state = self.state();
        let mut strike = state.gate.strike();
        if let InjectedFault::Omitted { .. } = strike.fault {
            strike.fault = InjectedFault::None;
        }
        let mark = CallMark {
            call: state.gate.statistics.calls,
            at: Instant::now(),
            heard: heard.clone(),
        };
        (mark, strike)
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Statistics)) {
        change(&mut self.state().gate.statistics);
    }

    /// Writes as far as the gate lets through, and says what that took.
    pub(super) fn apply(
        &self,
        writes: &[Write],
        mark: &CallMark,
        strike: &Strike,
        acknowledgement: impl Fn(&Passage) -> Acknowledgement,
    ) -> (Vec<Passage>, Consumed) {
        let hot: Vec<bool> = writes.iter().map(|write| self.inner.hot.holds(&write.entry)).collect();
        let mut state = self.state();
        let state = &mut *state;
        let tolls: Vec<Toll> = writes
            .iter()
            .zip(hot)
            .map(|(write, hot)| Toll {
                demand: state.demand(&self.inner, write),
                hot,
            })
            .collect();
        let passages = state.gate.sift(mark.at, strike, &tolls);
        let mut consumed = Consumed::new(self.inner.indexes.len());
        for (toll, _) in tolls.iter().zip(&passages).filter(|(_, passage)| passage.is_applied()) {
            consumed.add(&toll.demand);
        }
        for (write, passage) in writes.iter().zip(&passages) {
            if passage.is_applied() && !self.inner.is_forgetful {
                state.items.store(write);
            }
            state.note(mark, write, acknowledgement(passage));
        }
        (passages, consumed)
    }

    /// Notes writes that are not applied at all.
    pub(super) fn skip(&self, writes: &[Write], mark: &CallMark, acknowledgement: Acknowledgement) {
        let mut state = self.state();
        state.gate.statistics.entries += writes.len() as u64;
        for write in writes {
            state.note(mark, write, acknowledgement);
        }
    }

    /// Up to so many items or bytes of items after this key, and whether there may be more.
    pub(super) fn page(&self, after: Option<&str>, most: usize, largest: usize) -> (Vec<Value>, bool) {
        self.state().items.page(after, most, largest)
    }

    pub(super) fn size(&self) -> usize {
        self.state().items.bytes()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.inner.state)
    }
}

impl State {
    /// What a write takes of the table and of its indexes.
    fn demand(&self, table: &Inner, write: &Write) -> Demand {
        let key = write.entry.as_object();
        let place = key.and_then(|entry| table.schema.place(entry)).unwrap_or_default();
        let mut demand = Demand::new(place, self.items.units(write));
        if table.indexes.is_empty() {
            return demand;
        }
        let old = self.items.get_with_units(&write.key);
        let old = old.as_ref().map(|(item, units)| (item, *units));
        let new = write.is_put.then(|| (&write.entry, units_of(write.size)));
        let numbered = table.indexes.iter().enumerate();
        demand.indexes = numbered
            .flat_map(|(number, index)| index.demands(number, old, new))
            .collect();
        demand
    }

    fn note(&mut self, mark: &CallMark, write: &Write, acknowledgement: Acknowledgement) {
        if self.gate.journal.is_on() {
            let action = if write.is_put { Action::Put } else { Action::Delete };
            self.gate
                .journal
                .write(mark, action, &write.key, &write.entry, acknowledgement);
        }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.inner.name)
            .finish_non_exhaustive()
    }
}
