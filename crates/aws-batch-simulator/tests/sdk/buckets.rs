//! Buckets.

use std::time::Duration;

use aws_batch_simulator::{Acknowledgement, Bucket, Capacity, InjectedFault, Latency, Server, Simulator};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::delete_objects::DeleteObjectsError;
use aws_sdk_s3::operation::put_object::{PutObjectError, PutObjectOutput};
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use aws_smithy_http_client::Builder;
use bytes::Bytes;
use http_body_util::Full;
use tokio::time::Instant;

/// Without retries.
pub(crate) fn client(simulator: &Simulator) -> Client {
    let config = simulator.s3_client().config().to_builder();
    Client::from_conf(config.retry_config(RetryConfig::disabled()).build())
}

/// The same over a socket.
pub(crate) fn client_over_http(simulator: &Simulator, server: &Server) -> Client {
    let config = client(simulator).config().to_builder();
    let config = config
        .endpoint_url(server.endpoint())
        .http_client(Builder::new().build_http());
    Client::from_conf(config.build())
}

pub(crate) async fn put(client: &Client, bucket: &str, key: &str) -> Result<PutObjectOutput, SdkError<PutObjectError>> {
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
async fn a_put_that_fails_is_counted_as_what_it_was_and_has_the_message_of_its_fault() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    let denied = InjectedFault::Error {
        status: 403,
        code: "AccessDenied".into(),
        message: "Not for <you>".into(),
        applied: false,
    };
    bucket.script([
        InjectedFault::Throttle,
        denied,
        InjectedFault::internal_error(true),
        InjectedFault::Dropped { applied: false },
    ]);
    let client = client(&simulator);
    put(&client, "large", "a").await.unwrap_err();
    let error = put(&client, "large", "a").await.unwrap_err();
    assert_eq!(error.message(), Some("Not for <you>"));
    put(&client, "large", "a").await.unwrap_err();
    let delete = client.delete_object().bucket("large").key("a");
    delete.clone().send().await.unwrap_err();
    delete.send().await.unwrap();
    let statistics = bucket.statistics();
    assert_eq!((statistics.calls, statistics.entries), (5, 5));
    assert_eq!((statistics.throttled_calls, statistics.failed_calls), (1, 3));
    assert_eq!((statistics.throttled, statistics.failed, statistics.applied), (1, 2, 2));
}

#[tokio::test(start_paused = true)]
async fn no_fault_reports_a_put_or_a_delete_as_done_that_is_not() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    let client = client(&simulator);
    for fault in [
        InjectedFault::Empty { applied: false },
        InjectedFault::Garbage { applied: false },
        InjectedFault::Garbage { applied: true },
    ] {
        let is_applied = fault != InjectedFault::Garbage { applied: false };
        let is_done = matches!(fault, InjectedFault::Empty { .. });
        bucket.script([fault.clone()]);
        assert_eq!(put(&client, "large", "a").await.is_ok(), is_done, "{fault:?}");
        assert_eq!(bucket.len(), usize::from(is_applied), "{fault:?}");
        bucket.insert("a", "body");
        bucket.script([fault.clone()]);
        let deleted = client.delete_object().bucket("large").key("a").send().await;
        assert_eq!(deleted.is_ok(), is_done, "{fault:?}");
        assert_eq!(bucket.is_empty(), is_applied, "{fault:?}");
        client.delete_object().bucket("large").key("a").send().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_slow_also_if_all_its_deletions_are_throttled() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    bucket.set_capacity("", Capacity::none());
    bucket.script([InjectedFault::Slow(Duration::from_secs(3))]);
    let started = Instant::now();
    let error = delete_all(&client(&simulator), keys(&["a"]), false).await.unwrap_err();
    assert_eq!(error.code(), Some("SlowDown"));
    assert_eq!(started.elapsed(), Duration::from_secs(3));
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
    let client = client_over_http(&simulator, &server);
    put(&client, "large", "a/ü").await.unwrap();
    assert_eq!(get(&client, "large", "a/ü").await.unwrap(), "body of a/ü");
    assert_eq!(bucket.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_streamed_body_is_kept_without_its_chunks() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    put_streamed(&client(&simulator), &bucket).await;
}

#[tokio::test]
async fn a_streamed_body_is_kept_without_its_chunks_over_http() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    put_streamed(&client_over_http(&simulator, &server), &bucket).await;
}

