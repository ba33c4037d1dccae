//! Decides on each write whether it is accepted.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use tokio::time::Instant;

use super::demand::{Demand, Place};
use super::resource::{Provision, Resource};
use super::throttle::Throttle;
use super::throughput::Throughput;
use crate::capacity::Capacity;

/// Decides for each write whether the table, its partitions and its indexes have the capacity for it.
///
/// A write consumes units of four limits, and is throttled if one of them has too little left:
///
/// | limit | default | reason |
/// |---|---|---|
/// | the partition of its partition key | 1,000 units/s, whatever the table has left | `TableWriteKeyRangeThroughputExceeded` |
/// | the table: its provisioned capacity, or that to which an on-demand table has grown | unlimited | `TableWriteProvisionedThroughputExceeded` |
/// | the partition of each index that it is in | 1,000 units/s | `IndexWriteKeyRangeThroughputExceeded` |
/// | each index that it is in | unlimited | `IndexWriteProvisionedThroughputExceeded` |
///
/// The table's units are one pool: a hot partition may use what others leave, up to its own limit. The control has no clock
/// and does no I/O: times are arguments, and must not go backwards. The same seed and the same calls at the same times give
/// the same answers. The simulator's tables are built on it; a target of your own can be, too:
///
/// ```
/// use std::time::Duration;
/// use aws_batch_simulator::{AdmissionControl, Demand, Place, Throughput};
/// use tokio::time::Instant;
///
/// let now = Instant::now();
/// let throughput = Throughput::provisioned(4_000.0).partitions(10).burst(Duration::from_secs(1)).starts_full();
/// let mut table = AdmissionControl::new(throughput, now, 42);
/// let hot = Demand::new(Place::new(7, 0), 1.0);
/// let accepted = table.admit(now, &vec![hot; 2_000]);
/// let accepted = accepted.iter().filter(|result| result.is_ok()).count();
/// assert_eq!(accepted, 1_000, "the table has 4,000 units left, the partition had 1,000");
/// ```
#[derive(Debug, Clone)]
pub struct AdmissionControl {
    table: Resource,
    indexes: Vec<Resource>,
    random: SmallRng,
}

impl AdmissionControl {
    /// A table that is created at `now`.
    pub fn new(throughput: impl Into<Throughput>, now: Instant, seed: u64) -> Self {
        Self {
            table: Resource::new(&throughput.into(), now, seed),
            indexes: Vec::new(),
            random: SmallRng::seed_from_u64(!seed),
        }
    }

    /// Adds an index. A write for which the index has no capacity is throttled by the table.
    #[must_use]
    pub fn with_index(mut self, throughput: impl Into<Throughput>, now: Instant) -> Self {
        let seed = rand::RngExt::random(&mut self.random);
        self.indexes.push(Resource::new(&throughput.into(), now, seed));
        self
    }

    /// Decides for each write of a call, in random order, and charges for those that are accepted.
    ///
    /// `DynamoDB` answers a call of which nothing is accepted with an error.
    pub fn admit(&mut self, now: Instant, call: &[Demand]) -> Vec<Result<(), Throttle>> {
        self.advance(now);
        let mut order: Vec<usize> = (0..call.len()).collect();
        order.shuffle(&mut self.random);
        let mut results = vec![Ok(()); call.len()];
        for index in order {
            results[index] = self.take(now, &call[index]);
        }
        results
    }

    /// Changes the capacity of the table at each of these times after `now`. Replaces an earlier schedule.
    pub fn schedule<C: Into<Capacity>>(&mut self, steps: impl IntoIterator<Item = (Duration, C)>, now: Instant) {
        let steps = steps.into_iter().map(|(after, capacity)| (after, capacity.into()));
        self.table.pool.schedule(steps, now);
    }

