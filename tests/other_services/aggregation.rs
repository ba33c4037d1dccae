//! Many user records in one record of a stream, read as the Kinesis Client Library reads them.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::time::Duration;

use aws_batch_delivery::targets::kinesis::{KinesisStream, deaggregate};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions};
use aws_batch_simulator::{Capacity, InjectedFault, Simulator, Stream, StreamOptions};
use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use aws_smithy_async::rt::sleep::TokioSleep;
use md5::{Digest, Md5};
use proptest::prelude::*;
use serde_json::Value;

use crate::{client, faults, simulator};

fn record(key: impl Into<String>, data: impl AsRef<[u8]>) -> PutRecordsRequestEntry {
    let record = PutRecordsRequestEntry::builder().partition_key(key);
    record.data(Blob::new(data.as_ref())).build().unwrap()
}

/// Records with these numbers as their data.
fn numbered(records: usize, keys: usize) -> impl Iterator<Item = PutRecordsRequestEntry> {
    (0..records).map(move |number| record(format!("key {}", number % keys), number.to_string()))
}

fn aggregated(simulator: &Simulator) -> Delivery<KinesisStream> {
    Delivery::to_kinesis(client!(aws_sdk_kinesis, simulator), "orders").map_target(KinesisStream::aggregated)
}

/// A user record as a reader gets it.
struct Seen {
    key: String,
    data: Vec<u8>,
    /// The place of its Kinesis record in the stream.
    place: usize,
}

impl Seen {
    fn number(&self) -> usize {
        std::str::from_utf8(&self.data).unwrap().parse().unwrap()
    }
}

/// What the Kinesis Client Library hands on of a stream, and how many user records it drops: those whose hash key does not
/// belong to the shard from which they were read, if they came in an aggregate.
async fn read(client: &Client, stream: &Stream) -> (Vec<Seen>, usize) {
    let listed = client.list_shards().stream_name(stream.name()).send().await.unwrap();
    let hash_keys: Vec<RangeInclusive<u128>> = listed
        .shards()
        .iter()
        .map(|shard| {
            let range = shard.hash_key_range().unwrap();
            range.starting_hash_key().parse().unwrap()..=range.ending_hash_key().parse().unwrap()
        })
        .collect();
    let (mut seen, mut dropped) = (Vec::new(), 0);
    for (place, stored) in stream.records().into_iter().enumerate() {
        let Some(users) = deaggregate(&stored.data) else {
            seen.push(Seen {
                key: stored.partition_key,
                data: stored.data,
                place,
            });
            continue;
        };
        for user in users {
            let (key, data) = (user.partition_key.unwrap(), user.data.into_inner());
            let of_key = || u128::from_be_bytes(Md5::digest(&key).into());
            let hash_key = user
                .explicit_hash_key
                .as_ref()
                .map_or_else(of_key, |key| key.parse().unwrap());
            if hash_keys[stored.shard].contains(&hash_key) {
                seen.push(Seen { key, data, place });
            } else {
                dropped += 1;
            }
        }
    }
    (seen, dropped)
}

fn numbers(seen: &[Seen]) -> Vec<usize> {
    let mut numbers: Vec<usize> = seen.iter().map(Seen::number).collect();
    numbers.sort_unstable();
    numbers
}

/// Checks that no record of a key has passed another one, and that all are there.
fn assert_in_order(seen: &[Seen], records: usize, keys: usize) {
    let mut of_keys: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for seen in seen {
        of_keys.entry(&seen.key).or_default().push(seen.number());
    }
    for number in 0..keys {
        let key = format!("key {number}");
        let sent: Vec<usize> = (number..records).step_by(keys).collect();
        let mut last = None;
        // A Kinesis record that is there twice is there as a whole. After its copy the order goes on where it was.
        let mut furthest = Vec::new();
        for number in &of_keys[&*key] {
            if last.is_none_or(|last| *number > last) {
                furthest.push(*number);
                last = Some(*number);
            }
        }
        assert_eq!(furthest, sent, "{key}: the first time of each");
    }
}

#[tokio::test(start_paused = true)]
async fn records_of_all_shards_are_read_from_the_shards_that_are_their_own() {
    let simulator = simulator();
    let stream = simulator.stream("orders", StreamOptions::shards(8));
    let report = aggregated(&simulator).deliver(numbered(20_000, 20_000)).await.unwrap();
    assert_eq!((report.delivered, report.resubmitted), (20_000, 0));
    let (seen, dropped) = read(&client!(aws_sdk_kinesis, simulator), &stream).await;
    assert_eq!((numbers(&seen), dropped), ((0..20_000).collect(), 0));
    assert!(stream.len() <= 200, "{} Kinesis records", stream.len());
}

