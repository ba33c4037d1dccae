//! Scenarios and their targets.

use aws_batch_simulator::Throughput;

use super::workload::Workload;

/// The targets of a scenario; infinite if there is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Targets {
    /// Time over the best possible, on average.
    pub(crate) time: f64,
    /// Rejected entries in percent of those sent, beyond the share that is rejected at random.
    pub(crate) rejected: f64,
    /// Milliseconds that entries of keys that are not hot wait: 99 of 100, and on average.
    pub(crate) p99: f64,
    pub(crate) mean: f64,
    /// Calls over the least number.
    pub(crate) calls: f64,
    /// Jain's index of the processes' shares, at least.
    pub(crate) jain: f64,
    /// Percent of the live tenant's writes that are throttled.
    pub(crate) tenant: f64,
}

pub(crate) const NOTHING: Targets = Targets {
    time: f64::INFINITY,
    rejected: f64::INFINITY,
    p99: f64::INFINITY,
    mean: f64::INFINITY,
    calls: f64::INFINITY,
    jain: 0.0,
    tenant: f64::INFINITY,
};

/// Throttles that do not depend on the pace, as shares from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AtRandom {
    pub(crate) calls: f64,
    pub(crate) entries: f64,
}

/// A partition that accepts nothing for a while.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outage {
    pub(crate) partition: usize,
    pub(crate) from: f64,
    pub(crate) until: f64,
}

/// The time that a run is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Best {
    /// The oracle's time.
    Oracle,
    /// The time of a run with the same seed and without the throttles at random.
    WithoutFaults,
}

/// One kind of run.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) throughput: Throughput,
    pub(crate) index: Option<Throughput>,
    /// Every n-th item has the same partition key in the index; 0 for none.
    pub(crate) hot_in_index: usize,
    /// Whether the service counts calls: each takes the capacity of a full one, and is accepted or throttled as a whole.
    pub(crate) counts_calls: bool,
    /// Seconds after which the table has another capacity.
    pub(crate) steps: Vec<(f64, f64)>,
    pub(crate) outage: Option<Outage>,
    pub(crate) at_random: AtRandom,
    pub(crate) workload: Workload,
    pub(crate) entries: usize,
    /// Deliveries that share nothing, each with an equal part of the entries.
    pub(crate) processes: usize,
    /// The first processes, which are loops with full jitter and without a pace.
    pub(crate) loops: usize,
    /// Deliveries of each process, which share its pace and its calls in flight.
    pub(crate) deliveries: usize,
    /// Whether each delivery has one run of the entries, instead of every n-th for n deliveries.
    pub(crate) in_runs: bool,
    /// Seconds in which the processes start, one after another.
    pub(crate) stagger: f64,
    /// Writes a second of a live tenant of the same table.
    pub(crate) tenant: f64,
    /// Entries of a call.
    pub(crate) chunk: usize,
    /// Calls in flight of each process.
    pub(crate) workers: usize,
    /// Median round trip in seconds.
    pub(crate) trip: f64,
    pub(crate) best: Best,
    pub(crate) targets: Targets,
}

impl Scenario {
    pub(crate) fn new(name: &str, throughput: impl Into<Throughput>, workload: Workload, entries: usize) -> Self {
        Self {
            name: name.to_owned(),
            throughput: throughput.into(),
            index: None,
            hot_in_index: 0,
            counts_calls: false,
            steps: Vec::new(),
            outage: None,
            at_random: AtRandom::default(),
            workload,
            entries,
            processes: 1,
            loops: 0,
            deliveries: 1,
            in_runs: false,
            stagger: 0.0,
            tenant: 0.0,
            chunk: 25,
            workers: 64,
            trip: 0.008,
            best: Best::Oracle,
            targets: NOTHING,
        }
    }

    /// The targets: time over the best possible, and rejected percent.
    pub(crate) fn within(mut self, time: f64, rejected: f64) -> Self {
        (self.targets.time, self.targets.rejected) = (time, rejected);
        self
    }

    /// The target of the wait of entries that are not hot: milliseconds of 99 in 100.
    pub(crate) fn waits(mut self, p99: f64) -> Self {
        self.targets.p99 = p99;
        self
    }

    pub(crate) fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }

    /// Percent of the sent entries that are rejected whatever the pace.
    pub(crate) fn unavoidable(&self) -> f64 {
        let AtRandom { calls, entries } = self.at_random;
        100.0 * (1.0 - (1.0 - calls) * (1.0 - entries))
    }
}
