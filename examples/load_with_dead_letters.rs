//! Loads a file of JSON lines into a table, keeps refused lines, and continues where Ctrl-C stopped it.
//!
//! Without a file it generates one of 20,000 orders. The table is simulated and accepts 1,000 writes/s; press Ctrl-C and
//! start it again.
//!
//! ```text
//! cargo run --example load_with_dead_letters -- target/orders.jsonl
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use anyhow::{Context, Result};
use aws_batch_delivery::{Delivery, DeliveryOptions, Report};
use aws_batch_simulator::{Capacity, KeyType, Simulator, TableOptions};
use aws_sdk_dynamodb::Client;
use futures::stream;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[derive(Serialize, Deserialize)]
struct Order {
    id: String,
    cents: u64,
}

#[tokio::main]
async fn main() -> Result<()> {
    let file = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "target/orders.jsonl".to_owned());
    if !Path::new(&file).exists() {
        make(&file)?;
    }
    let cancellation = CancellationToken::new();
    let on_ctrl_c = cancellation.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            on_ctrl_c.cancel();
        }
    });
    // With AWS: Client::new(&aws_config::load_defaults(BehaviorVersion::latest()).await)
    let report = load(simulated(), &file, cancellation).await?;
    println!("{report}; undelivered lines are in {file}.dead");
    Ok(())
}

/// Loads the lines from where the last run ended, and stores where this one ended.
async fn load(client: Client, file: &str, cancellation: CancellationToken) -> Result<Report> {
    let (position_file, dead_letters) = (format!("{file}.position"), format!("{file}.dead"));
    let start: u64 = match fs::read_to_string(&position_file) {
        Ok(position) => position.trim().parse()?,
        Err(_) => 0,
    };
    let lines = BufReader::new(File::open(file)?).lines().skip(usize::try_from(start)?);
    let orders = lines
        .zip(start + 1..)
        .map(|(line, number)| serde_json::from_str::<Order>(&line?).with_context(|| format!("{file}, line {number}")));

    let table = Delivery::to_dynamo(client, "orders")
        .options(DeliveryOptions::default().cancellation(cancellation))
        .put_items();
    let mut error = match table.try_deliver_stream(stream::iter(orders)).await {
        Ok(report) => {
            fs::write(position_file, (start + report.next_position()).to_string())?;
            return Ok(report);
        }
        Err(error) => error,
    };
    let (dead, alive): (Vec<_>, Vec<_>) = error
        .take_undelivered()
        .into_iter()
        .partition(|undelivered| undelivered.cause.is_permanent());
    // The next run starts at the first order that may be delivered later. Writing the orders after it twice does no harm,
    // and dead letters after it are found again.
    let position = alive
        .first()
        .map_or(error.report.next_position(), |undelivered| undelivered.position);
    let mut letters = OpenOptions::new().create(true).append(true).open(dead_letters)?;
    for letter in dead.iter().take_while(|letter| letter.position < position) {
        let (line, cause) = (start + letter.position + 1, letter.cause.to_string());
        let letter = json!({"line": line, "cause": cause, "order": letter.entry});
        writeln!(letters, "{letter}")?;
    }
    fs::write(position_file, (start + position).to_string())?;
    if alive.is_empty() && error.report.finished {
        return Ok(error.report);
    }
    Err(error).with_context(|| format!("to be continued at line {}", start + position + 1))
}

/// 20,000 orders, of which every 5,000th has no id.
fn make(file: &str) -> Result<()> {
    let mut lines = String::new();
    for number in 0..20_000_u64 {
        let id = if number % 5_000 == 4_999 {
            String::new()
        } else {
            format!("order-{number}")
        };
        lines += &serde_json::to_string(&Order { id, cents: number * 37 })?;
        lines.push('\n');
    }
    Ok(fs::write(file, lines)?)
}

fn simulated() -> Client {
    let simulator = Simulator::new(1);
    let options = TableOptions::key("id", KeyType::S).capacity(Capacity::per_second(1_000.0));
    simulator.table("orders", options);
    simulator.dynamo_client()
}
