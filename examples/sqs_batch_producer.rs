//! Sends many messages to an SQS queue, and keeps those that could not be sent.
//!
//! It runs against whatever the standard AWS environment points to: AWS, or an emulator named by `AWS_ENDPOINT_URL_SQS`.
//!
//! ```text
//! cargo run --bin sqs_batch_producer -- https://sqs.eu-central-1.amazonaws.com/123456789012/orders
//! ```

use std::error::Error;

use aws_batch_delivery::Delivery;
use aws_config::BehaviorVersion;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let queue_url = std::env::args().nth(1).ok_or("usage: sqs_batch_producer QUEUE_URL")?;
    let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
    let client = aws_sdk_sqs::Client::new(&config);

    let messages = (0..1_000).map(|number| format!("order {number}"));
    match Delivery::to_sqs(client, queue_url).texts().deliver(messages).await {
        Ok(report) => println!("{report}"),
        Err(error) => {
            // Each of them is here, to be sent again or stored elsewhere.
            for undelivered in error.undelivered() {
                eprintln!("{}: {}", undelivered.entry, undelivered.cause);
            }
            return Err(error.into());
        }
    }
    Ok(())
}