/// Puts streamed bodies of no chunk, of one and of several.
async fn put_streamed(client: &Client, bucket: &Bucket) {
    for bytes in [0, 1, 200_000] {
        let body: Vec<u8> = (0..=u8::MAX).cycle().take(bytes).collect();
        let stream = ByteStream::from_body_1_x(Full::new(Bytes::from(body.clone())));
        let call = client.put_object().bucket("large").key("a").body(stream);
        call.send().await.unwrap();
        assert!(bucket.objects()["a"] == body, "of {bytes} bytes");
    }
}

#[tokio::test]
async fn an_object_may_be_larger_than_the_requests_of_other_services() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    let body = vec![1; 17 * 1024 * 1024];
    for client in [client(&simulator), client_over_http(&simulator, &server)] {
        let call = client.put_object().bucket("large").key("a");
        call.body(body.clone().into()).send().await.unwrap();
        assert_eq!(bucket.objects().remove("a").unwrap().len(), body.len());
    }
}

/// Deletes these keys with one call; returns the keys that were deleted, and the codes of the errors by key.
async fn delete_all(
    client: &Client,
    keys: impl IntoIterator<Item = String>,
    is_quiet: bool,
) -> Result<(Vec<String>, Vec<(String, String)>), SdkError<DeleteObjectsError>> {
    let object = |key| ObjectIdentifier::builder().key(key).build().unwrap();
    let objects = keys.into_iter().map(object).collect();
    let delete = Delete::builder()
        .set_objects(Some(objects))
        .quiet(is_quiet)
        .build()
        .unwrap();
    let output = client.delete_objects().bucket("large").delete(delete).send().await?;
    let deleted = output
        .deleted()
        .iter()
        .filter_map(|object| object.key().map(str::to_owned));
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let errors = output
        .errors()
        .iter()
        .map(|error| (text(error.key()), text(error.code())));
    Ok((deleted.collect(), errors.collect()))
}

fn keys(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_call_deletes_many_objects_and_answers_for_each() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    for key in ["a", "<b>&\"\r\n ü", "locked", "kept"] {
        bucket.insert(key, "body");
    }
    bucket.poison(|deletion| deletion["Key"] == "locked");
    bucket.keep_journal();
    let client = client(&simulator);
    let sent = keys(&["a", "<b>&\"\r\n ü", "locked", "missing"]);
    let (deleted, errors) = delete_all(&client, sent, false).await.unwrap();
    assert_eq!(deleted, ["a", "<b>&\"\r\n ü", "missing"]);
    assert_eq!(errors, [("locked".to_owned(), "AccessDenied".to_owned())]);
    assert_eq!(bucket.objects().into_keys().collect::<Vec<_>>(), ["kept", "locked"]);
    let journal = bucket.journal();
    let accepted = journal
        .iter()
        .filter(|record| record.acknowledgement() == Acknowledgement::Accepted);
    assert_eq!((journal.len(), accepted.count()), (4, 3));
    assert_eq!(
        delete_all(&client, keys(&["kept"]), true).await.unwrap(),
        (vec![], vec![])
    );
}

#[tokio::test(start_paused = true)]
async fn deletions_are_throttled_by_the_longest_prefix_of_their_keys() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    bucket.set_capacity("", Capacity::per_second(1.0).burst(3.0).starts_full());
    bucket.set_capacity("hot/", Capacity::none());
    let client = client(&simulator);
    let sent = keys(&["a", "b", "hot/c"]);
    let (deleted, errors) = delete_all(&client, sent, false).await.unwrap();
    assert_eq!(deleted, ["a", "b"]);
    assert_eq!(errors, [("hot/c".to_owned(), "SlowDown".to_owned())]);
    let error = delete_all(&client, keys(&["hot/c"]), false).await.unwrap_err();
    assert_eq!(error.code(), Some("SlowDown"));
    let statistics = bucket.statistics();
    assert_eq!(
        (statistics.calls, statistics.throttled_calls, statistics.throttled),
        (2, 1, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_breaks_a_rule_is_refused_as_a_whole() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    let client = client(&simulator);
    let all = (0..1_001).map(|number| number.to_string());
    assert!(delete_all(&client, all.clone().take(1_000), true).await.is_ok());
    for sent in [all.collect(), vec![], keys(&["a", "\u{1}"])] {
        let error = delete_all(&client, sent, true).await.unwrap_err();
        assert_eq!(error.code(), Some("MalformedXML"));
    }
    assert_eq!(bucket.statistics().refused_calls, 3);
    let (_, errors) = delete_all(&client, ["k".repeat(1_025)], true).await.unwrap();
    assert_eq!(errors[0].1, "KeyTooLongError");
}
