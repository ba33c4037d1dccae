//! Copies a table into another one: a scan at the pace of the reads, a delivery at the pace of the writes.
//!
//! `cargo run --bin copy_table`, which copies between two tables of the simulator. With a real client it copies between accounts
//! or regions: the scan and the delivery each have a client of their own.

use std::collections::HashMap;

use aws_batch_delivery::sources::Scan;
use aws_batch_delivery::{Delivery, DeliveryOptions, Progress};
use aws_batch_simulator::{Capacity, KeyType, Simulator, TableOptions};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};

fn put(item: &HashMap<String, AttributeValue>) -> Result<WriteRequest, BuildError> {
    let put = PutRequest::builder().set_item(Some(item.clone())).build()?;
    Ok(WriteRequest::builder().put_request(put).build())
}

/// Copies all items of `from`. If that fails, the printed position is where to continue: give it to [`Scan::from_position`]. A
/// process that may be killed stores it while it copies.
async fn copy(source: Client, from: &str, target: Client, to: &str) -> anyhow::Result<()> {
    let progress = Progress::default();
    let items = Scan::new(source, from).items();
    let scanned = items.progress();
    let copy = Delivery::to_dynamo(target, to)
        .options(DeliveryOptions::default().progress(&progress))
        .try_map_entries(put);
    let copied = copy.try_deliver_stream(items).await;
    let settled = progress.snapshot().settled_until.unwrap_or_default();
    let position = scanned.position_after(settled);
    println!("{}", serde_json::to_string(&position)?);
    println!("read with {} read units: {}", scanned.figures().units, copied?);
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let simulator = Simulator::new(1);
    let by_id = || TableOptions::key("id", KeyType::N);
    let reads = Capacity::per_second(500.0);
    simulator.table("films", by_id().read_capacity(reads));
    let copied = simulator.table("copy", by_id().capacity(Capacity::per_second(4_000.0)));

    let film = |id: i32| HashMap::from([("id".to_owned(), AttributeValue::N(id.to_string()))]);
    let films = Delivery::to_dynamo(simulator.dynamo_client(), "films").try_map_entries(put);
    films.deliver((0..5_000).map(film)).await?;

    copy(simulator.dynamo_client(), "films", simulator.dynamo_client(), "copy").await?;
    println!("{} films in the copy", copied.len());
    Ok(())
}
