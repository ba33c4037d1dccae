//! What the log says of an endpoint that is dead.

use std::net::TcpListener;
use std::time::Duration;

use aws_batch_delivery::events::{LOOKUP, STALLED};
use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_credential_types::Credentials;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Region};
use tokio::time::Instant;
use tracing::Level;

use crate::entries::puts;
use crate::log::Log;

/// A table behind a port that was bound and is closed: the system refuses each connection at once.
fn behind_a_closed_port() -> Delivery<DynamoTable> {
    let bound = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = bound.local_addr().unwrap();
    drop(bound);
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .endpoint_url(format!("http://{address}"))
        .build();
    let options = DeliveryOptions::default().deadline(Instant::now() + Duration::from_secs(30));
    Delivery::to_dynamo(Client::from_conf(config), "orders").options(options)
}

/// The seconds and the codes of the warnings, while 100 puts are delivered in vain.
async fn warnings(delivery: Delivery<DynamoTable>, log: &Log) -> Vec<(String, String)> {
    let error = delivery.deliver(puts(100)).await.unwrap_err();
    assert_eq!(error.undelivered().len(), 100);
    let stalled = log.of(STALLED).into_iter();
    let told = stalled.map(|warning| {
        assert_eq!(
            (warning.level, warning.field("destination")),
            (Level::WARN, "dynamodb/orders")
        );
        (warning.field("seconds").to_owned(), warning.field("code").to_owned())
    });
    told.collect()
}

fn no_connection(seconds: [u64; 3]) -> Vec<(String, String)> {
    let told = |seconds: u64| (seconds.to_string(), "no connection".to_owned());
    seconds.map(told).to_vec()
}

#[tokio::test(start_paused = true)]
async fn writes_to_a_dead_endpoint_are_warned_of_with_their_failure() {
    let log = Log::start();
    let delivery = behind_a_closed_port().key("id");
    assert_eq!(warnings(delivery, &log).await, no_connection([5, 10, 20]));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_asked_for_at_a_dead_endpoint_is_warned_of_with_the_failure_and_no_permission_is_advised() {
    let log = Log::start();
    assert_eq!(warnings(behind_a_closed_port(), &log).await, no_connection([5, 10, 20]));
    for lookup in log.of(LOOKUP) {
        assert_eq!((lookup.level, lookup.field("advice")), (Level::DEBUG, ""));
    }
}
