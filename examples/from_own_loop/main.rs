//! Moving from a hand-written loop around `BatchWriteItem`: first a typical loop, then its replacement, with the same
//! simulated table. `docs/your-loop.md` names what the loop does not handle; the tests below show each of it.
//!
//! ```text
//! cargo run --bin from_own_loop
//! ```

use std::time::Duration;

use anyhow::{Result, bail};
use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_dynamo};
use aws_batch_simulator::{Capacity, KeyType, Latency, Simulator, TableOptions};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::time::Instant;

/// Before: chunks at the same time, each with some tries.
async fn write_by_hand(client: &Client, writes: Vec<WriteRequest>, tries: u32) -> Result<()> {
    let chunks = writes.chunks(25).map(async |chunk| {
        let mut left = chunk.to_vec();
        for attempt in 0..tries {
            let answer = client.batch_write_item().request_items("orders", left).send().await?;
            left = answer
                .unprocessed_items
                .unwrap_or_default()
                .remove("orders")
                .unwrap_or_default();
            if left.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50 << attempt)).await;
        }
        bail!("{} items are left over", left.len())
    });
    stream::iter(chunks).buffer_unordered(8).try_collect().await
}

/// After. The arguments are the same.
async fn write(client: &Client, writes: Vec<WriteRequest>) -> Result<()> {
    let report = deliver_batch_to_dynamo(client, "orders", writes, &DeliveryOptions::default()).await?;
    println!("{report}");
    Ok(())
}

fn put(id: u32, version: u32) -> WriteRequest {
    let put = PutRequest::builder()
        .item("id", AttributeValue::S(format!("order-{id}")))
        .item("version", AttributeValue::N(version.to_string()));
    let put = put.build().expect("an item is all that a put needs");
    WriteRequest::builder().put_request(put).build()
}

#[tokio::main]
async fn main() -> Result<()> {
    let simulator = Simulator::new(1);
    simulator.set_latency(Latency::fixed(Duration::from_millis(20)));
    let client = simulator.dynamo_client();
    let writes: Vec<_> = (0..10_000).map(|id| put(id, 1)).collect();
    for by_hand in [true, false] {
        let options = TableOptions::key("id", KeyType::S).capacity(Capacity::per_second(2_000.0));
        let table = simulator.table("orders", options);
        let started = Instant::now();
        let written = if by_hand {
            write_by_hand(&client, writes.clone(), 10).await
        } else {
            write(&client, writes.clone()).await
        };
        let (name, statistics) = (if by_hand { "by hand  " } else { "the crate" }, table.statistics());
        println!(
            "{name}  {} items in {:.1} s, {} calls, {} rejections, {written:?}",
            table.len(),
            started.elapsed().as_secs_f64(),
            statistics.calls,
            statistics.throttled
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
