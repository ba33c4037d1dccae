//! Single objects of buckets: what is kept with them, conditions, and what is not modelled.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use aws_batch_simulator::{InjectedFault, Simulator};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::put_object::PutObjectError;
use aws_sdk_s3::types::{Delete, ObjectIdentifier, Tag, Tagging};
use tokio::time::Instant;

use crate::buckets::{client, client_over_http, put};

#[tokio::test(start_paused = true)]
async fn an_object_has_a_type_and_the_md5_digest_of_its_body() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    let client = client(&simulator);
    let call = client.put_object().bucket("large").key("a").content_type("text/plain");
    let stored = call.body(b"hello".to_vec().into()).send().await.unwrap();
    let etag = "\"5d41402abc4b2a76b9719d911017c592\"";
    assert_eq!(stored.e_tag(), Some(etag));
    let got = client.get_object().bucket("large").key("a").send().await.unwrap();
    assert_eq!((got.e_tag(), got.content_type()), (Some(etag), Some("text/plain")));
    bucket.insert("b", "hello");
    let got = client.get_object().bucket("large").key("b").send().await.unwrap();
    assert_eq!(
        (got.e_tag(), got.content_type()),
        (Some(etag), Some("binary/octet-stream"))
    );
}

#[tokio::test]
async fn the_head_of_an_object_is_its_get_without_the_body() {
    let simulator = Simulator::new(1);
    simulator.bucket("large").insert("a", "hello");
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    for client in [client(&simulator), client_over_http(&simulator, &server)] {
        let head = client.head_object().bucket("large").key("a").send().await.unwrap();
        let got = client.get_object().bucket("large").key("a").send().await.unwrap();
        assert_eq!(head.content_length(), Some(5));
        assert_eq!(got.content_length(), Some(5));
        assert_eq!((head.e_tag(), head.content_type()), (got.e_tag(), got.content_type()));
        let missing = client.head_object().bucket("large").key("b").send().await;
        assert!(missing.unwrap_err().into_service_error().is_not_found());
    }
}