    /// Changes how many units per second one of the table's partitions accepts, at each of these times after `now`: 0 is an
    /// outage, infinity the limit of a healthy partition. Partitions are numbered from 0 in the order of the hashes. Does
    /// nothing if there is no such partition.
    pub fn schedule_partition(&mut self, index: usize, steps: impl IntoIterator<Item = (Duration, f64)>, now: Instant) {
        if let Some(partitions) = &mut self.table.partitions {
            partitions.schedule(index, steps, now);
        }
    }

    /// The current number of partitions; 0 if the table has none.
    pub fn partitions(&self) -> usize {
        let partitions = self.table.partitions.as_ref();
        partitions.map_or(0, super::partitions::Partitions::len)
    }

    /// The number of the partition that a place belongs to, from 0 in the order of the hashes.
    pub fn partition_of(&self, place: Place) -> usize {
        let partitions = self.table.partitions.as_ref();
        partitions.map_or(0, |partitions| partitions.index_of(place))
    }

    /// The current capacity of the table, in units per second, and the units that can be used at once.
    pub fn capacity(&mut self, now: Instant) -> (f64, f64) {
        self.advance(now);
        let pool = &self.table.pool;
        (pool.capacity().rate(), pool.level())
    }

    /// The description of the capacity of the table, or of the index with this number.
    pub(crate) fn provision(&mut self, index: Option<usize>, now: Instant) -> Option<Provision> {
        self.advance(now);
        let resource = match index {
            None => Some(&self.table),
            Some(index) => self.indexes.get(index),
        };
        resource.map(Resource::provision)
    }

    /// Applies everything that is scheduled up to `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.table.advance(now);
        for index in &mut self.indexes {
            index.advance(now);
        }
    }

    /// Decides for one write, after [`advance`](Self::advance), and charges for it.
    pub(crate) fn take(&mut self, now: Instant, demand: &Demand) -> Result<(), Throttle> {
        if let Some(throttle) = self.refusal(now, demand) {
            return Err(throttle);
        }
        self.charge(demand);
        Ok(())
    }

    fn refusal(&mut self, now: Instant, demand: &Demand) -> Option<Throttle> {
        // A read of an index takes nothing of the table, which may be in debt.
        if demand.units > 0.0
            && let Some(limit) = self.table.refusal(demand.place, demand.units, now)
        {
            return Some(Throttle::of_table(limit));
        }
        demand.indexes.iter().find_map(|part| {
            let index = self.indexes.get_mut(part.index)?;
            let limit = index.refusal(part.place, part.units, now)?;
            Some(Throttle {
                index: Some(part.index),
                limit,
            })
        })
    }

    /// For each of these writes the limit that does not allow it, after [`advance`](Self::advance). The pool decides on its sum
    /// with the allowed writes before it, the partitions on each write alone.
    pub(crate) fn throttles<'a>(
        &mut self,
        now: Instant,
        call: impl Iterator<Item = &'a Demand>,
    ) -> Vec<Option<Throttle>> {
        let mut used = 0.0;
        call.map(|demand| {
            let throttle = self.refusal(now, demand).or_else(|| {
                let fits = self.table.pool.fits(used + demand.units);
                (!fits).then(|| Throttle::of_table(self.table.pool.limit()))
            });
            if throttle.is_none() {
                used += demand.units;
            }
            throttle
        })
        .collect()
    }

    /// Charges for a write whatever is left, also below zero: for what is known only after the call. Negative units are given back.
    pub fn charge(&mut self, demand: &Demand) {
        self.table.take(demand.place, demand.units);
        for part in &demand.indexes {
            if let Some(index) = self.indexes.get_mut(part.index) {
                index.take(part.place, part.units);
            }
        }
    }

    pub(crate) fn change(&mut self, capacity: Capacity, now: Instant) {
        self.table.pool.change(capacity, now);
    }

    pub(crate) fn drain(&mut self, units: f64, now: Instant) -> f64 {
        self.advance(now);
        self.table.pool.drain(units)
    }
}
