//! Items of all sizes: pacing by write units, and by entries for comparison. With the SDK's client and the simulator, in virtual
//! time.

use std::sync::Arc;

use aws_batch_delivery::backoff::Adaptive;
use aws_batch_delivery::targets::dynamo::item_size;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::run::Measured;
use super::scenario::Scenario;
use super::stack;
use super::strategies::{Make, Named};

/// Bytes of the smallest and the largest item. Their logarithm is uniform: the mean item takes some 15 units.
const BYTES: (f64, f64) = (100.0, 100_000.0);

/// Bytes of an item that one write unit covers.
const UNIT: usize = 1024;

/// The strategy that must meet the targets.
pub(crate) const BY_UNITS: &str = "by units";

/// A table with 1,000 units per second; one that has half of that after 30 s; and three processes that load one table.
///
/// A call has a third of a second's capacity on average, and its rejection costs as much. So more entries are rejected than with items
/// of one unit, and three processes find their shares slowly.
pub(crate) fn scenarios() -> [Scenario; 3] {
    let mixed = Scenario::new("units: constant", 1000.0, 4000).within(1.02, 1.03, 2.5);
    let down = mixed.clone().within(1.02, 1.03, 4.0).with(|it| {
        "units: down".clone_into(&mut it.name);
        it.steps.push((30.0, 500.0));
    });
    let many = mixed.clone().within(1.10, 1.20, 10.0).with(|it| {
        "units: 3 processes".clone_into(&mut it.name);
        it.processes = 3;
        it.workers = 16;
        it.entries = 2000;
    });
    [mixed, down, many]
}

pub(crate) fn strategies() -> Vec<Named> {
    let by_units: Make = Arc::new(|_, seed| Arc::new(Adaptive::default().seed(seed)));
    let by_entries: Make = Arc::new(|_, seed| Arc::new(Adaptive::default().by_write_units(false).seed(seed)));
    vec![(BY_UNITS.to_owned(), by_units), ("by entries".to_owned(), by_entries)]
}

/// Runs a scenario. Its least time is that of the units.
pub(crate) fn run(scenario: &Scenario, seed: u64, make: &Make) -> Measured {
    let writes: Vec<Vec<WriteRequest>> = (0..scenario.processes)
        .map(|process| writes(process, scenario.entries, seed))
        .collect();
    let units: usize = writes.iter().flatten().map(units).sum();
    let mut in_units = scenario.clone();
    in_units.entries = units / scenario.processes;
    let measured = stack::run_with(scenario, seed, make, writes);
    Measured {
        time: measured.time * scenario.least_time() / in_units.least_time(),
        ..measured
    }
}

fn units(write: &WriteRequest) -> usize {
    write
        .put_request()
        .map_or(1, |put| item_size(put.item()).div_ceil(UNIT))
}

fn writes(process: usize, count: usize, seed: u64) -> Vec<WriteRequest> {
    let mut random = SmallRng::seed_from_u64(seed.wrapping_mul(1000) + process as u64);
    let put = |number| {
        let bytes = BYTES.0 * (BYTES.1 / BYTES.0).powf(random.random::<f64>());
        let put = PutRequest::builder()
            .item("id", AttributeValue::S(format!("{process}-{number}")))
            .item("body", AttributeValue::S("b".repeat(bytes as usize)));
        let put = put.build().expect("a put has an item");
        WriteRequest::builder().put_request(put).build()
    };
    (0..count).map(put).collect()
}
