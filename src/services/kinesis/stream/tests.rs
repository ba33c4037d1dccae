//! What a stream is sent, and what becomes of its answers.

use std::time::Duration;

use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::builders::PutRecordsRequestEntryBuilder;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;

use super::*;
use crate::aws::recording::{Recorder, recorded_config};

const ARN: &str = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders";

/// Two shards, each with a half of the hash keys.
const SHARDS: &str = r#"{"Shards":[
    {"ShardId":"0","HashKeyRange":{"StartingHashKey":"0","EndingHashKey":"170141183460469231731687303715884105727"},
     "SequenceNumberRange":{"StartingSequenceNumber":"1"}},
    {"ShardId":"1","HashKeyRange":{"StartingHashKey":"170141183460469231731687303715884105728",
     "EndingHashKey":"340282366920938463463374607431768211455"},"SequenceNumberRange":{"StartingSequenceNumber":"1"}}]}"#;

fn client(http_client: impl HttpClient + 'static) -> Client {
    Client::from_conf(recorded_config!(aws_sdk_kinesis, http_client).build())
}

fn stream(recorder: &Recorder) -> KinesisStream {
    KinesisStream::new(client(recorder.clone()), "orders")
}

fn record(key: &str) -> PutRecordsRequestEntryBuilder {
    PutRecordsRequestEntry::builder()
        .data(Blob::new("data"))
        .partition_key(key)
}