#[tokio::test(start_paused = true)]
async fn records_are_in_the_stream_whatever_goes_wrong() {
    let simulator = simulator();
    let stream = simulator.stream("orders", StreamOptions::shards(4));
    stream.set_faults(faults());
    let report = aggregated(&simulator).deliver(numbered(30_000, 700)).await.unwrap();
    assert_eq!(report.delivered, 30_000);
    let (seen, dropped) = read(&client!(aws_sdk_kinesis, simulator), &stream).await;
    let mut numbers = numbers(&seen);
    numbers.dedup();
    assert_eq!((numbers, dropped), ((0..30_000).collect(), 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn records_of_a_key_keep_their_order_whatever_goes_wrong(
        seed in any::<u64>(),
        shards in 1..6_usize,
        keys in prop_oneof![Just(1_usize), 2..5_usize, 100..900_usize],
        records in 1_000..6_000_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let simulator = Simulator::new(seed);
            let stream = simulator.stream("orders", StreamOptions::shards(shards));
            stream.set_faults(faults());
            let ordered = aggregated(&simulator).map_target(KinesisStream::ordered);
            // Some hundred fill a Kinesis record.
            let padded = |number| record(format!("key {}", number % keys), format!("{number:0200}"));
            let report = ordered.deliver((0..records).map(padded)).await.unwrap();
            assert_eq!(report.delivered, records as u64);
            let (seen, dropped) = read(&client!(aws_sdk_kinesis, simulator), &stream).await;
            assert_eq!(dropped, 0);
            assert_in_order(&seen, records, keys.min(records));
        });
    }
}

/// Throttles accept calls in part, which does not keep the records of a key from sharing the next call.
#[tokio::test(start_paused = true)]
async fn a_single_key_in_order_is_as_fast_as_its_shard() {
    let simulator = simulator();
    let stream = simulator.stream("orders", StreamOptions::shards(2));
    let started = tokio::time::Instant::now();
    let ordered = aggregated(&simulator).map_target(KinesisStream::ordered);
    // Eight seconds' worth of bytes, and more calls than could be made one after another with a record in each.
    let records = (0..80_000).map(|number| record(["a", "b"][number % 2], format!("{number:0200}")));
    let report = ordered.deliver(records).await.unwrap();
    assert_eq!(report.delivered, 80_000);
    let taken = started.elapsed();
    let (seen, _) = read(&client!(aws_sdk_kinesis, simulator), &stream).await;
    let mut last = HashMap::new();
    for seen in &seen {
        let before = last.insert(&seen.key, seen.number());
        assert!(
            before.is_none_or(|before| before < seen.number()),
            "nothing is repeated here"
        );
    }
    assert!(taken < Duration::from_secs(20), "{taken:?}");
}

#[tokio::test(start_paused = true)]
async fn all_records_of_a_kinesis_record_that_is_rejected_or_lost_are_sent_again() {
    for (fault, copies) in [
        (InjectedFault::Throttle, 1),
        (InjectedFault::Dropped { applied: true }, 2),
    ] {
        let simulator = simulator();
        let stream = simulator.stream("orders", StreamOptions::shards(1));
        stream.script([fault]);
        let report = aggregated(&simulator).deliver(numbered(50, 50)).await.unwrap();
        assert_eq!((report.delivered, report.resubmitted), (50, 50));
        let (seen, _) = read(&client!(aws_sdk_kinesis, simulator), &stream).await;
        let expected: Vec<usize> = (0..50).flat_map(|number| vec![number; copies]).collect();
        assert_eq!(numbers(&seen), expected);
        let in_first = seen.iter().filter(|seen| seen.place == 0).count();
        assert_eq!(
            in_first == 50,
            copies == 2,
            "what was stored without an answer was stored as a whole"
        );
    }
}

