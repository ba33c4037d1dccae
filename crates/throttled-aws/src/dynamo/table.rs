//! A table: its keys, its indexes and its capacity.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_batch_simulator::{AdmissionControl, OnDemand, Place, Throughput};
use serde_json::Value;
use tokio::time::Instant;

use super::change::{Change, changed_by};
use super::consumed::write_units;
use super::index::Index;
use super::keys::Keys;
use super::taken::Taken;
use crate::config::TableLimits;
use crate::plan::{Cause, Throttling};
use crate::registry::lock;

/// A partition has three times as many read units as write units. Reads are counted in thirds, so that the limit of a partition,
/// which is 1,000 in the model, holds for both.
const READS: f64 = 3.0;
/// Units per second of one partition, from "Partitions and data distribution" of the developer guide.
const WRITES_OF_A_PARTITION: f64 = 1_000.0;
const READS_OF_A_PARTITION: f64 = WRITES_OF_A_PARTITION * READS;

/// 2^64 divided by the golden ratio: its multiples are distributed evenly.
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;

/// More than any table of a test has: units of a file may be any number.
const MOST_PARTITIONS: f64 = 10_000.0;

pub(crate) struct Table {
    pub(super) arn: String,
    pub(super) keys: Keys,
    pub(super) globals: Vec<Index>,
    pub(super) locals: Vec<Index>,
    pub(super) is_on_demand: bool,
    capacity: Mutex<Capacity>,
    /// Reads without a position of their own.
    pages: AtomicU64,
}

struct Capacity {
    writes: AdmissionControl,
    reads: AdmissionControl,
}

impl Table {
    /// From the `Table` of `DescribeTable`, and what the file says about it.
    pub(crate) fn described(described: &Value, limits: &TableLimits, seed: u64, now: Instant) -> Option<Self> {
        let keys = Keys::of(&described["KeySchema"])?;
        let writes = Provision::of(described, "Write", limits.write_units);
        let mut reads = Provision::of(described, "Read", limits.read_units);
        // Of a table whose writes are provisioned, reads are, too.
        reads.units = reads.units.or(writes.units.map(|units| units * READS));
        let partitions = limits.partitions.or(writes.partitions_with(&reads));
        let mut capacity = Capacity {
            writes: AdmissionControl::new(writes.throughput(limits, partitions, 1.0), now, seed),
            reads: AdmissionControl::new(reads.throughput(limits, partitions, READS), now, !seed),
        };
        // The file's units of the table alone do not limit an index whose units nothing shows.
        let has_writes = limits.write_units.is_some();
        let has_reads = has_writes || limits.read_units.is_some();
        let mut globals = Vec::new();
        for index in described["GlobalSecondaryIndexes"].as_array().into_iter().flatten() {
            let writes = Provision::of(index, "Write", None);
            let reads = Provision::of(index, "Read", None);
            let partitions = writes.partitions_with(&reads);
            let throughput = |provision: &Provision, is_of_the_file, scale| {
                if provision.units.is_none() && is_of_the_file {
                    Throughput::default()
                } else {
                    provision.throughput(&TableLimits::default(), partitions, scale)
                }
            };
            capacity.writes = capacity.writes.with_index(throughput(&writes, has_writes, 1.0), now);
            capacity.reads = capacity.reads.with_index(throughput(&reads, has_reads, READS), now);
            globals.push(Index::described(index, &keys)?);
        }
        let locals = described["LocalSecondaryIndexes"].as_array().into_iter().flatten();
        let locals = locals.map(|index| Index::described(index, &keys));
        Some(Self {
            arn: described["TableArn"].as_str().unwrap_or_default().to_owned(),
            locals: locals.collect::<Option<Vec<Index>>>()?,
            keys,
            globals,
            is_on_demand: writes.units.is_none(),
            capacity: Mutex::new(capacity),
            pages: AtomicU64::default(),
        })
    }

    /// The position of a query, or of the page of a scan: pages are spread over all partitions, since the emulator reads in an order of
    /// its own.
    pub(super) fn place_of_page(&self, request: &Value) -> Place {
        let index = self.globals.iter().find(|index| request["IndexName"] == *index.name);
        let keys = index.map_or(&self.keys, |index| &index.keys);
        keys.place_of_query(request).unwrap_or_else(|| {
            let number = self.pages.fetch_add(1, Ordering::Relaxed);
            Place::new(number.wrapping_mul(GOLDEN_RATIO), 0)
        })
    }

    /// What an entry takes of the table, or of the index with this name: a local one is part of its table.
    pub(super) fn taken_of(&self, index: Option<&str>, place: Place, units: f64) -> Taken {
        let number = |of_kind: &[Index]| of_kind.iter().position(|known| Some(&*known.name) == index);
        let mut taken = Taken::new(place, 0.0);
        if let Some(number) = number(&self.globals) {
            taken.of_globals.push((number, place, units));
        } else if let Some(number) = number(&self.locals) {
            taken.of_locals.push((number, units));
        } else {
            taken.of_table = units;
        }
        taken
    }