fn checked(record: PutRecordsRequestEntryBuilder) -> Result<usize, String> {
    let stream = stream(&Recorder::answering(200, "{}"));
    stream
        .check(&record.build().unwrap())
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_stream_is_given_by_its_name_or_by_its_arn() {
    for (given, expected) in [("orders", r#""StreamName":"orders""#), (ARN, r#""StreamARN":"arn:aws"#)] {
        let recorder = Recorder::answering(200, r#"{"Records":[{"SequenceNumber":"7","ShardId":"0"}]}"#);
        let stream = KinesisStream::new(client(recorder.clone()), given);
        assert_eq!(stream.name(), "kinesis/orders");
        assert!(!format!("{stream:?}").contains("123456789012"));
        let answer = stream.send(&[record("a").build().unwrap()]).await;
        let body = recorder.only_request().body;
        assert!(body.contains(expected), "{body}");
        let Answer::Each(verdicts) = answer else {
            panic!("{answer:?}");
        };
        let [Verdict::Acknowledged(acknowledgement)] = &verdicts[..] else {
            panic!("{verdicts:?}");
        };
        assert_eq!(acknowledgement.sequence_number.as_deref(), Some("7"));
    }
}

#[test]
fn a_record_counts_with_its_partition_key() {
    assert_eq!(checked(record("key")), Ok(7));
    let most = MAX_RECORD_BYTES - 3;
    assert_eq!(
        checked(record("key").data(Blob::new(vec![0; most]))),
        Ok(MAX_RECORD_BYTES)
    );
    let error = checked(record("key").data(Blob::new(vec![0; most + 1])));
    assert_eq!(
        error,
        Err("the record has 10485761 bytes, the limit is 10485760".to_owned())
    );
}

#[test]
fn a_record_counts_by_its_kibibytes() {
    let stream = stream(&Recorder::answering(200, "{}"));
    let units = [0, 1_020, 1_022, 10_237].map(|bytes| {
        let record = record("key").data(Blob::new(vec![0; bytes]));
        stream.units(&record.build().unwrap())
    });
    assert_eq!(units, [1, 1, 2, 10]);
}

#[test]
fn a_stream_that_distributes_records_itself_needs_no_partition_key() {
    let record = PutRecordsRequestEntry::builder().data(Blob::new("data"));
    assert_eq!(checked(record), Ok(4));
}

#[test]
fn keys_have_their_limits() {
    assert_eq!(
        checked(record("")),
        Err("the partition key is missing or empty".to_owned())
    );
    assert!(checked(record(&"é".repeat(256))).is_ok());
    assert!(checked(record(&"é".repeat(257))).is_err());
    for valid in ["0", "340282366920938463463374607431768211455"] {
        assert!(checked(record("a").explicit_hash_key(valid)).is_ok(), "{valid}");
    }
    for invalid in ["", "00", "+1", "-1", "340282366920938463463374607431768211456", "x"] {
        assert!(checked(record("a").explicit_hash_key(invalid)).is_err(), "{invalid}");
    }
}

#[tokio::test]
async fn records_of_one_shard_draw_from_one_part_of_the_capacity() {
    let recorder = Recorder::answering(200, SHARDS);
    let known = stream(&recorder);
    known.prepare().await;
    known.prepare().await;
    assert_eq!(recorder.requests(), 2, "the shards, and the summary");
    let part = |stream: &KinesisStream, hash_key: &str| {
        let record = record("a").explicit_hash_key(hash_key).build().unwrap();
        stream.partition_key(&record).unwrap()
    };
    let last = u128::MAX.to_string();
    assert_eq!(part(&known, "0"), part(&known, "1"));
    assert_ne!(part(&known, "0"), part(&known, &last));
    let unknown = stream(&recorder);
    assert_ne!(part(&unknown, "0"), part(&unknown, "1"));
    assert_eq!(part(&unknown, "0"), part(&unknown, "0"));
}

#[test]
fn only_an_ordered_stream_keeps_the_records_of_a_key_apart() {
    let stream = stream(&Recorder::answering(200, "{}"));
    let of = |key: &str| record(key).build().unwrap();
    assert_eq!(stream.lane(&of("a")), None);
    let ordered = stream.ordered();
    assert_eq!(ordered.lane(&of("a")), Some(Lane::exclusive("a")));
    assert_ne!(ordered.lane(&of("a")), ordered.lane(&of("b")));
}

#[tokio::test]
async fn a_call_of_aggregates_has_as_many_records_as_the_kinesis_records_of_a_call_are_enough_for() {
    let recorder = Recorder::answering(200, SHARDS);
    let aggregated = stream(&recorder).aggregated();
    let limits = |entries| Limits::new(entries, 1 << 20).with_entry_bytes(MAX_RECORD_BYTES);
    assert_eq!(aggregated.limits(), limits(500), "each may need one of its own");
    aggregated.prepare().await;
    assert_eq!(aggregated.limits(), limits(10_000));
    // Two shards, and 84 for the bytes.
    for (records, expected) in [(85, 85), (86, 10_000)] {
        let of_endpoint = Limits::new(records, MAX_BATCH_BYTES).with_entry_bytes(MAX_RECORD_BYTES);
        let aggregated = aggregated.clone().with_limits(of_endpoint);
        assert_eq!(aggregated.limits(), limits(expected));
    }
}

#[test]
fn an_aggregated_record_has_the_limit_of_any_other_and_counts_with_all_that_an_aggregate_adds() {
    let aggregated = stream(&Recorder::answering(200, "{}")).aggregated();
    let checked = |data: Vec<u8>| {
        let record = record("key").data(Blob::new(data)).build().unwrap();
        let checked = aggregated.check(&record).map_err(|error| error.to_string());
        (checked, aggregated.weight(&record, 0), aggregated.units(&record))
    };
    assert_eq!(checked(b"data".to_vec()), (Ok(4 + 5 + 2 + 3 + 6 + 16 + 3), 7, 1));
    let all = 1 << 20;
    assert_eq!(
        checked(vec![0; MAX_RECORD_BYTES - 3]),
        (Ok(all), MAX_RECORD_BYTES, 163_840)
    );
    let too_large = |bytes: usize| Err(format!("the record has {bytes} bytes, the limit is {MAX_RECORD_BYTES}"));
    assert_eq!(
        checked(vec![0; MAX_RECORD_BYTES - 2]).0,
        too_large(MAX_RECORD_BYTES + 1)
    );
    // It is put as an aggregate of itself, which is larger.
    let mut looks_aggregated = vec![0; MAX_RECORD_BYTES - 3];
    looks_aggregated[..4].copy_from_slice(&[0xF3, 0x89, 0x9A, 0xC2]);
    assert_eq!(checked(looks_aggregated).0, too_large(MAX_RECORD_BYTES + 38));
}

#[test]
fn the_records_of_a_key_in_order_share_calls_only_as_a_whole() {
    let aggregated = stream(&Recorder::answering(200, "{}")).aggregated();
    let record = record("a").build().unwrap();
    assert_eq!(aggregated.lane(&record), None);
    assert_eq!(aggregated.ordered().lane(&record), Some(Lane::together("a")));
}

#[tokio::test]
async fn the_announced_throughput_of_aggregates_is_that_in_their_units() {
    let recorder = Recorder::answering(200, SHARDS);
    let aggregated = stream(&recorder).aggregated();
    assert_eq!(aggregated.throughput(), None);
    aggregated.prepare().await;
    // 1,000 KiB for each of two shards, in units of 64 bytes.
    assert_eq!(aggregated.throughput(), Some(2.0 * 16_000.0));
}

const DENIED: (u16, &str) = (400, r#"{"__type":"AccessDeniedException"}"#);

fn are_accepted(answer: Answer) -> Vec<bool> {
    let Answer::Each(verdicts) = answer else {
        panic!("{answer:?}");
    };
    verdicts.iter().map(Verdict::is_accepted).collect()
}

#[tokio::test]
async fn records_of_a_key_share_a_kinesis_record_if_the_shards_may_not_be_listed() {
    let put =
        r#"{"Records":[{"SequenceNumber":"7","ShardId":"5"},{"ErrorCode":"ProvisionedThroughputExceededException"}]}"#;
    let recorder = Recorder::answering_in_turn([DENIED, DENIED, (200, put)]);
    let aggregated = stream(&recorder).aggregated();
    aggregated.prepare().await;
    let records = ["a", "b", "a"].map(|key| record(key).build().unwrap());
    let answer = aggregated.send(&records).await;
    assert_eq!(are_accepted(answer), [true, false, true]);
    assert_eq!(recorder.requests(), 3, "in whatever shard they are, it is theirs");
}

#[tokio::test]
async fn a_stream_that_is_found_to_ignore_keys_gets_no_more_aggregates() {
    let put = r#"{"Records":[{"SequenceNumber":"7","ShardId":"1"}]}"#;
    let recorder = Recorder::answering_in_turn([(200, SHARDS), DENIED, (200, put)]);
    let aggregated = stream(&recorder).aggregated();
    aggregated.prepare().await;
    let records = ["1", "2"].map(|hash_key| record("a").explicit_hash_key(hash_key).build().unwrap());
    let answer = aggregated.send(&records).await;
    assert_eq!(
        are_accepted(answer),
        [false, false],
        "readers of the second shard drop them"
    );
    let Answer::Stop(fault) = aggregated.send(&records).await else {
        panic!("no record is put");
    };
    assert_eq!((fault.code(), recorder.requests()), (NO_KEYS, 3));
}

/// Answers `DescribeStreamSummary` with this part among the others.
fn described_by(part: &str) -> Recorder {
    let summary = format!(
        r#"{{"StreamDescriptionSummary":{{"StreamName":"orders","StreamARN":"arn","StreamStatus":"ACTIVE","RetentionPeriodHours":24,
            "StreamCreationTimestamp":0,"EnhancedMonitoring":[],"OpenShardCount":4,{part}}}}}"#
    );
    Recorder::answering(200, summary.leak())
}