/// The hash key by which Kinesis finds the shard.
fn hash_key(record: &Value) -> u128 {
    let of_key = || u128::from_be_bytes(Md5::digest(record["PartitionKey"].as_str().unwrap()).into());
    record["ExplicitHashKey"]
        .as_str()
        .map_or_else(of_key, |key| key.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn only_the_records_of_the_shard_that_takes_nothing_are_sent_again() {
    let simulator = simulator();
    let stream = simulator.stream("orders", StreamOptions::shards(2));
    stream.reject_while(|record| hash_key(record) > u128::MAX / 2);
    let options = DeliveryOptions::default().give_up_after(Duration::from_secs(20));
    let delivery = aggregated(&simulator).options(options);
    let error = delivery.deliver(numbered(400, 400)).await.unwrap_err();
    let (seen, _) = read(&client!(aws_sdk_kinesis, simulator), &stream).await;
    let mut all = numbers(&seen);
    assert_eq!((all.len() as u64, stream.len()), (error.report.delivered, 1));
    // Each is handed back by itself, as it was given.
    for undelivered in error.undelivered() {
        assert!(matches!(undelivered.cause, Cause::TimeUsedUp(_)), "{undelivered:?}");
        assert!(!undelivered.may_have_been_delivered && undelivered.entry.explicit_hash_key().is_none());
        let number = std::str::from_utf8(undelivered.entry.data().as_ref()).unwrap();
        all.push(number.parse().unwrap());
    }
    all.sort_unstable();
    assert_eq!(all, (0..400).collect::<Vec<_>>());
}

/// The limit of this stream is lower than is known. Each call is refused as a whole, and nothing in the answer tells why.
#[tokio::test(start_paused = true)]
async fn a_record_that_is_refused_takes_no_neighbour_with_it() {
    let simulator = simulator();
    let stream = simulator.stream("orders", StreamOptions::shards(2).maximum_record_size(10_000));
    let mut records: Vec<_> = numbered(1_000, 1_000).collect();
    records.insert(500, record("large", [b'x'; 12_000]));
    let error = aggregated(&simulator).deliver(records).await.unwrap_err();
    let [refused] = error.undelivered() else {
        panic!("{error:?}");
    };
    assert!(matches!(refused.cause, Cause::Refused(_)), "{refused:?}");
    assert_eq!(refused.entry.partition_key(), Some("large"));
    let (seen, dropped) = read(&client!(aws_sdk_kinesis, simulator), &stream).await;
    assert_eq!((numbers(&seen), dropped), ((0..1_000).collect(), 0));
}

/// Producers that go on with the old shards send records again until their retries are used up, or lose them to readers.
#[tokio::test(start_paused = true)]
async fn no_record_is_lost_to_readers_while_the_stream_is_resharded() {
    for (before, after) in [(1, 4), (4, 1), (3, 5)] {
        let simulator = simulator();
        let options = || StreamOptions::shards(before);
        let stream = simulator.stream("orders", options().capacity(Capacity::per_second(50.0).burst(10.0)));
        let resharded = stream.clone();
        let reshard = tokio::spawn(async move {
            while resharded.is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            resharded.reshard(after);
        });
        let report = aggregated(&simulator).deliver(numbered(60_000, 5_000)).await.unwrap();
        reshard.await.unwrap();
        assert_eq!(report.delivered, 60_000);
        let (seen, _) = read(&client!(aws_sdk_kinesis, simulator), &stream).await;
        let mut numbers = numbers(&seen);
        let read = numbers.len();
        numbers.dedup();
        assert_eq!(numbers, (0..60_000).collect::<Vec<_>>(), "{before} to {after} shards");
        assert_eq!(read, 60_000, "a reader with the filter sees each once");
        assert!(stream.records().iter().any(|record| record.shard >= before));
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_aggregated_for_a_stream_that_distributes_its_records_itself() {
    let simulator = simulator();
    let stream = simulator.stream("orders", StreamOptions::shards(8).spreading());
    let error = aggregated(&simulator).deliver(numbered(10, 10)).await.unwrap_err();
    let cause = error.undelivered()[0].cause.to_string();
    assert!(cause.contains("the stream ignores partition keys"), "{cause}");
    assert_eq!((error.undelivered().len(), stream.calls()), (10, 0));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_too_large_by_itself_has_the_same_error_as_without_aggregation() {
    let simulator = simulator();
    simulator.stream("orders", StreamOptions::shards(1));
    let plain = Delivery::to_kinesis(client!(aws_sdk_kinesis, simulator), "orders");
    for delivery in [plain, aggregated(&simulator)] {
        let error = delivery.deliver([record("k", vec![0; 10 << 20])]).await.unwrap_err();
        let cause = error.undelivered()[0].cause.to_string();
        assert!(
            cause.contains("the record has 10485761 bytes, the limit is 10485760"),
            "{cause}"
        );
    }
}

/// The sum of the small ones is just above the limit of a Kinesis record, whose keys of several bytes for a character count by their bytes.
#[tokio::test(start_paused = true)]
async fn no_kinesis_record_is_larger_than_a_stream_takes() {
    for in_order in [false, true] {
        let simulator = simulator();
        let stream = simulator.stream("orders", StreamOptions::shards(1).byte_capacity(Capacity::unlimited()));
        let key = "é".repeat(256);
        // One by itself, then a key whose records stay together in order.
        let sizes = [1_048_064, 1_048_000, 500_000, 300_000, 300_000]
            .into_iter()
            .chain(vec![700; 2_000]);
        let records = sizes.map(|bytes| record(&*key, vec![b'x'; bytes]));
        let mut delivery = aggregated(&simulator);
        if in_order {
            delivery = delivery.map_target(KinesisStream::ordered);
        }
        let report = delivery.deliver(records).await.unwrap();
        assert_eq!((report.delivered, report.resubmitted), (2_005, 0));
        let largest = stream
            .records()
            .iter()
            .map(|record| record.data.len() + record.partition_key.len())
            .max();
        assert_eq!(largest, Some(1_048_576));
    }
}