    /// What a write takes that replaces this item, if there is one and it is known.
    pub(super) fn taken(&self, change: Change<'_>, old: Option<&Value>) -> Taken {
        let old_units = old.map_or(1.0, write_units);
        let mut taken = Taken::new(self.place(change.item()), old_units);
        let new = match change {
            Change::Put(item) => {
                taken.of_table = old_units.max(write_units(item));
                Some(item)
            }
            Change::Delete(_) => None,
            Change::Check(_) => return taken,
            Change::Update(_, update) => {
                let changed = changed_by(update);
                let globals = self.globals.iter().enumerate();
                let globals = globals.filter_map(|(number, index)| Some((number, index.may_take(old, &changed)?)));
                taken.of_globals = globals.map(|(number, (place, units))| (number, place, units)).collect();
                let locals = self.locals.iter().enumerate();
                let locals = locals.filter_map(|(number, index)| Some((number, index.may_take(old, &changed)?.1)));
                taken.of_locals = locals.collect();
                return taken;
            }
        };
        for (number, index) in self.globals.iter().enumerate() {
            let parts = index.taken(old, new).into_iter();
            taken
                .of_globals
                .extend(parts.map(|(place, units)| (number, place, units)));
        }
        for (number, index) in self.locals.iter().enumerate() {
            let parts = index.taken(old, new).into_iter();
            taken.of_locals.extend(parts.map(|(_, units)| (number, units)));
        }
        taken
    }

    pub(super) fn admit<'a>(&self, is_read: bool, all: impl Iterator<Item = &'a Taken>) -> Vec<Option<Throttling>> {
        let mut capacity = lock(&self.capacity);
        let (control, scale) = capacity.of(is_read);
        let demands: Vec<_> = all.map(|taken| taken.clone().times(scale).demand()).collect();
        let results = control.admit(Instant::now(), &demands);
        let throttling = |throttle: aws_batch_simulator::Throttle| Throttling {
            reason: throttle.reason(),
            index: throttle.index(),
            cause: Cause::Capacity,
        };
        results.into_iter().map(|result| result.err().map(throttling)).collect()
    }

    /// Charges for what is known only after the call.
    pub(super) fn charge(&self, is_read: bool, taken: &Taken) {
        let mut capacity = lock(&self.capacity);
        let (control, scale) = capacity.of(is_read);
        control.charge(&taken.clone().times(scale).demand());
    }

    /// Gives back what was not used after all.
    pub(super) fn give_back(&self, is_read: bool, taken: &Taken) {
        self.charge(is_read, &taken.clone().times(-1.0));
    }

    /// The units that are provisioned, or to which an on-demand table has grown.
    pub(crate) fn writes_per_second(&self) -> f64 {
        lock(&self.capacity).writes.capacity(Instant::now()).0
    }

    pub(super) fn has_indexes(&self) -> bool {
        !self.globals.is_empty() || !self.locals.is_empty()
    }

    /// The position of an item or a key. What has no key is refused by the emulator.
    pub(super) fn place(&self, item: &Value) -> Place {
        self.keys.place(item).unwrap_or_default()
    }
}

impl Capacity {
    /// The limits of writes or reads, and what one of their units is there.
    fn of(&mut self, is_read: bool) -> (&mut AdmissionControl, f64) {
        if is_read {
            (&mut self.reads, 1.0 / READS)
        } else {
            (&mut self.writes, 1.0)
        }
    }
}

/// What a description says about the capacity of a table or an index.
struct Provision {
    /// Per second; `None`: on demand.
    units: Option<f64>,
    most_on_demand: Option<f64>,
}

impl Provision {
    /// `kind` is `Write` or `Read`; `units` are those of the file.
    fn of(described: &Value, kind: &str, units: Option<f64>) -> Self {
        let provisioned = described["ProvisionedThroughput"][format!("{kind}CapacityUnits")].as_f64();
        // An on-demand table has 0 units there.
        let provisioned = provisioned.filter(|units| *units > 0.0);
        let is_on_demand = described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST";
        let most = described["OnDemandThroughput"][format!("Max{kind}RequestUnits")].as_f64();
        Self {
            units: units.or(provisioned.filter(|_| !is_on_demand)),
            most_on_demand: most.filter(|most| *most > 0.0),
        }
    }

