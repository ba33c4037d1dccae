//! Buckets.

use std::time::Duration;

use aws_batch_simulator::{InjectedFault, Latency, Simulator};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::put_object::{PutObjectError, PutObjectOutput};
use aws_smithy_http_client::Builder;
use tokio::time::Instant;

/// Without retries.
fn client(simulator: &Simulator) -> Client {
    let config = simulator.s3_client().config().to_builder();
    Client::from_conf(config.retry_config(RetryConfig::disabled()).build())
}

async fn put(client: &Client, bucket: &str, key: &str) -> Result<PutObjectOutput, SdkError<PutObjectError>> {
    let call = client.put_object().bucket(bucket).key(key);
    call.body(format!("body of {key}").into_bytes().into()).send().await
}

async fn get(client: &Client, bucket: &str, key: &str) -> Option<String> {
    let call = client.get_object().bucket(bucket).key(key).send().await;
    match call.map_err(SdkError::into_service_error) {
        Ok(output) => Some(String::from_utf8(output.body.collect().await.unwrap().to_vec()).unwrap()),
        Err(error) => {
            assert!(error.is_no_such_key(), "{error:?}");
            None
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_is_there_from_its_put_to_its_delete() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    let client = client(&simulator);
    for key in ["a", "some/where/größe b+c%"] {
        assert_eq!(get(&client, "large", key).await, None);
        put(&client, "large", key).await.unwrap();
        assert_eq!(get(&client, "large", key).await.unwrap(), format!("body of {key}"));
        assert!(bucket.objects().contains_key(key));
        client.delete_object().bucket("large").key(key).send().await.unwrap();
        assert_eq!(get(&client, "large", key).await, None);
    }
    assert_eq!((bucket.puts(), bucket.deletes(), bucket.is_empty()), (2, 2, true));
}

#[tokio::test(start_paused = true)]
async fn a_bucket_that_was_not_made_is_missing() {
    let simulator = Simulator::new(1);
    let error = put(&client(&simulator), "large", "a").await.unwrap_err();
    assert_eq!(error.code(), Some("NoSuchBucket"));
    assert_eq!(error.raw_response().unwrap().status().as_u16(), 404);
}

#[tokio::test(start_paused = true)]
async fn puts_and_deletes_meet_the_faults_of_the_script() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    bucket.script([
        InjectedFault::Throttle,
        InjectedFault::internal_error(true),
        InjectedFault::Dropped { applied: false },
        InjectedFault::Slow(Duration::from_secs(3)),
        InjectedFault::error(403, "AccessDenied", false),
    ]);
    let client = client(&simulator);
    assert_eq!(put(&client, "large", "a").await.unwrap_err().code(), Some("SlowDown"));
    assert_eq!(
        put(&client, "large", "b").await.unwrap_err().code(),
        Some("InternalServerError")
    );
    assert!(matches!(
        put(&client, "large", "c").await.unwrap_err(),
        SdkError::DispatchFailure(_)
    ));
    let started = Instant::now();
    put(&client, "large", "d").await.unwrap();
    assert_eq!(started.elapsed(), Duration::from_secs(3));
    let denied = client.delete_object().bucket("large").key("d").send().await;
    assert_eq!(denied.unwrap_err().code(), Some("AccessDenied"));
    put(&client, "large", "e").await.unwrap();
    assert_eq!(bucket.objects().into_keys().collect::<Vec<_>>(), ["b", "d", "e"]);
}

#[tokio::test(start_paused = true)]
async fn calls_to_buckets_take_as_long_as_others() {
    let simulator = Simulator::new(1);
    simulator.set_latency(Latency::fixed(Duration::from_millis(8)));
    simulator.bucket("large");
    let started = Instant::now();
    put(&client(&simulator), "large", "a").await.unwrap();
    assert_eq!(started.elapsed(), Duration::from_millis(8));
}

#[tokio::test]
async fn buckets_are_served_over_http() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    let config = simulator.s3_client().config().to_builder();
    let config = config
        .endpoint_url(server.endpoint())
        .http_client(Builder::new().build_http());
    let client = Client::from_conf(config.build());
    put(&client, "large", "a/ü").await.unwrap();
    assert_eq!(get(&client, "large", "a/ü").await.unwrap(), "body of a/ü");
    assert_eq!(bucket.len(), 1);
}
