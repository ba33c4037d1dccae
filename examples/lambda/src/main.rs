//! The function as Lambda starts it. The variable `TABLE` names the table.

use std::time::SystemTime;

use anyhow::Context;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::Client;
use lambda::Function;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let table = std::env::var("TABLE").context("the variable TABLE does not name a table")?;
    let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
    // Once, and not for each invocation: all of them share the pace, and the connections of the client.
    let delivery = Delivery::to_dynamo(Client::new(&config), table);
    let function = Function::new(delivery, DeliveryOptions::default());
    run(service_fn(async |event: LambdaEvent<Value>| {
        let left = event.context.deadline().duration_since(SystemTime::now());
        function.handle(event.payload, left.unwrap_or_default()).await
    }))
    .await
}
