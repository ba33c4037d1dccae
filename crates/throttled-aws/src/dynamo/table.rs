//! A table: its keys, its indexes and its capacity.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use aws_batch_simulator::{AdmissionControl, Demand, OnDemand, Place, Throughput};
use serde_json::Value;
use tokio::time::Instant;

use crate::config::TableLimits;
use crate::plan::{Cause, Throttling};
use crate::registry::lock;

/// A partition has three times as many read units as write units. Reads are counted in thirds, so that the limit of a partition,
/// which is 1,000 in the model, holds for both.
const READS: f64 = 3.0;
/// Units per second of one partition, from "Partitions and data distribution" of the developer guide.
const WRITES_OF_A_PARTITION: f64 = 1_000.0;
const READS_OF_A_PARTITION: f64 = WRITES_OF_A_PARTITION * READS;

/// More than any table of a test has: units of a file may be any number.
const MOST_PARTITIONS: f64 = 10_000.0;

pub(crate) struct Table {
    pub(super) arn: String,
    pub(super) keys: Keys,
    pub(super) indexes: Vec<Index>,
    pub(super) is_on_demand: bool,
    capacity: Mutex<Capacity>,
}

struct Capacity {
    writes: AdmissionControl,
    reads: AdmissionControl,
}

pub(super) struct Index {
    pub(super) name: String,
    keys: Keys,
}

/// The names of the attributes of a primary key.
pub(super) struct Keys {
    partition: String,
    sort: Option<String>,
}

impl Keys {
    fn of(schema: &Value) -> Option<Self> {
        let schema = schema.as_array()?;
        let with = |role: &str| {
            let attribute = schema.iter().find(|attribute| attribute["KeyType"] == role)?;
            attribute["AttributeName"].as_str().map(str::to_owned)
        };
        Some(Self {
            partition: with("HASH")?,
            sort: with("RANGE"),
        })
    }

    /// The key attributes of an item, as in the journal; `None` if it lacks one.
    pub(super) fn key_of(&self, item: &Value) -> Option<String> {
        let value = |name: &String| Some((name.clone(), item.get(name)?.clone()));
        let partition = value(&self.partition)?;
        let sort = match &self.sort {
            Some(name) => Some(value(name)?),
            None => None,
        };
        let key: serde_json::Map<String, Value> = std::iter::once(partition).chain(sort).collect();
        Some(Value::Object(key).to_string())
    }

    /// Its position among the partitions; `None` if it lacks a key.
    pub(super) fn place(&self, item: &Value) -> Option<Place> {
        let sort = match &self.sort {
            Some(name) => hash(item.get(name)?),
            None => 0,
        };
        Some(Place::new(hash(item.get(&self.partition)?), sort))
    }
}

/// The same in each run.
fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
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
        let mut control = AdmissionControl::new(writes.throughput(limits, partitions, 1.0), now, seed);
        let mut indexes = Vec::new();
        for index in described["GlobalSecondaryIndexes"].as_array().into_iter().flatten() {
            let provision = Provision::of(index, "Write", None);
            let throughput = provision.throughput(&TableLimits::default(), provision.partitions_with(&reads), 1.0);
            // The file's units of the table alone do not limit an index whose units nothing tells.
            let throughput = if provision.units.is_none() && limits.write_units.is_some() {
                Throughput::default()
            } else {
                throughput
            };
            control = control.with_index(throughput, now);
            indexes.push(Index {
                name: index["IndexName"].as_str()?.to_owned(),
                keys: Keys::of(&index["KeySchema"])?,
            });
        }
        Some(Self {
            arn: described["TableArn"].as_str().unwrap_or_default().to_owned(),
            keys,
            indexes,
            is_on_demand: writes.units.is_none(),
            capacity: Mutex::new(Capacity {
                writes: control,
                reads: AdmissionControl::new(reads.throughput(limits, partitions, READS), now, !seed),
            }),
        })
    }

    /// What a write of an item takes: of the table, and of the indexes that the item is in.
    pub(super) fn demand(&self, item: &Value, units: f64) -> Demand {
        let demand = Demand::new(self.place(item), units);
        let places = self.indexes.iter().map(|index| index.keys.place(item)).enumerate();
        places.fold(demand, |demand, (index, place)| match place {
            Some(place) => demand.with_index(index, place),
            None => demand,
        })
    }

    /// What a write of an item takes of all indexes together.
    pub(super) fn units_of_indexes(&self, item: &Value, units: f64) -> f64 {
        let in_it = |index: &&Index| index.keys.place(item).is_some();
        self.indexes.iter().filter(in_it).map(|_| units).sum()
    }

    pub(super) fn admit(&self, is_read: bool, demands: &[Demand]) -> Vec<Option<Throttling>> {
        let mut capacity = lock(&self.capacity);
        let control = if is_read {
            &mut capacity.reads
        } else {
            &mut capacity.writes
        };
        let results = control.admit(Instant::now(), demands);
        let throttling = |throttle: aws_batch_simulator::Throttle| Throttling {
            reason: throttle.reason(),
            index: throttle.index(),
            cause: Cause::Capacity,
        };
        results.into_iter().map(|result| result.err().map(throttling)).collect()
    }

    /// Charges for what is known only after the call; negative units are given back.
    pub(super) fn charge(&self, is_read: bool, place: Place, units: f64) {
        let mut capacity = lock(&self.capacity);
        if is_read {
            capacity.reads.charge(&Demand::new(place, units / READS));
        } else {
            capacity.writes.charge(&Demand::new(place, units));
        }
    }

    /// Gives back what was not used after all, to the indexes as well. The units of the demand are negative.
    pub(super) fn give_back(&self, is_read: bool, demand: &Demand) {
        let mut capacity = lock(&self.capacity);
        if is_read {
            capacity.reads.charge(demand);
        } else {
            capacity.writes.charge(demand);
        }
    }

    /// The position of an item or a key. What has no key is refused by the emulator.
    pub(super) fn place(&self, item: &Value) -> Place {
        self.keys.place(item).unwrap_or_default()
    }

    /// What a read of this many units takes.
    pub(super) fn read_demand(&self, key: &Value, units: f64) -> Demand {
        Demand::new(self.place(key), units / READS)
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
        if let Some(partitions) = partitions.filter(|partitions| *partitions > 0) {
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
        let demands: Vec<Demand> = (0..writes)
            .map(|id| table.demand(&json!({"id": {"N": id.to_string()}}), 1.0))
            .collect();
        table
            .admit(false, &demands)
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
            let read = table.read_demand(&json!({}), 1.0);
            let accepted = table.admit(true, &vec![read; 2_000]);
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
        let throttling = table.admit(false, &[table.demand(&json!({"id": {"S": "a"}}), 1.0)])[0].unwrap();
        assert_eq!(
            (throttling.index, throttling.reason),
            (Some(0), "IndexWriteProvisionedThroughputExceeded")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_partition_has_three_times_as_many_reads() {
        let table = Table::described(&described(), &TableLimits::default(), 1, Instant::now()).unwrap();
        let read = table.read_demand(&json!({"id": {"S": "a"}}), 1.0);
        let accepted = table.admit(true, &vec![read; 5_000]);
        assert_eq!(accepted.iter().filter(|throttling| throttling.is_none()).count(), 3_000);
    }
}
