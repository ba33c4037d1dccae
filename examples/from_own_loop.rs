//! Moving from a hand-written loop around `BatchWriteItem`: first a typical loop, then its replacement, with the same
//! simulated table.
//!
//! The loop does not handle: items of more than 16 MB together, the same key twice in a call, calls that fail as a whole,
//! lost answers, one bad item among 24 good ones, other workers that write to the same table. And when it returns an error,
//! the caller does not know which items were written.
//!
//! ```text
//! cargo run --bin from_own_loop
//! ```

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_dynamo};
use aws_batch_simulator::{Capacity, KeyType, Latency, Simulator, TableOptions};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};

/// Before.
async fn write_by_hand(client: &Client, writes: Vec<WriteRequest>) -> Result<u64> {
    let mut calls = 0;
    for chunk in writes.chunks(25) {
        let mut left = chunk.to_vec();
        for attempt in 0.. {
            calls += 1;
            let answer = client.batch_write_item().request_items("orders", left).send().await?;
            left = answer
                .unprocessed_items
                .unwrap_or_default()
                .remove("orders")
                .unwrap_or_default();
            if left.is_empty() {
                break;
            }
            if attempt == 10 {
                bail!("{} items are left over", left.len());
            }
            tokio::time::sleep(Duration::from_millis(50 << attempt)).await;
        }
    }
    Ok(calls)
}

/// After. The arguments are the same.
async fn write(client: &Client, writes: Vec<WriteRequest>) -> Result<u64> {
    let report = deliver_batch_to_dynamo(client, "orders", writes, &DeliveryOptions::default()).await?;
    Ok(report.calls)
}

#[tokio::main]
async fn main() -> Result<()> {
    let simulator = Simulator::new(1);
    simulator.set_latency(Latency::fixed(Duration::from_millis(20)));
    let client = simulator.dynamo_client();
    let new_table = || {
        let options = TableOptions::key("id", KeyType::S).capacity(Capacity::per_second(2_000.0));
        simulator.table("orders", options)
    };

    for by_hand in [true, false] {
        let table = new_table();
        let writes = (0..10_000).map(put).collect::<Result<Vec<_>>>()?;
        let started = Instant::now();
        let (name, calls) = if by_hand {
            ("by hand ", write_by_hand(&client, writes).await?)
        } else {
            ("the crate", write(&client, writes).await?)
        };
        let seconds = started.elapsed().as_secs_f64();
        println!("{name:9}  {} items in {seconds:.1} s, {calls} calls", table.len());
    }
    Ok(())
}

fn put(number: u32) -> Result<WriteRequest> {
    let put = PutRequest::builder()
        .item("id", AttributeValue::S(format!("order-{number}")))
        .build()?;
    Ok(WriteRequest::builder().put_request(put).build())
}
