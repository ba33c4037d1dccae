//! Data streams of Kinesis.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_batch_simulator::{Acknowledgement, Capacity, InjectedFault, Record, Simulator, Stream, StreamOptions};
use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::config::retry::RetryConfig;
use aws_sdk_kinesis::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_kinesis::operation::put_records::{PutRecordsError, PutRecordsOutput};
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::{PutRecordsRequestEntry, RecordDistributionStrategy};
use tokio::time::sleep;

fn record(key: impl Into<String>, bytes: usize) -> PutRecordsRequestEntry {
    let record = PutRecordsRequestEntry::builder().partition_key(key);
    record.data(Blob::new(vec![7; bytes])).build().unwrap()
}

/// A record for each of these shards of eight, by explicit hash keys.
fn records_for(shards: &[u128]) -> Vec<PutRecordsRequestEntry> {
    let records = shards.iter().map(|shard| {
        let record = PutRecordsRequestEntry::builder()
            .partition_key("k")
            .data(Blob::new("x"));
        record.explicit_hash_key((shard << 125).to_string()).build().unwrap()
    });
    records.collect()
}

/// One call without the SDK's own retries.
async fn put(
    client: &Client,
    stream: &str,
    records: Vec<PutRecordsRequestEntry>,
) -> Result<PutRecordsOutput, SdkError<PutRecordsError>> {
    let once = aws_sdk_kinesis::config::Config::builder().retry_config(RetryConfig::disabled());
    let call = client.put_records().stream_name(stream).set_records(Some(records));
    call.customize().config_override(once).send().await
}

/// The error codes of the records, empty where a record was taken.
fn codes(output: &PutRecordsOutput) -> Vec<&str> {
    output
        .records()
        .iter()
        .map(|record| record.error_code().unwrap_or_default())
        .collect()
}

fn counts(stream: &Stream) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for record in stream.records() {
        *counts.entry(record.shard).or_default() += 1;
    }
    counts
}

#[tokio::test(start_paused = true)]
async fn records_are_in_the_shards_that_the_list_of_shards_says() {
    let simulator = Simulator::new(1);
    let stream = simulator.stream("orders", StreamOptions::shards(8));
    let client = simulator.kinesis_client();
    let listed = client.list_shards().stream_arn(stream.arn()).send().await.unwrap();
    let shards = listed.shards();
    assert_eq!(shards.len(), 8);
    let records = (0..100).map(|number| record(number.to_string(), 3)).collect();
    let output = put(&client, "orders", records).await.unwrap();
    assert_eq!(output.failed_record_count(), Some(0));
    for (answer, stored) in output.records().iter().zip(stream.records()) {
        assert_eq!(answer.shard_id(), Some(shards[stored.shard].shard_id()));
        assert_eq!(stored.data, [7; 3]);
    }
    assert_eq!(counts(&stream).len(), 8, "a hundred keys are in all of eight shards");
    put(&client, "orders", records_for(&[0, 3, 7])).await.unwrap();
    let last: Vec<usize> = stream.records()[100..].iter().map(|record| record.shard).collect();
    assert_eq!(last, [0, 3, 7]);
}

#[tokio::test(start_paused = true)]
async fn a_list_of_shards_has_pages() {
    let simulator = Simulator::new(1);
    simulator.stream("orders", StreamOptions::shards(5));
    let client = simulator.kinesis_client();
    let first = client
        .list_shards()
        .stream_name("orders")
        .max_results(3)
        .send()
        .await
        .unwrap();
    assert_eq!(first.shards().len(), 3);
    let rest = client
        .list_shards()
        .set_next_token(first.next_token)
        .send()
        .await
        .unwrap();
    assert_eq!((rest.shards().len(), rest.next_token()), (2, None));
    assert_eq!(
        rest.shards()[1].hash_key_range().unwrap().ending_hash_key(),
        u128::MAX.to_string()
    );
}

