//! Writes many items to a DynamoDB table, from plain structs.
//!
//! It runs against whatever the standard AWS environment points to: AWS, or an emulator named by
//! `AWS_ENDPOINT_URL_DYNAMODB`. The table needs the key `id` (S).
//!
//! ```text
//! cargo run --bin dynamo_bulk_writer -- orders
//! ```

use std::error::Error;

use aws_batch_delivery::Delivery;
use aws_config::BehaviorVersion;
use serde::Serialize;

#[derive(Serialize)]
struct Order {
    id: String,
    customer: String,
    cents: u64,
    tags: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let table = std::env::args().nth(1).ok_or("usage: dynamo_bulk_writer TABLE")?;
    let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
    let client = aws_sdk_dynamodb::Client::new(&config);

    let orders = (0..1_000_u64).map(|number| Order {
        id: format!("order-{number}"),
        customer: format!("customer-{}", number % 97),
        cents: number * 37,
        tags: vec!["new".to_owned()],
    });
    let report = Delivery::to_dynamo(client, table).put_items().deliver(orders).await?;
    println!("{report}");
    Ok(())
}
