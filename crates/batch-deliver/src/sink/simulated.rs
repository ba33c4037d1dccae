//! The simulator instead of a service.

use aws_batch_simulator::{Capacity, KeyType, QueueOptions, Simulator, TableOptions};

use crate::console::{counted, grouped};
use crate::format::{self, Key};

/// The burst of the simulated capacity, in seconds of its rate.
const BURST_SECONDS: f64 = 0.1;

/// The least burst for a call with at least this many entries. Of larger calls, no more than a second of the rate is accepted at once.
const LEAST: f64 = 25.0;

/// Entries of a call. From the API references of the services.
const WRITES: f64 = 25.0;
pub(super) const MESSAGES: f64 = 10.0;
const DELETIONS: f64 = 1_000.0;

/// A simulated destination, which counts entries but does not keep them, or a source, which keeps them.
pub(crate) struct SimulatedService {
    pub(crate) simulator: Simulator,
    /// What is counted of it.
    what: &'static str,
    count: Box<dyn Fn() -> u64 + Send + Sync>,
    /// The count before the delivery.
    before: u64,
    /// Whether many entries are counted as one.
    is_aggregated: bool,
}

impl SimulatedService {
    /// A destination or a source of the simulator, of which this is counted from now on.
    pub(super) fn new(
        simulator: Simulator,
        what: &'static str,
        count: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            simulator,
            what,
            before: count(),
            count: Box::new(count),
            is_aggregated: false,
        }
    }

    /// The same, in which many entries are counted as one.
    #[cfg(feature = "put")]
    pub(super) fn aggregated(self) -> Self {
        Self {
            is_aggregated: true,
            ..self
        }
    }

    /// A table with this capacity in write units per second.
    pub(crate) fn table(name: &str, key: &Key, rate: f64) -> Self {
        let simulator = Simulator::new(1);
        let table = simulator.table(
            last_part(name, ":table/"),
            keyed_by(key).capacity(writes(rate)).counts_only(),
        );
        Self::new(simulator, "write", move || table.statistics().applied)
    }

    /// A queue with this capacity in messages per second, and its URL.
    pub(crate) fn queue(name: &str, rate: f64) -> (Self, String) {
        let options = QueueOptions::default().content_based_deduplication();
        let simulator = Simulator::new(1);
        let queue = simulator.queue(name, options.capacity(capacity(rate, MESSAGES)).counts_only());
        let url = queue.url();
        let count = move || queue.statistics().applied;
        (Self::new(simulator, "message", count), url)
    }

    /// A bucket with this capacity in deletions per second. It has no objects: to delete one that does not exist is a success.
    pub(crate) fn bucket(name: &str, rate: f64) -> Self {
        let simulator = Simulator::new(1);
        let bucket = simulator.bucket(name);
        bucket.set_capacity("", capacity(rate, DELETIONS));
        Self::new(simulator, "deletion", move || bucket.statistics().applied)
    }

    /// A sentence that compares its count with the delivered entries.
    pub(crate) fn compare(&self, delivered: u64) -> String {
        let applied = (self.count)() - self.before;
        let stored = counted(applied, self.what);
        if self.is_aggregated {
            return format!(
                "the simulator stored {stored} for {} that were delivered",
                grouped(delivered)
            );
        }
        if applied == delivered {
            format!("the simulator stored what was delivered: {stored}")
        } else {
            format!(
                "the simulator stored {stored}, and {} were delivered",
                grouped(delivered)
            )
        }
    }
}

/// A table with this key.
pub(super) fn keyed_by(key: &Key) -> TableOptions {
    let kind = |kind: format::KeyType| match kind {
        format::KeyType::S => KeyType::S,
        format::KeyType::N => KeyType::N,
        format::KeyType::B => KeyType::B,
    };
    let table = TableOptions::key(&key.partition.name, kind(key.partition.kind));
    match &key.sort {
        Some(sort) => table.sort_key(&sort.name, kind(sort.kind)),
        None => table,
    }
}

/// The name in an ARN.
pub(super) fn last_part<'a>(arn: &'a str, separator: &str) -> &'a str {
    arn.rsplit(separator).next().unwrap_or(arn)
}

/// The capacity of a table.
pub(super) fn writes(rate: f64) -> Capacity {
    capacity(rate, WRITES)
}

/// This rate, whose burst is at least a call with this many entries: what does not fit into a bucket is lost in the meantime.
pub(super) fn capacity(rate: f64, entries: f64) -> Capacity {
    Capacity::per_second(rate).burst(entries.min(rate.max(LEAST)).max(rate * BURST_SECONDS))
}