#[tokio::test(start_paused = true)]
async fn new_shards_take_the_records_and_earlier_ones_are_closed() {
    let simulator = Simulator::new(1);
    let stream = simulator.stream("orders", StreamOptions::shards(1));
    let client = simulator.kinesis_client();
    put(&client, "orders", records_for(&[0, 7])).await.unwrap();
    stream.reshard(2);
    let output = put(&client, "orders", records_for(&[0, 7])).await.unwrap();
    let taken_by: Vec<_> = output
        .records()
        .iter()
        .map(|record| record.shard_id().unwrap())
        .collect();
    assert_eq!(taken_by, ["shardId-000000000001", "shardId-000000000002"]);
    let shards: Vec<usize> = stream.records().iter().map(|record| record.shard).collect();
    assert_eq!(shards, [0, 0, 1, 2]);
    let mut listed = Vec::new();
    let mut next = None;
    loop {
        let named = next.is_none().then(|| "orders".to_owned());
        let call = client
            .list_shards()
            .set_stream_name(named)
            .set_next_token(next)
            .max_results(2);
        let page = call.send().await.unwrap();
        listed.extend(page.shards.unwrap_or_default());
        next = page.next_token;
        if next.is_none() {
            break;
        }
    }
    let closed: Vec<bool> = listed
        .iter()
        .map(|shard| {
            shard
                .sequence_number_range()
                .unwrap()
                .ending_sequence_number()
                .is_some()
        })
        .collect();
    assert_eq!(closed, [true, false, false]);
    let hash_keys = |place: usize| listed[place].hash_key_range().unwrap();
    assert_eq!(hash_keys(0).ending_hash_key(), u128::MAX.to_string());
    assert_eq!(hash_keys(2).ending_hash_key(), u128::MAX.to_string());
    let summary = client
        .describe_stream_summary()
        .stream_name("orders")
        .send()
        .await
        .unwrap();
    assert_eq!(summary.stream_description_summary().unwrap().open_shard_count(), 2);
    // Each has its own capacity.
    for shard in [0, 0, 7, 7] {
        put(&client, "orders", records_for(&[shard; 500])).await.unwrap();
    }
    assert_eq!(counts(&stream), BTreeMap::from([(0, 2), (1, 1_000), (2, 1_000)]));
}

#[tokio::test(start_paused = true)]
async fn each_shard_has_a_thousand_records_a_second_of_its_own() {
    let simulator = Simulator::new(1);
    let stream = simulator.stream("orders", StreamOptions::shards(8));
    let client = simulator.kinesis_client();
    for _ in 0..3 {
        put(&client, "orders", records_for(&[2; 500])).await.unwrap();
    }
    assert_eq!(counts(&stream), BTreeMap::from([(2, 1_000)]));
    let output = put(&client, "orders", records_for(&[2, 3, 2])).await.unwrap();
    let throttled = "ProvisionedThroughputExceededException";
    assert_eq!(codes(&output), [throttled, "", throttled]);
    assert_eq!(output.failed_record_count(), Some(2));
    sleep(Duration::from_millis(250)).await;
    put(&client, "orders", records_for(&[2; 500])).await.unwrap();
    assert_eq!(counts(&stream)[&2], 1_250);
    assert_eq!(stream.statistics().throttled, 500 + 2 + 250);
    stream.set_capacity(2, Capacity::unlimited());
    put(&client, "orders", records_for(&[2; 500])).await.unwrap();
    assert_eq!(counts(&stream)[&2], 1_750);
    stream.reject_while(|record| record["PartitionKey"] == "k");
    let output = put(&client, "orders", records_for(&[2, 3])).await.unwrap();
    assert_eq!(
        codes(&output),
        [throttled; 2],
        "also where all are throttled the call itself succeeds"
    );
}

