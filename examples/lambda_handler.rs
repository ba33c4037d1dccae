//! A handler as Lambda calls it for a batch of a queue's messages: it writes their orders to a table, and reports the messages
//! that failed, so that the queue delivers only these again.
//!
//! It reads an event from standard input. Without one it takes an example, whose second message is not an order; the table is
//! simulated and leaves one write unprocessed for longer than the invocation lasts.
//!
//! ```text
//! cargo run --bin lambda_handler < /dev/null
//! ```

use std::io::{IsTerminal, Read};
use std::time::{Duration, Instant};

use anyhow::Result;
use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{KeyType, Simulator, TableOptions};
use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize)]
struct SqsEvent {
    #[serde(rename = "Records")]
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "messageId")]
    message_id: String,
    body: String,
}

#[derive(Serialize, Deserialize)]
struct Order {
    id: String,
    cents: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BatchResponse {
    batch_item_failures: Vec<BatchItemFailure>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BatchItemFailure {
    item_identifier: String,
}

/// The part of the invocation's time that is reserved for the response.
const RESERVE: Duration = Duration::from_millis(500);

/// `left` is the remaining time of the invocation. `table` and `options` are created once, outside the handler, so that all
/// invocations share a pace.
async fn handle(
    event: SqsEvent,
    left: Duration,
    table: &Delivery<DynamoTable>,
    options: &DeliveryOptions,
) -> BatchResponse {
    let options = options
        .clone()
        .deadline(Instant::now() + left.saturating_sub(RESERVE))
        .grace(RESERVE / 2);
    let orders = table.clone().options(options).try_map_entries(put_of);
    let undelivered = match orders.deliver(event.records).await {
        Ok(_) => Vec::new(),
        Err(error) => {
            eprintln!("{error}");
            error.into_undelivered()
        }
    };
    // A message that is not an order fails each time, until the queue's redrive policy moves it to the dead-letter queue.
    let failures = undelivered.into_iter().map(|undelivered| BatchItemFailure {
        item_identifier: undelivered.entry.message_id,
    });
    BatchResponse {
        batch_item_failures: failures.collect(),
    }
}

/// A delivery of messages, so that a message is handed back when its order was not written.
fn put_of(record: &Record) -> Result<WriteRequest> {
    let order: Order = serde_json::from_str(&record.body)?;
    let put = PutRequest::builder()
        .set_item(Some(serde_dynamo::to_item(order)?))
        .build()?;
    Ok(WriteRequest::builder().put_request(put).build())
}

#[tokio::main]
async fn main() -> Result<()> {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", TableOptions::key("id", KeyType::S));
    orders.reject_while(|item| item["id"]["S"] == "order-3");
    // With AWS: Client::new(&aws_config::load_defaults(BehaviorVersion::latest()).await)
    let table = Delivery::to_dynamo(simulator.dynamo_client(), "orders").map_target(|table| table.key("id"));

    let mut input = String::new();
    if !std::io::stdin().is_terminal() {
        std::io::stdin().read_to_string(&mut input)?;
    }
    if input.trim().is_empty() {
        let message = |number: u64, body: &str| json!({"messageId": format!("message-{number}"), "body": body});
        let order = |number: u64| json!({"id": format!("order-{number}"), "cents": number * 37}).to_string();
        let records = [
            message(1, &order(1)),
            message(2, "hello"),
            message(3, &order(3)),
            message(4, &order(4)),
        ];
        input = json!({"Records": records}).to_string();
    }
    // In Lambda, from the `deadline` of the context.
    let left = Duration::from_secs(3);
    let response = handle(serde_json::from_str(&input)?, left, &table, &DeliveryOptions::default()).await;
    println!("{}", serde_json::to_string_pretty(&response)?);
    println!("{} orders in the table", orders.len());
    Ok(())
}
