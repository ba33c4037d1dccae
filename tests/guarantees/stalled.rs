//! The log of a delivery to a dead endpoint.

use std::time::Duration;

use aws_batch_delivery::events::{LOOKUP, STALLED};
use aws_batch_delivery::targets::BatchTarget;
use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_credential_types::Credentials;
use aws_sdk_dynamodb::config::{BehaviorVersion, Region};
use tokio::time::Instant;
use tracing::Level;

use crate::guarantees::entries::{messages, puts};
use crate::guarantees::raw::Refusing;
use crate::support::log::Log;

fn credentials() -> Credentials {
    Credentials::new("key", "secret", None, None, "test")
}

fn table(endpoint: &Refusing) -> Delivery<DynamoTable> {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(credentials())
        .endpoint_url(&endpoint.url);
    Delivery::to_dynamo(aws_sdk_dynamodb::Client::from_conf(config.build()), "orders")
}

/// Delivers for 30 s without success, and reads the warnings.
async fn assert_warned_of_no_connection<T: BatchTarget>(delivery: Delivery<T>, entries: Vec<T::Entry>, name: &str) {
    let log = Log::start();
    let options = DeliveryOptions::default().deadline(Instant::now() + Duration::from_secs(30));
    let count = entries.len();
    let error = delivery.options(options).deliver(entries).await.unwrap_err();
    assert_eq!(error.undelivered().len(), count);
    let stalled = log.of(STALLED);
    let seconds: Vec<_> = stalled.iter().map(|warning| warning.field("seconds")).collect();
    assert_eq!(seconds, ["5", "10", "20"]);
    for warning in &stalled {
        assert_eq!((warning.level, warning.field("destination")), (Level::WARN, name));
        assert!(
            warning.field("code").ends_with("no connection"),
            "{}",
            warning.field("code")
        );
    }
    // The warning does not advise to grant a permission.
    assert!(log.of(LOOKUP).iter().all(|lookup| lookup.level == Level::DEBUG));
}

#[tokio::test(start_paused = true)]
async fn writes_to_a_dead_endpoint_are_warned_of_with_their_failure() {
    let endpoint = Refusing::new();
    let delivery = table(&endpoint).map_target(|table| table.key("id"));
    assert_warned_of_no_connection(delivery, puts(100), "dynamodb/orders").await;
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_asked_for_at_a_dead_endpoint_is_warned_of_with_the_failure() {
    let endpoint = Refusing::new();
    assert_warned_of_no_connection(table(&endpoint), puts(100), "dynamodb/orders").await;
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_asked_at_a_dead_endpoint_is_warned_of_with_the_failure() {
    let endpoint = Refusing::new();
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(credentials())
        .endpoint_url(&endpoint.url);
    let client = aws_sdk_sqs::Client::from_conf(config.build());
    let url = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders.fifo";
    let message = |mut message: aws_sdk_sqs::types::SendMessageBatchRequestEntry| {
        message.message_group_id = Some("group".to_owned());
        message
    };
    let messages = messages(100).into_iter().map(message).collect();
    assert_warned_of_no_connection(Delivery::to_sqs(client, url), messages, "sqs/orders.fifo").await;
}
