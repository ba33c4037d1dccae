//! The simulator over HTTP.

use aws_batch_simulator::{InjectedFault, QueueOptions, Server, Simulator};
use aws_sdk_dynamodb::error::SdkError;
use aws_smithy_http_client::Builder;

use crate::{by_id, messages, put, puts, send, unprocessed, write};

fn dynamo(simulator: &Simulator, server: &Server) -> aws_sdk_dynamodb::Client {
    let config = simulator.dynamo_client().config().to_builder();
    let config = config
        .endpoint_url(server.endpoint())
        .http_client(Builder::new().build_http());
    aws_sdk_dynamodb::Client::from_conf(config.build())
}

fn sqs(simulator: &Simulator, server: &Server) -> aws_sdk_sqs::Client {
    let config = simulator.sqs_client().config().to_builder();
    let config = config
        .endpoint_url(server.endpoint())
        .http_client(Builder::new().build_http());
    aws_sdk_sqs::Client::from_conf(config.build())
}

#[tokio::test]
async fn tables_and_queues_are_served_over_http() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    let queue = simulator.queue("orders", QueueOptions::default());
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    orders.script([InjectedFault::Unprocessed(5)]);
    let output = write(&dynamo(&simulator, &server), "orders", puts(0..25))
        .await
        .unwrap();
    assert_eq!((unprocessed(&output), orders.len()), (5, 20));
    let output = send(&sqs(&simulator, &server), queue.url(), messages(0..10))
        .await
        .unwrap();
    assert_eq!((output.successful().len(), queue.len()), (10, 10));
    let error = send(&sqs(&simulator, &server), queue.url(), messages(0..11))
        .await
        .unwrap_err();
    assert!(error.into_service_error().is_too_many_entries_in_batch_request());
}

#[tokio::test]
async fn a_dropped_connection_is_closed() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    orders.script([InjectedFault::Dropped { applied: true }]);
    let dynamo = dynamo(&simulator, &server);
    let error = write(&dynamo, "orders", puts(0..25)).await.unwrap_err();
    assert!(matches!(error, SdkError::DispatchFailure(_)), "{error:?}");
    assert_eq!(orders.len(), 25);
    write(&dynamo, "orders", puts(25..50)).await.unwrap();
    assert_eq!(orders.len(), 50);
}

#[tokio::test]
async fn a_request_that_is_too_large_is_answered_alike_in_process_and_over_http() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    for dynamo in [simulator.dynamo_client(), dynamo(&simulator, &server)] {
        let large = vec![put("k".repeat(17 * 1024 * 1024))];
        let error = write(&dynamo, "orders", large).await.unwrap_err();
        let response = error.raw_response().unwrap();
        assert_eq!(response.status().as_u16(), 413);
        assert!(response.headers().contains_key("x-amzn-requestid"));
    }
    assert!(orders.is_empty());
}

#[tokio::test]
async fn a_server_stops_when_it_is_dropped() {
    let simulator = Simulator::new(1);
    simulator.table("orders", by_id());
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    let dynamo = dynamo(&simulator, &server);
    write(&dynamo, "orders", puts(0..1)).await.unwrap();
    drop(server);
    assert!(write(&dynamo, "orders", puts(1..2)).await.is_err());
}
