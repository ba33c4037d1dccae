//! A scenario on the simulator: its table, the writes to it, and the result.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aws_batch_simulator::{Capacity, KeyType, Latency, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use tokio::time::Instant;

use super::history::History;
use super::run::Measured;
use super::scenario::Scenario;

/// A simulator with the scenario's round trips.
pub(crate) fn simulator(scenario: &Scenario, seed: u64) -> Simulator {
    let simulator = Simulator::new(seed);
    let trip = Duration::from_secs_f64(scenario.trip);
    simulator.set_latency(Latency::lognormal(trip, 0.4).slow(0.005, 8.0));
    simulator
}

/// The scenario's table. The schedule of its capacity begins now.
pub(crate) fn table(simulator: &Simulator, scenario: &Scenario) -> Table {
    let capacity = |rate: f64| Capacity::per_second(rate).burst((scenario.burst * rate).max(25.0));
    let options = TableOptions::key("id", KeyType::S).capacity(capacity(scenario.steps[0].1));
    let table = simulator.table("orders", options.counts_only());
    table.keep_journal();
    let later = scenario.steps.iter().skip(1);
    table.schedule_capacity(later.map(|(at, rate)| (Duration::from_secs_f64(*at), capacity(*rate))));
    table
}

/// The writes of a process: small orders, of one write unit each.
pub(crate) fn writes(process: usize, count: usize) -> impl Iterator<Item = WriteRequest> {
    (0..count).map(move |number| {
        let put = PutRequest::builder()
            .item("id", AttributeValue::S(format!("{process}-{number}")))
            .item("customer", AttributeValue::S(format!("customer-{}", number % 977)))
            .item("cents", AttributeValue::N((number * 37 % 100_000).to_string()));
        let put = put.build().expect("a put has an item");
        WriteRequest::builder().put_request(put).build()
    })
}

/// The result of a run that began at `started`, and whose processes ended after these seconds.
pub(crate) fn measured(scenario: &Scenario, table: &Table, started: Instant, ends: &[f64]) -> Measured {
    let mut history = History::new(scenario.processes);
    let mut attempts: HashMap<Arc<str>, u8> = HashMap::new();
    for record in table.journal() {
        let now = (record.at - started).as_secs_f64();
        let applied = usize::from(record.acknowledgement().is_applied());
        history.note(process_of(&record.key), now, applied, 1 - applied);
        let attempts = attempts.entry(record.key).or_default();
        *attempts = attempts.saturating_add(1);
    }
    let statistics = table.statistics();
    let rejected = 100.0 * (statistics.throttled + statistics.failed) as f64 / statistics.entries.max(1) as f64;
    let changes = scenario.changes.iter();
    Measured {
        time: ends.iter().copied().fold(0.0, f64::max) / scenario.least_time(),
        rejected,
        excess: rejected,
        calls: statistics.calls as f64 / scenario.least_calls() as f64,
        adapts: changes
            .map(|change| history.adaptation(scenario, *change))
            .reduce(f64::max),
        jain: (scenario.processes > 1).then(|| history.jain(scenario, ends)),
        attempts: attempts.into_values().max().unwrap_or(0),
        lost: ((scenario.entries * scenario.processes) as u64).saturating_sub(statistics.applied),
    }
}

/// Keys are text that ends with an id of [`writes`], the process before its hyphen.
fn process_of(key: &str) -> usize {
    let before = key.split('-').next().unwrap_or_default();
    let process = before.rsplit(|letter: char| !letter.is_ascii_digit()).next();
    process.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