#[tokio::test]
async fn a_stream_that_distributes_records_itself_is_one_part_of_the_capacity_and_keeps_no_order() {
    let recorder = described_by(r#""RecordDistributionStrategy":"AUTO""#);
    let stream = stream(&recorder).ordered();
    stream.prepare().await;
    let record = record("a").build().unwrap();
    assert_eq!(stream.partition_key(&record), None);
    let Answer::Stop(fault) = stream.send(&[record]).await else {
        panic!("no record is put");
    };
    assert_eq!(fault.code(), NO_KEYS);
    assert!(!fault.is_ambiguous());
    assert_eq!(recorder.requests(), 2);
}

#[tokio::test]
async fn a_record_has_as_many_bytes_as_the_stream_tells() {
    let recorder = described_by(r#""MaxRecordSizeInKiB":1024"#);
    let stream = stream(&recorder);
    stream.prepare().await;
    let of_data = |bytes: usize| record("a").data(Blob::new(vec![0; bytes])).build().unwrap();
    // The key is "a".
    assert_eq!(stream.check(&of_data(1_048_575)), Ok(1_048_576));
    let error = stream.check(&of_data(1_048_576)).unwrap_err().to_string();
    assert_eq!(error, "the record has 1048577 bytes, the limit is 1048576");
}

#[tokio::test]
async fn keys_count_when_it_is_not_permitted_to_ask_if_the_stream_distributes_records_itself() {
    let recorder = Recorder::answering(400, r#"{"__type":"AccessDeniedException"}"#);
    let stream = stream(&recorder).ordered();
    stream.prepare().await;
    stream.prepare().await;
    assert_eq!(recorder.requests(), 2, "each is asked once");
    let record = record("a").build().unwrap();
    assert!(stream.partition_key(&record).is_some());
    stream.send(&[record]).await;
    assert_eq!(recorder.requests(), 3);
}

/// Answers `ListShards`, and nothing else.
#[derive(Debug, Clone)]
struct Listing;

impl HttpConnector for Listing {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        if target.ends_with("ListShards") {
            return HttpConnectorFuture::ready(Ok(HttpResponse::new(200.try_into().unwrap(), SdkBody::from(SHARDS))));
        }
        HttpConnectorFuture::new(std::future::pending())
    }
}

impl HttpClient for Listing {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

#[tokio::test(start_paused = true)]
async fn a_delivery_does_not_wait_for_a_summary_that_does_not_come() {
    let stream = KinesisStream::new(client(Listing), "orders");
    let started = tokio::time::Instant::now();
    stream.prepare().await;
    assert_eq!(started.elapsed(), Duration::from_secs(2));
    assert!(stream.throughput().is_some() && !stream.spreads());
}
