//! Scenarios with everything that runs in production except the network: `Delivery::to_dynamo`, the SDK's client with its
//! serialization, signing and parsing, and the simulator. In virtual time.

use std::time::Duration;

use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_sdk_dynamodb::types::WriteRequest;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::catalog;
use super::run::{CUT_OFF, Measured};
use super::scenario::Scenario;
use super::simulated;
use super::strategies::Make;

/// The additional time that the real client and the simulator may take, compared with the model of a service.
const MARGIN: f64 = 1.01;

/// The scenarios of the model that are run, at their full size.
const NAMES: [&str; 6] = [
    "constant W=1 B=300",
    "constant W=64 B=300",
    "constant W=64 B=1",
    "down",
    "up",
    "3 processes",
];

/// The scenarios, with a margin for the time and none for the rejections.
pub(crate) fn scenarios() -> Vec<Scenario> {
    let all = catalog::congested().into_iter();
    all.filter(|scenario| NAMES.contains(&scenario.name.as_str()))
        .map(|scenario| {
            scenario.with(|it| {
                it.name = format!("SDK: {}", it.name);
                it.targets.mean *= MARGIN;
                it.targets.worst *= MARGIN;
            })
        })
        .collect()
}

/// Runs a scenario.
pub(crate) fn run(scenario: &Scenario, seed: u64, make: &Make) -> Measured {
    let writes = (0..scenario.processes).map(|process| simulated::writes(process, scenario.entries));
    run_with(scenario, seed, make, writes)
}

/// Runs a scenario in which each process has these writes.
pub(crate) fn run_with<I>(scenario: &Scenario, seed: u64, make: &Make, writes: impl IntoIterator<Item = I>) -> Measured
where
    I: IntoIterator<Item = WriteRequest, IntoIter: Send> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    runtime.block_on(deliver(scenario, seed, make, writes))
}

async fn deliver<I>(scenario: &Scenario, seed: u64, make: &Make, writes: impl IntoIterator<Item = I>) -> Measured
where
    I: IntoIterator<Item = WriteRequest, IntoIter: Send> + Send + 'static,
{
    let simulator = simulated::simulator(scenario, seed);
    let started = Instant::now();
    let table = simulated::table(&simulator, scenario);
    let mut processes = JoinSet::new();
    for (process, writes) in writes.into_iter().enumerate() {
        let options = DeliveryOptions::default()
            .backoff(make(scenario, seed.wrapping_mul(1000) + process as u64))
            .concurrency(scenario.workers)
            .give_up_after(Duration::MAX);
        let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").options(options);
        let start = started + Duration::from_secs_f64(process as f64 * scenario.stagger);
        processes.spawn(async move {
            sleep_until(start).await;
            let delivered = delivery.deliver(writes).await.is_ok();
            if delivered {
                started.elapsed().as_secs_f64()
            } else {
                f64::INFINITY
            }
        });
    }
    let limit = CUT_OFF.0 * scenario.least_time() + CUT_OFF.1;
    let all = processes.join_all();
    let ends = timeout(Duration::from_secs_f64(limit), all).await;
    let ends = ends.unwrap_or_else(|_| vec![f64::INFINITY]);
    simulated::measured(scenario, &table, started, &ends)
}
