//! `dynamo_table`: ten chunks at once.

use aws_sdk_dynamodb::config::retry::RetryConfig;
use dynamo_table::table::batch_write;
use dynamo_table::{DynamoTable, init_with_client};
use peers::{Failure, Offered, TABLE, Told, Work};
use serde::{Deserialize, Serialize};

use super::dynamo;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    id: String,
    n: usize,
    customer: String,
    note: String,
}

impl DynamoTable for Order {
    type PK = String;
    type SK = String;
    const TABLE: &'static str = TABLE;
    const PARTITION_KEY: &'static str = "id";

    fn partition_key(&self) -> String {
        self.id.clone()
    }
}

pub async fn write(work: &Work) -> Result<Told, Failure> {
    // Its own client would be of the adaptive mode, with three attempts.
    init_with_client(dynamo::client(work, RetryConfig::adaptive())?).await;
    let order = |number| Order {
        id: work.offered.id(number),
        n: number,
        customer: Offered::customer(number),
        note: Offered::note().to_owned(),
    };
    let orders: Vec<Order> = (0..work.offered.entries).map(order).collect();
    work.start()?;
    Ok(match batch_write(orders, Vec::new()).await {
        Ok(written) => Told::undelivered(written.failed_puts.iter().map(|order| order.n).collect()),
        Err(_) => Told::failure(),
    })
}