#[tokio::test(start_paused = true)]
async fn each_shard_has_a_mebibyte_a_second_of_its_own() {
    let simulator = Simulator::new(1);
    let stream = simulator.stream("orders", StreamOptions::shards(1));
    let client = simulator.kinesis_client();
    let half = || record("k", 512 * 1_024 - 1);
    let output = put(&client, "orders", vec![half(), half(), half()]).await.unwrap();
    assert_eq!(output.failed_record_count(), Some(1));
    sleep(Duration::from_millis(500)).await;
    put(&client, "orders", vec![half(), half()]).await.unwrap();
    assert_eq!(stream.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn whole_calls_are_refused_for_what_one_record_has() {
    let simulator = Simulator::new(1);
    let unlimited = StreamOptions::shards(1).byte_capacity(Capacity::unlimited());
    let stream = simulator.stream("orders", unlimited.clone());
    simulator.stream("large", unlimited.maximum_record_size(10 << 20));
    let client = simulator.kinesis_client();
    let explicit = |key: &str| {
        PutRecordsRequestEntry::builder()
            .partition_key("k")
            .data(Blob::new(""))
            .explicit_hash_key(key)
    };
    let without_key = PutRecordsRequestEntry::builder().data(Blob::new("")).build().unwrap();
    let mebibyte = || record("k", (1 << 20) - 1);
    for (name, records, code) in [
        ("orders", Vec::new(), "ValidationException"),
        ("orders", vec![record("k", 1); 501], "ValidationException"),
        ("orders", vec![record("", 1)], "ValidationException"),
        ("orders", vec![record("k".repeat(257), 1)], "ValidationException"),
        ("orders", vec![without_key], "ValidationException"),
        ("orders", vec![explicit("01").build().unwrap()], "ValidationException"),
        (
            "orders",
            vec![explicit("340282366920938463463374607431768211456").build().unwrap()],
            "InvalidArgumentException",
        ),
        (
            "orders",
            vec![mebibyte(), record("k", 1 << 20)],
            "InvalidArgumentException",
        ),
        ("large", vec![mebibyte(); 11], "InvalidArgumentException"),
        ("missing", vec![record("k", 1)], "ResourceNotFoundException"),
    ] {
        let error = put(&client, name, records).await.unwrap_err();
        assert_eq!(error.code(), Some(code));
    }
    assert!(stream.is_empty());
    assert_eq!(stream.statistics().refused_calls, 8);
    assert!(
        put(&client, "large", vec![mebibyte(); 10]).await.is_ok(),
        "exactly 10 MiB"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_spread_the_records_itself() {
    let simulator = Simulator::new(1);
    let stream = simulator.stream("orders", StreamOptions::shards(4).spreading());
    let same_key = (0..8).map(|_| record("k", 1)).collect();
    put(&simulator.kinesis_client(), "orders", same_key).await.unwrap();
    assert_eq!(counts(&stream), BTreeMap::from([(0, 2), (1, 2), (2, 2), (3, 2)]));
}

#[tokio::test(start_paused = true)]
async fn the_summary_of_a_stream_says_if_it_spreads_the_records_itself() {
    let simulator = Simulator::new(1);
    simulator.stream("keyed", StreamOptions::shards(4));
    simulator.stream("spreading", StreamOptions::shards(2).spreading());
    let client = simulator.kinesis_client();
    for (name, shards, strategy) in [("keyed", 4, None), ("spreading", 2, Some("AUTO"))] {
        let output = client.describe_stream_summary().stream_name(name).send().await.unwrap();
        let summary = output.stream_description_summary().unwrap();
        assert_eq!((summary.stream_name(), summary.open_shard_count()), (name, shards));
        let of_records = summary.record_distribution_strategy();
        assert_eq!(of_records, strategy.map(RecordDistributionStrategy::from).as_ref());
    }
}

#[tokio::test(start_paused = true)]
async fn faults_apply_what_they_report() {
    let simulator = Simulator::new(1);
    let stream = simulator.stream("orders", StreamOptions::shards(1));
    stream.keep_journal();
    let shorter = InjectedFault::Omitted {
        entries: 2,
        applied: true,
    };
    stream.script([
        InjectedFault::Unprocessed(3),
        InjectedFault::failed(1, "KMSThrottlingException", false),
        shorter,
        InjectedFault::Repeated(1),
        InjectedFault::Unknown(2),
        InjectedFault::Empty { applied: true },
        InjectedFault::Throttle,
        InjectedFault::internal_error(true),
        InjectedFault::Garbage { applied: false },
    ]);
    let client = simulator.kinesis_client();
    let ten = || (0..10).map(|key| record(key.to_string(), 1)).collect::<Vec<_>>();
    let mut seen = Vec::new();
    for _ in 0..6 {
        let output = put(&client, "orders", ten()).await.unwrap();
        let failed = codes(&output).into_iter().filter(|code| !code.is_empty()).count();
        seen.push((output.records().len(), failed, stream.len()));
    }
    assert_eq!(
        seen,
        [
            (10, 3, 7),
            (10, 1, 16),
            (8, 0, 26),
            (11, 2, 35),
            (12, 0, 45),
            (0, 0, 55)
        ]
    );
    let error = put(&client, "orders", ten()).await.unwrap_err();
    assert!(
        error
            .into_service_error()
            .is_provisioned_throughput_exceeded_exception()
    );
    assert!(put(&client, "orders", ten()).await.is_err());
    assert!(put(&client, "orders", ten()).await.is_err());
    assert_eq!(stream.len(), 65);
    let told = |call| -> Vec<Acknowledgement> {
        let journal = stream.journal();
        let of_call = journal.iter().filter(|record| record.call == call);
        of_call.map(Record::acknowledgement).collect()
    };
    let ambiguous = Acknowledgement::Ambiguous { applied: true };
    let count = |call, of| told(call).into_iter().filter(|told| *told == of).count();
    assert_eq!(count(1, Acknowledgement::Rejected), 3);
    assert_eq!(count(1, Acknowledgement::Accepted), 7);
    // Of a shorter or a longer answer it cannot be said whose entries are in it.
    assert_eq!([3, 5, 6, 8].map(|call| count(call, ambiguous)), [10; 4]);
    assert_eq!(count(4, Acknowledgement::Ambiguous { applied: false }), 1);
    assert_eq!(count(7, Acknowledgement::Rejected), 10);
    assert_eq!(count(9, Acknowledgement::Ambiguous { applied: false }), 10);
}
