//! A table whose capacity changes, and a strategy that follows it.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use aws_batch_delivery::backoff::Adaptive;
use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_dynamo};
use aws_batch_simulator::{Capacity, KeyType, Latency, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use clap::Args;
use plotters::prelude::{BLACK, BLUE, GREEN, RED};
use tokio::time::{Instant, sleep_until};

use crate::Failure;
use crate::canvas::{Chart, Series};

/// How often a point is drawn.
const STEP: Duration = Duration::from_millis(250);

/// What happens to the table.
#[derive(Args)]
pub(crate) struct Scenario {
    /// From which second on the table takes how many writes a second
    #[arg(long, value_delimiter = ',', default_value = "0:1000,20:500,40:2000")]
    capacity: Vec<Change>,
    /// How many seconds to draw
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// How many calls are in flight at once
    #[arg(long, default_value_t = 64)]
    workers: usize,
}

/// A capacity from some second on.
#[derive(Clone, Copy)]
struct Change {
    second: u32,
    capacity: f64,
}

impl FromStr for Change {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let (second, capacity) = text.split_once(':').ok_or("a change is SECOND:CAPACITY")?;
        Ok(Self {
            second: second.parse()?,
            capacity: capacity.parse()?,
        })
    }
}

/// The figures at one moment.
struct Sample {
    second: f64,
    capacity: f64,
    accepted: f64,
    rejected: f64,
    estimate: f64,
}

/// Draws the capacity, what was accepted and rejected, and the strategy's estimate.
pub(crate) fn draw(scenario: &Scenario, into: &Path) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    let samples = runtime.block_on(watch(scenario))?;
    let line = |name, colour, value: fn(&Sample) -> f64| Series {
        name,
        colour,
        points: samples.iter().map(|sample| (sample.second, value(sample))).collect(),
        is_line: true,
    };
    let highest = samples
        .iter()
        .map(|sample| sample.capacity.max(sample.accepted))
        .fold(0.0, f64::max);
    let chart = Chart {
        title: "Adaptive follows the capacity of a table".to_owned(),
        x: ("second", 0.0..f64::from(scenario.seconds)),
        y: ("writes per second", 0.0..highest * 1.1),
        series: vec![
            line("capacity", BLACK, |sample| sample.capacity),
            line("accepted", BLUE, |sample| sample.accepted),
            line("rejected", RED, |sample| sample.rejected),
            line("estimate", GREEN, |sample| sample.estimate),
        ],
    };
    chart.write(into, "adaptive")
}

/// A count within one step, as a rate.
#[expect(clippy::cast_precision_loss, reason = "a picture is for the eye")]
fn per_second(count: u64) -> f64 {
    count as f64 / STEP.as_secs_f64()
}

/// Loads the table for the duration of the scenario, and records the figures regularly.
async fn watch(scenario: &Scenario) -> Result<Vec<Sample>, Failure> {
    let simulator = Simulator::new(42);
    simulator.set_latency(Latency::lognormal(Duration::from_millis(8), 0.4).slow(0.005, 8.0));
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S).forgetful());
    let strategy = Arc::new(Adaptive::default());
    let options = DeliveryOptions::default()
        .backoff(Arc::clone(&strategy))
        .concurrency(scenario.workers);
    let client = simulator.dynamo_client();
    let loading =
        tokio::spawn(async move { deliver_batch_to_dynamo(&client, "orders", (0_u64..).map(order), &options).await });

    let started = Instant::now();
    let end = Duration::from_secs(scenario.seconds.into());
    let mut samples = Vec::new();
    let mut capacity = 0.0;
    let mut before = table.statistics();
    let mut passed = Duration::ZERO;
    while passed < end {
        if let Some(change) = change_at(scenario, passed) {
            capacity = change;
            set_capacity(&table, capacity);
        }
        passed += STEP;
        sleep_until(started + passed).await;
        let now = table.statistics();
        samples.push(Sample {
            second: passed.as_secs_f64(),
            capacity,
            accepted: per_second(now.applied - before.applied),
            rejected: per_second(now.throttled - before.throttled),
            estimate: strategy.capacity().unwrap_or(0.0),
        });
        before = now;
    }
    loading.abort();
    Ok(samples)
}

/// The new capacity, if it changes within the step that begins then.
fn change_at(scenario: &Scenario, passed: Duration) -> Option<f64> {
    let starts_now = |change: &&Change| {
        let at = Duration::from_secs(change.second.into());
        passed <= at && at < passed + STEP
    };
    scenario.capacity.iter().find(starts_now).map(|change| change.capacity)
}

fn set_capacity(table: &Table, per_second: f64) {
    // A bucket that saves nothing shows best how the strategy follows.
    table.set_capacity(Capacity::per_second(per_second).burst(per_second / 10.0));
}

fn order(number: u64) -> WriteRequest {
    let put = PutRequest::builder().item("id", AttributeValue::S(number.to_string()));
    WriteRequest::builder().set_put_request(put.build().ok()).build()
}
