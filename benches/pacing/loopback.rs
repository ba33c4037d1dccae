//! Real time: the SDK's client over HTTP on the loopback interface, the simulator served by a runtime of its own.

use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::Simulator;
use aws_sdk_dynamodb::Client;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::run::Measured;
use super::scenario::Scenario;
use super::simulated;
use super::strategies::Make;

/// The capacity, in writes per second.
const RATE: f64 = 2000.0;
const ENTRIES: usize = 60_000;

/// The scenarios: a constant capacity, and one that halves when half of the writes are done.
pub(crate) fn scenarios() -> [Scenario; 2] {
    let half = ENTRIES as f64 / RATE / 2.0;
    let constant = Scenario::new("loopback: constant", RATE, ENTRIES).within(1.03, 1.03, 1.0);
    let halves = constant.clone().with(|it| {
        "loopback: halves".clone_into(&mut it.name);
        it.steps.push((half, RATE / 2.0));
        it.changes.push(half);
    });
    [constant, halves]
}

/// Runs a scenario.
pub(crate) fn run(scenario: &Scenario, seed: u64, make: &Make) -> io::Result<Measured> {
    let simulator = simulated::simulator(scenario, seed);
    let (stop, stopped) = oneshot::channel();
    let (told, endpoint) = mpsc::channel();
    let behind = simulator.clone();
    let server = thread::spawn(move || serve(&behind, &told, stopped));
    let endpoint = endpoint.recv().map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let measured = runtime.block_on(deliver(scenario, &simulator, endpoint, make, seed));
    // The server ends with its channel.
    drop(stop);
    server.join().map_err(|_| io::Error::other("the server panicked"))??;
    Ok(measured)
}

/// Serves the simulator until the channel is dropped.
fn serve(simulator: &Simulator, told: &mpsc::Sender<String>, stopped: oneshot::Receiver<()>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = simulator.serve("127.0.0.1:0").await?;
        told.send(server.endpoint()).map_err(io::Error::other)?;
        let _ = stopped.await;
        Ok(())
    })
}

/// As many deliveries as there are workers, each with one call in flight, which share their options.
async fn deliver(scenario: &Scenario, simulator: &Simulator, endpoint: String, make: &Make, seed: u64) -> Measured {
    let config = simulator.dynamo_client().config().to_builder();
    let http = aws_smithy_http_client::Builder::new().build_http();
    let client = Client::from_conf(config.endpoint_url(endpoint).http_client(http).build());
    let options = DeliveryOptions::default().backoff(make(scenario, seed)).concurrency(1);
    let orders = Delivery::to_dynamo(client, "orders")
        .map_target(|table| table.key("id"))
        .options(options);
    let mut writes: Vec<_> = simulated::writes(0, scenario.entries).collect();
    let mut deliveries = JoinSet::new();
    let started = Instant::now();
    let table = simulated::table(simulator, scenario);
    for left in (1..=scenario.workers).rev() {
        let share = writes.split_off(writes.len() - writes.len().div_ceil(left));
        let orders = orders.clone();
        deliveries.spawn(async move { orders.deliver(share).await.is_ok() });
    }
    let delivered = deliveries.join_all().await.into_iter().all(|delivered| delivered);
    let end = if delivered {
        started.elapsed().as_secs_f64()
    } else {
        Duration::MAX.as_secs_f64()
    };
    simulated::measured(scenario, &table, started, &[end])
}
