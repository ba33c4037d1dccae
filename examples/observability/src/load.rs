//! A load that is throttled.

use std::time::Duration;

use anyhow::Result;
use aws_batch_delivery::{Delivery, Report};
use aws_batch_simulator::{IndexOptions, KeyType, Latency, Simulator, TableOptions, Throughput};
use serde::Serialize;
use tokio::time::sleep;

/// The capacity of the table, in write units per second. The index has half of it.
const CAPACITY: f64 = 100.0;

/// How long the table is idle before the load. It banks the capacity of that time, so that several calls are in flight when the
/// index has none left. The calls of which nothing is accepted have the reason in their errors.
const IDLE: Duration = Duration::from_secs(1);

#[derive(Serialize)]
struct Order {
    id: u64,
    customer: String,
}

/// Loads this many orders into a simulated table whose index has half of the table's capacity.
///
/// # Errors
/// If an order was not delivered.
pub async fn load(orders: u64) -> Result<Report> {
    let simulator = Simulator::new(1);
    simulator.set_latency(Latency::lognormal(Duration::from_millis(8), 0.4));
    let by_customer = IndexOptions::key("customer", KeyType::S).throughput(Throughput::provisioned(CAPACITY / 2.0));
    let options = TableOptions::key("id", KeyType::N).capacity(CAPACITY);
    simulator.table("orders", options.index("by_customer", by_customer));
    sleep(IDLE).await;
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").put_items();
    let orders = (0..orders).map(|id| Order {
        id,
        customer: format!("customer-{}", id % 100),
    });
    Ok(delivery.deliver(orders).await?)
}
