//! Loads a file of JSON lines into a table, keeps refused lines, and continues where Ctrl-C or a kill has ended it.
//!
//! Without a file it generates one of 20,000 orders. The table is simulated and accepts 1,000 writes/s; press Ctrl-C or kill
//! it, and start it again.
//!
//! ```text
//! cargo run --bin load_with_dead_letters -- target/orders.jsonl
//! ```

use std::fs::{self, File, OpenOptions};
use std::future::ready;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use aws_batch_delivery::{Delivery, DeliveryOptions, Progress, Report, Undelivered};
use aws_batch_simulator::{Capacity, KeyType, Simulator, TableOptions};
use aws_sdk_dynamodb::Client;
use futures::stream;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::interval;
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

/// Loads the lines that earlier runs have not loaded, and keeps those that the table refuses.
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
    let letters = OpenOptions::new().create(true).append(true).open(dead_letters)?;

    let progress = Progress::default();
    let options = DeliveryOptions::default()
        .cancellation(cancellation)
        .progress(&progress);
    let table = Delivery::to_dynamo(client, "orders")
        .options(options)
        .put_items()
        .on_undelivered(move |undelivered| ready(keep(&letters, start, undelivered)));
    // Written every second, so that it is there after a kill. Orders after it are sent twice, which does no harm. The file is never
    // there without a position: it is renamed when it is complete.
    let store = || {
        let settled = progress.snapshot().settled_until.unwrap_or(0);
        let complete = format!("{position_file}.new");
        fs::write(&complete, (start + settled).to_string())?;
        fs::rename(&complete, &position_file)
    };
    let mut delivering = pin!(table.try_deliver_stream(stream::iter(orders)));
    let mut every_second = interval(Duration::from_secs(1));
    let delivered = loop {
        tokio::select! {
            delivered = &mut delivering => break delivered,
            _ = every_second.tick() => store()?,
        }
    };
    store()?;
    match delivered {
        // Every undelivered line is in the file of dead letters.
        Err(error) if error.report.finished && error.undelivered().is_empty() => Ok(error.report),
        delivered => delivered.context("start it again to continue"),
    }
}

/// Appends a line that the table will never accept to the dead letters. One that may be delivered later ends the load, and the
/// next run sends it again; so does an error of the file.
fn keep(mut letters: &File, start: u64, undelivered: &Undelivered<Order>) -> Result<()> {
    let cause = &undelivered.cause;
    ensure!(cause.is_permanent(), "{cause}");
    let (line, order) = (start + undelivered.position + 1, &undelivered.entry);
    let letter = json!({"line": line, "cause": cause.to_string(), "order": order});
    Ok(letters.write_all(format!("{letter}\n").as_bytes())?)
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
