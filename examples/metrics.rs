//! Live figures at `/metrics`, in the text format of Prometheus, while a simulated table is loaded.
//!
//! ```text
//! cargo run --example metrics
//! curl http://127.0.0.1:3001/metrics
//! ```

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use aws_batch_delivery::{Delivery, DeliveryOptions, Progress};
use aws_batch_simulator::{Capacity, KeyType, Latency, Simulator, TableOptions};
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use serde::Serialize;
use tokio::net::TcpListener;

#[derive(Serialize)]
struct Order {
    id: u64,
}

#[tokio::main]
async fn main() -> Result<()> {
    let progress = Progress::default();
    let options = DeliveryOptions::default().progress(&progress);
    let orders = Delivery::to_dynamo(simulated(), "orders").options(options).put_items();
    let loading = tokio::spawn(async move { orders.deliver((0..60_000).map(|id| Order { id })).await });

    let listener = TcpListener::bind("127.0.0.1:3001").await?;
    println!(
        "figures at http://{}/metrics, for about a minute",
        listener.local_addr()?
    );
    let service = Router::new().route("/metrics", get(metrics)).with_state(progress);
    tokio::select! {
        served = axum::serve(listener, service) => served?,
        loaded = loading => println!("{}", loaded??),
    }
    Ok(())
}

/// Counters instead of rates: Prometheus computes rates with `rate()`, and several scrapers may read them.
async fn metrics(State(progress): State<Progress>) -> String {
    let now = progress.snapshot();
    let mut text = String::new();
    for (name, help, value) in [
        ("delivered", "Entries that the service accepted.", now.delivered),
        ("undelivered", "Entries that were handed back.", now.undelivered),
        (
            "throttled",
            "Times that an entry was rejected for lack of capacity.",
            now.throttled,
        ),
        ("resubmitted", "Times that an entry was sent again.", now.resubmitted),
        ("calls", "Calls answered.", now.calls),
    ] {
        let name = format!("batch_delivery_{name}_total");
        _ = writeln!(
            text,
            "# HELP {name} {help}\n# TYPE {name} counter\n{name}{{table=\"orders\"}} {value}"
        );
    }
    for (name, help, value) in [
        (
            "in_flight",
            "Entries in calls that are not answered yet.",
            now.in_flight,
        ),
        ("waiting", "Rejected entries that wait to be sent again.", now.waiting),
        (
            "read_ahead_bytes",
            "Bytes of the entries that were read and are in no call.",
            now.read_ahead_bytes,
        ),
    ] {
        let name = format!("batch_delivery_{name}");
        _ = writeln!(
            text,
            "# HELP {name} {help}\n# TYPE {name} gauge\n{name}{{table=\"orders\"}} {value}"
        );
    }
    if let Some(pace) = now.pace {
        let name = "batch_delivery_pace";
        let help = "What the pace is doing: 1 for its state at the moment.";
        _ = writeln!(
            text,
            "# HELP {name} {help}\n# TYPE {name} gauge\n{name}{{table=\"orders\",state=\"{}\"}} 1",
            pace.state
        );
    }
    if let Some(capacity) = now.pace.and_then(|pace| pace.capacity) {
        let name = "batch_delivery_capacity";
        let help = "Write units per second that the table accepts, as measured.";
        _ = writeln!(
            text,
            "# HELP {name} {help}\n# TYPE {name} gauge\n{name}{{table=\"orders\"}} {capacity:.0}"
        );
    }
    text
}

fn simulated() -> aws_sdk_dynamodb::Client {
    let simulator = Simulator::new(1);
    simulator.set_latency(Latency::lognormal(Duration::from_millis(8), 0.4));
    let options = TableOptions::key("id", KeyType::N).capacity(Capacity::per_second(1_000.0));
    simulator.table("orders", options);
    simulator.dynamo_client()
}