#[tokio::test(start_paused = true)]
async fn a_put_replaces_only_the_object_of_its_condition() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    let client = client(&simulator);
    let call = |body: &str| {
        let call = client.put_object().bucket("large").key("a");
        call.body(body.as_bytes().to_vec().into())
    };
    let failed = |error: SdkError<PutObjectError>| {
        let status = error.raw_response().unwrap().status().as_u16();
        (status, error.code().unwrap().to_owned())
    };
    let is_different = (412, "PreconditionFailed".to_owned());
    let is_missing = (404, "NoSuchKey".to_owned());
    let error = call("0").if_match("\"b\"").send().await.unwrap_err();
    assert_eq!(failed(error), is_missing);
    let first = call("1").if_none_match("*").send().await.unwrap();
    let error = call("2").if_none_match("*").send().await.unwrap_err();
    assert_eq!(failed(error), is_different);
    call("3").if_match(first.e_tag().unwrap()).send().await.unwrap();
    let error = call("4").if_match(first.e_tag().unwrap()).send().await.unwrap_err();
    assert_eq!(failed(error), is_different);
    assert_eq!(bucket.objects()["a"], b"3");
    let statistics = bucket.statistics();
    assert_eq!((statistics.applied, statistics.conditions_failed), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn a_delete_removes_only_the_object_of_its_condition() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    let client = client(&simulator);
    let stored = put(&client, "large", "a").await.unwrap();
    let delete = |etag: &str| client.delete_object().bucket("large").key("a").if_match(etag).send();
    let error = delete("\"b\"").await.unwrap_err();
    assert_eq!(error.code(), Some("PreconditionFailed"));
    assert_eq!(bucket.len(), 1);
    delete(stored.e_tag().unwrap()).await.unwrap();
    assert!(bucket.is_empty());
    let error = delete(stored.e_tag().unwrap()).await.unwrap_err();
    assert_eq!(error.code(), Some("NoSuchKey"));
    assert_eq!(delete("*").await.unwrap_err().code(), Some("NoSuchKey"));
    put(&client, "large", "a").await.unwrap();
    delete("*").await.unwrap();
    assert!(bucket.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_conditional_put_meets_the_faults_of_the_script() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    bucket.script([
        InjectedFault::Dropped { applied: true },
        InjectedFault::internal_error(true),
        InjectedFault::Slow(Duration::from_secs(3)),
    ]);
    let client = client(&simulator);
    let create = |body: &str| {
        let call = client.put_object().bucket("large").key("a").if_none_match("*");
        call.body(body.as_bytes().to_vec().into()).send()
    };
    assert!(matches!(create("1").await.unwrap_err(), SdkError::DispatchFailure(_)));
    assert_eq!(create("2").await.unwrap_err().code(), Some("InternalServerError"));
    let started = Instant::now();
    assert_eq!(create("3").await.unwrap_err().code(), Some("PreconditionFailed"));
    assert_eq!(started.elapsed(), Duration::from_secs(3));
    assert_eq!(bucket.objects()["a"], b"1");
}

/// Asserts that the call was refused as one that is not modelled.
macro_rules! assert_refused {
    ($call:expr) => {
        let error = $call.send().await.unwrap_err();
        assert_eq!(error.code(), Some("NotImplemented"), "{error:?}");
        assert_eq!(error.raw_response().unwrap().status().as_u16(), 501);
    };
}

#[tokio::test(start_paused = true)]
async fn a_request_to_a_bucket_that_is_not_modelled_is_refused_and_changes_nothing() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    bucket.insert("a", "body");
    bucket.script([InjectedFault::Throttle]);
    let client = client(&simulator);
    let tag = Tag::builder().key("b").value("c").build().unwrap();
    let tags = Tagging::builder().tag_set(tag).build().unwrap();
    assert_refused!(client.copy_object().bucket("large").key("b").copy_source("large/a"));
    assert_refused!(client.put_object_tagging().bucket("large").key("a").tagging(tags));
    assert_refused!(client.delete_object_tagging().bucket("large").key("a"));
    assert_refused!(client.get_object().bucket("large").key("a").range("bytes=0-1"));
    assert_refused!(client.get_object().bucket("large").key("a").if_match("b"));
    assert_refused!(client.get_object().bucket("large").key("a").version_id("b"));
    assert_refused!(client.delete_object().bucket("large").key("a").version_id("b"));
    assert_refused!(client.put_object().bucket("large").key("a").metadata("b", "c"));
    assert_refused!(client.list_objects_v2().bucket("large"));
    assert_refused!(client.list_buckets());
    assert_refused!(client.create_bucket().bucket("large"));
    assert_refused!(client.delete_bucket().bucket("large"));
    assert_refused!(client.create_multipart_upload().bucket("large").key("a"));
    let part = client.upload_part().bucket("large").key("a");
    assert_refused!(part.upload_id("b").part_number(1).body(b"part".to_vec().into()));
    assert_eq!(
        bucket.objects().into_iter().collect::<Vec<_>>(),
        [("a".to_owned(), b"body".to_vec())]
    );
    assert_eq!((bucket.calls(), bucket.puts(), bucket.deletes()), (0, 0, 0));
    let object = ObjectIdentifier::builder().key("a").e_tag("b").build().unwrap();
    let delete = Delete::builder().objects(object).build().unwrap();
    bucket.script([]);
    assert_refused!(client.delete_objects().bucket("large").delete(delete));
    assert_eq!(bucket.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_whose_body_is_cut_off_is_counted_as_refused() {
    let simulator = Simulator::new(1);
    let bucket = simulator.bucket("large");
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    let mut connection = TcpStream::connect(server.address()).unwrap();
    let request = "PUT /large/a HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-encoding: aws-chunked\r\n\
                   content-length: 7\r\n\r\n10\r\nabc";
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 400") && answer.contains("IncompleteBody"),
        "{answer}"
    );
    let statistics = bucket.statistics();
    assert_eq!((bucket.puts(), statistics.calls, statistics.refused_calls), (1, 1, 1));
    assert!(bucket.is_empty());
}