    /// As many as the units of a provisioned table need.
    fn partitions_with(&self, reads: &Self) -> Option<usize> {
        let writes = self.units?;
        let partitions = writes / WRITES_OF_A_PARTITION + reads.units.unwrap_or_default() / READS_OF_A_PARTITION;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of partitions"
        )]
        let partitions = partitions.ceil().clamp(1.0, MOST_PARTITIONS) as usize;
        Some(partitions)
    }

    fn throughput(&self, limits: &TableLimits, partitions: Option<usize>, scale: f64) -> Throughput {
        let mut throughput = if let Some(units) = self.units {
            Throughput::provisioned(units / scale)
        } else {
            let growth = OnDemand::default();
            Throughput::on_demand(match self.most_on_demand {
                Some(most) => growth.at_most(most / scale),
                None => growth,
            })
        };
        if let Some(partitions) = partitions {
            throughput = throughput.partitions(partitions);
        }
        if let Some(burst) = limits.burst {
            throughput = throughput.burst(burst);
        }
        if limits.starts_full {
            throughput = throughput.starts_full();
        }
        match limits.splits_after {
            Some(time) => throughput.splits_after(time),
            None => throughput,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn accepted(described: &Value, limits: &TableLimits, writes: usize) -> usize {
        let table = Table::described(described, limits, 1, Instant::now()).unwrap();
        let all: Vec<Taken> = (0..writes)
            .map(|id| table.taken(Change::Put(&json!({"id": {"N": id.to_string()}})), None))
            .collect();
        table
            .admit(false, all.iter())
            .iter()
            .filter(|throttling| throttling.is_none())
            .count()
    }

    fn described() -> Value {
        json!({"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]})
    }

    #[tokio::test(start_paused = true)]
    async fn a_table_without_units_is_on_demand_and_takes_4000_at_once() {
        let accepted = accepted(&described(), &TableLimits::default(), 6_000);
        // Keys are not spread evenly over its four partitions.
        assert!((3_900..=4_000).contains(&accepted), "{accepted}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_provisioned_table_has_its_units_and_those_of_the_file_first() {
        let mut table = described();
        table["ProvisionedThroughput"] = json!({"WriteCapacityUnits": 10, "ReadCapacityUnits": 5});
        let full = TableLimits {
            starts_full: true,
            ..TableLimits::default()
        };
        // No more than one partition takes, though the burst is 3,000 units.
        assert_eq!(accepted(&table, &full, 6_000), 1_000);
        let of_the_file = TableLimits {
            write_units: Some(40.0),
            burst: Some(std::time::Duration::from_secs(1)),
            ..full
        };
        assert_eq!(accepted(&table, &of_the_file, 6_000), 40);
    }

    #[tokio::test(start_paused = true)]
    async fn reads_have_the_units_of_the_file_or_the_table_or_three_for_each_write() {
        let mut table = described();
        table["ProvisionedThroughput"] = json!({"WriteCapacityUnits": 300, "ReadCapacityUnits": 120});
        let limits = |read_units, write_units| TableLimits {
            read_units,
            write_units,
            starts_full: true,
            partitions: Some(0),
            burst: Some(std::time::Duration::from_secs(1)),
            ..TableLimits::default()
        };
        let reads = |described: &Value, limits: TableLimits| {
            let table = Table::described(described, &limits, 1, Instant::now()).unwrap();
            let read = Taken::new(table.place(&json!({})), 1.0);
            let accepted = table.admit(true, vec![read; 2_000].iter());
            accepted.iter().filter(|throttling| throttling.is_none()).count()
        };
        assert_eq!(reads(&table, limits(Some(210.0), None)), 210);
        assert_eq!(reads(&table, limits(None, None)), 120);
        assert_eq!(reads(&described(), limits(None, Some(50.0))), 150);
    }

    #[tokio::test(start_paused = true)]
    async fn an_index_without_capacity_throttles_its_table() {
        let mut table = described();
        table["GlobalSecondaryIndexes"] = json!([{
            "IndexName": "by_id",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "ProvisionedThroughput": {"WriteCapacityUnits": 1, "ReadCapacityUnits": 1},
        }]);
        let table = Table::described(&table, &TableLimits::default(), 1, Instant::now()).unwrap();
        let throttling = table.admit(
            false,
            [table.taken(Change::Put(&json!({"id": {"S": "a"}})), None)].iter(),
        )[0]
        .unwrap();
        assert_eq!(
            (throttling.index, throttling.reason),
            (Some(0), "IndexWriteProvisionedThroughputExceeded")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_partition_has_three_times_as_many_reads() {
        let table = Table::described(&described(), &TableLimits::default(), 1, Instant::now()).unwrap();
        let read = Taken::new(table.place(&json!({"id": {"S": "a"}})), 1.0);
        let accepted = table.admit(true, vec![read; 5_000].iter());
        assert_eq!(accepted.iter().filter(|throttling| throttling.is_none()).count(), 3_000);
    }
}
