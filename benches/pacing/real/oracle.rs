//! The best possible time.

use std::collections::VecDeque;
use std::time::Duration;

use aws_batch_simulator::AdmissionControl;
use tokio::time::Instant;

use super::scenario::Scenario;
use super::service::{control, demand};
use super::workload::Item;

/// The time step of the oracle.
const STEP: Duration = Duration::from_millis(1);
/// The most steps; no scenario takes as many.
const MOST_STEPS: u32 = 3_600_000;
/// Units a second of one partition.
const PARTITION_LIMIT: f64 = 1000.0;

/// The result of an oracle that has the entries as soon as they arrive, takes them in any order and sees the capacity left in each
/// partition.
#[derive(Debug, Clone)]
pub(crate) struct Oracle {
    /// When the last entry is accepted, in seconds.
    pub(crate) end: f64,
    /// Whether an entry belongs to a partition that has more to do than others and no time to lose.
    pub(crate) hot: Vec<bool>,
}

impl Oracle {
    pub(crate) fn of(scenario: &Scenario, items: &[Item], seed: u64) -> Self {
        let start = Instant::now();
        let mut table = control(scenario, start, seed);
        let first = Lines::of(items, 0..items.len(), &table);
        let end = end(scenario, items, &mut table, start);
        let mean = first.units.iter().sum::<f64>() / (first.units.len() - 1) as f64;
        let hot: Vec<bool> = (0..first.units.len() - 1)
            .map(|partition| {
                let units = first.units[partition];
                let busy = units > 1.2 * mean && units / PARTITION_LIMIT > 0.95 * end;
                let out = scenario.outage.is_some_and(|outage| outage.partition == partition);
                (busy && !scenario.workload.is_live()) || out || scenario.workload.heats() == Some(partition)
            })
            .collect();
        let table = control(scenario, start, seed);
        let is_hot = |item: &Item| item.is_hot_in_index() || hot[table.partition_of(item.place)];
        let hot = items.iter().map(is_hot).collect();
        Self { end, hot }
    }
}

/// Uses all available capacity every millisecond, that of the partition with the most work first, within the limit of calls in
/// flight.
fn end(scenario: &Scenario, items: &[Item], table: &mut AdmissionControl, start: Instant) -> f64 {
    let mean_trip = scenario.trip * 0.08_f64.exp() * (1.0 + 0.005 * 7.0);
    let calls = (scenario.workers * scenario.processes) as f64;
    let carried =
        calls * scenario.chunk as f64 / mean_trip * (1.0 - scenario.unavoidable() / 100.0) * STEP.as_secs_f64();
    let mut allowed = 0.0;
    let mut tenant = 0.0;
    let mut arrived = 0;
    let mut lines = Lines::of(items, 0..0, table);
    for step in 0..MOST_STEPS {
        let now = start + STEP * step;
        let seconds = (now - start).as_secs_f64();
        allowed = (allowed + carried).min(carried.max(1.0));
        let _ = table.capacity(now);
        if table.partitions() != lines.partitions {
            lines = Lines::of(items, lines.waiting(), table);
        }
        tenant += scenario.tenant * STEP.as_secs_f64();
        while tenant >= 1.0 {
            tenant -= 1.0;
            let _ = table.admit(now, &[demand(scenario, &items[step as usize % items.len()])]);
        }
        while arrived < items.len() && items[arrived].due <= seconds {
            lines.add(arrived, items, table);
            arrived += 1;
        }
        for line in lines.longest_first() {
            while allowed >= 1.0
                && let Some(number) = lines.queues[line].front()
                && table.admit(now, &[demand(scenario, &items[*number])])[0].is_ok()
            {
                lines.pop(line, items);
                allowed -= 1.0;
            }
        }
        if arrived == items.len() && lines.queues.iter().all(VecDeque::is_empty) {
            return seconds;
        }
    }
    f64::INFINITY
}

/// The entries that wait for each partition, and behind these the entries of the hot key of the index.
struct Lines {
    partitions: usize,
    queues: Vec<VecDeque<usize>>,
    units: Vec<f64>,
}

impl Lines {
    fn of(items: &[Item], waiting: impl IntoIterator<Item = usize>, table: &AdmissionControl) -> Self {
        let partitions = table.partitions();
        let count = partitions.max(1) + 1;
        let mut lines = Self {
            partitions,
            queues: vec![VecDeque::new(); count],
            units: vec![0.0; count],
        };
        for number in waiting {
            lines.add(number, items, table);
        }
        lines
    }

    fn add(&mut self, number: usize, items: &[Item], table: &AdmissionControl) {
        let line = if items[number].is_hot_in_index() {
            self.queues.len() - 1
        } else {
            table.partition_of(items[number].place)
        };
        self.queues[line].push_back(number);
        self.units[line] += f64::from(items[number].units);
    }

    fn pop(&mut self, line: usize, items: &[Item]) {
        if let Some(number) = self.queues[line].pop_front() {
            self.units[line] -= f64::from(items[number].units);
        }
    }

    fn longest_first(&self) -> Vec<usize> {
        let mut lines: Vec<usize> = (0..self.units.len()).collect();
        lines.sort_by(|one, other| self.units[*other].total_cmp(&self.units[*one]));
        lines
    }

    fn waiting(&self) -> Vec<usize> {
        self.queues.iter().flatten().copied().collect()
    }
}
