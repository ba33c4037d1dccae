//! Writes many items to a DynamoDB table, from plain structs.
//!
//! It runs against whatever the standard AWS environment points to: AWS, or an emulator named by
//! `AWS_ENDPOINT_URL_DYNAMODB`. The table needs the key `id` (S).
//!
//! ```text
//! cargo run --example dynamo_bulk_writer -- orders
//! ```

use std::error::Error;

use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_dynamo};
use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
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

    let writes = (0..1_000).map(write).collect::<Result<Vec<_>, _>>()?;
    let report = deliver_batch_to_dynamo(&client, table, writes, &DeliveryOptions::default()).await?;
    println!("{report}");
    Ok(())
}

/// A put of the order with this number.
fn write(number: u64) -> Result<WriteRequest, Box<dyn Error + Send + Sync>> {
    let order = Order {
        id: format!("order-{number}"),
        customer: format!("customer-{}", number % 97),
        cents: number * 37,
        tags: vec!["new".to_owned()],
    };
    let put = PutRequest::builder()
        .set_item(Some(serde_dynamo::to_item(order)?))
        .build()?;
    Ok(WriteRequest::builder().put_request(put).build())
}
