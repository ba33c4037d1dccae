//! Calls open as many connections as those of the bare SDK.
//!
//! The clients are given no HTTP client, so that each has one of its own.

use aws_batch_delivery::Delivery;
use aws_sdk_dynamodb::config::retry::{ReconnectMode, RetryConfig};
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};

use crate::guarantees::answers::{answer, everything};
use crate::guarantees::entries::{messages, one_at_a_time, puts};
use crate::guarantees::raw::Raw;

const QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders";

/// A service that accepts everything, or fails every second call.
fn service(fails: bool) -> Raw {
    Raw::serving(move |number, _| {
        let is_failure = fails && number % 2 == 1;
        let status = if is_failure {
            "503 Service Unavailable"
        } else {
            "200 OK"
        };
        answer(status, &everything(10))
    })
}

/// A configuration of either service for calls that are tried once.
macro_rules! config {
    ($sdk:ident, $service:ident, $mode:ident) => {
        $sdk::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
            .retry_config(RetryConfig::disabled().with_reconnect_mode($mode))
            .endpoint_url(&$service.url)
            .build()
    };
}

/// How the connections of failed calls are used, and whether calls fail.
fn cases() -> impl Iterator<Item = (ReconnectMode, bool)> {
    let modes = [
        ReconnectMode::ReconnectOnTransientError,
        ReconnectMode::ReuseAllConnections,
    ];
    modes.into_iter().flat_map(|mode| [(mode, false), (mode, true)])
}

#[tokio::test]
async fn writes_open_as_many_connections_as_calls_of_the_bare_sdk() {
    for (mode, fails) in cases() {
        let delivered = service(fails);
        let client = aws_sdk_dynamodb::Client::from_conf(config!(aws_sdk_dynamodb, delivered, mode));
        _ = client.list_tables().send().await;
        let delivery = Delivery::to_dynamo(client.clone(), "orders").map_target(|table| table.key("id"));
        delivery.options(one_at_a_time()).deliver(puts(100)).await.unwrap();
        _ = client.list_tables().send().await;

        let called = service(fails);
        let bare = aws_sdk_dynamodb::Client::from_conf(config!(aws_sdk_dynamodb, called, mode));
        for _ in delivered.taken() {
            _ = bare.batch_write_item().request_items("orders", puts(1)).send().await;
        }
        assert_eq!(delivered.connections(), called.connections(), "{mode:?}, {fails}");
        let reuses = !fails || mode == ReconnectMode::ReuseAllConnections;
        assert_eq!(delivered.connections() == 1, reuses, "{mode:?}, {fails}");
    }
}

#[tokio::test]
async fn messages_open_as_many_connections_as_calls_of_the_bare_sdk() {
    for (mode, fails) in cases() {
        let delivered = service(fails);
        let client = aws_sdk_sqs::Client::from_conf(config!(aws_sdk_sqs, delivered, mode));
        _ = client.list_queues().send().await;
        let delivery = Delivery::to_sqs(client.clone(), QUEUE);
        delivery.options(one_at_a_time()).deliver(messages(40)).await.unwrap();
        _ = client.list_queues().send().await;

        let called = service(fails);
        let bare = aws_sdk_sqs::Client::from_conf(config!(aws_sdk_sqs, called, mode));
        for _ in delivered.taken() {
            let call = bare.send_message_batch().queue_url(QUEUE);
            _ = call.set_entries(Some(messages(1))).send().await;
        }
        assert_eq!(delivered.connections(), called.connections(), "{mode:?}, {fails}");
        let reuses = !fails || mode == ReconnectMode::ReuseAllConnections;
        assert_eq!(delivered.connections() == 1, reuses, "{mode:?}, {fails}");
    }
}
