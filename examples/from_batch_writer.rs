//! Moving from boto3's `batch_writer`, which most Python programs use to write to a table:
//!
//! ```python
//! with table.batch_writer(overwrite_by_pkeys=["id"]) as batch:
//!     for order in orders:
//!         batch.put_item(Item=order)
//!     for key in cancelled:
//!         batch.delete_item(Key=key)
//! ```
//!
//! | `batch_writer` | here |
//! |---|---|
//! | one call at a time | 16 at a time, at the pace that the table can take |
//! | unprocessed items are sent again at once, for ever | they are sent again at the table's pace, and handed back after 15 minutes |
//! | a call that fails raises, and its items are lost to the program | everything that was not written is in the error |
//! | a duplicate key in a call raises, unless `overwrite_by_pkeys` drops the older one | both arrive in their order, unless `last_write_wins` drops the older one |
//! | `Decimal` for numbers | the numbers of Rust |
//!
//! It runs against a simulated table:
//!
//! ```text
//! cargo run --bin from_batch_writer
//! ```

use anyhow::Result;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{Capacity, KeyType, Simulator, TableOptions};
use serde::Serialize;

#[derive(Serialize)]
struct Order {
    id: String,
    cents: u64,
}

#[derive(Serialize)]
struct OrderKey {
    id: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let simulator = Simulator::new(1);
    let options = TableOptions::key("id", KeyType::S).capacity(Capacity::per_second(1_000.0));
    let table = simulator.table("orders", options);
    // With AWS: Client::new(&aws_config::load_defaults(BehaviorVersion::latest()).await)
    let client = simulator.dynamo_client();

    // Every order occurs twice.
    let orders = (0..4_000_u64).map(|number| Order {
        id: format!("order-{}", number / 2),
        cents: number,
    });
    let cancelled = (0..500).map(|number| OrderKey {
        id: format!("order-{number}"),
    });

    let writer = Delivery::to_dynamo(client, "orders").options(DeliveryOptions::default().last_write_wins());
    let put = writer.clone().put_items().deliver(orders).await?;
    let deleted = writer.delete_keys().deliver(cancelled).await?;
    println!("put:     {put}");
    println!("deleted: {deleted}");
    println!("{} orders in the table", table.len());
    Ok(())
}
