//! Which records share a Kinesis record, and which verdicts they get.

use std::collections::HashSet;

use aws_sdk_kinesis::types::{HashKeyRange, Shard};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::super::aggregate::len_alone;
use super::super::record::size;
use super::*;
use crate::services::kinesis::deaggregate;

fn record(key: &str, hash_key: Option<u128>, data: &[u8]) -> PutRecordsRequestEntry {
    let record = PutRecordsRequestEntry::builder().partition_key(key);
    let record = record.set_explicit_hash_key(hash_key.map(|key| key.to_string()));
    record.data(Blob::new(data)).build().unwrap()
}

/// The user records of a Kinesis record, as a reader sees them: partition key, explicit hash key, data.
type Read = Vec<(String, Option<String>, Vec<u8>)>;

fn read(record: &PutRecordsRequestEntry) -> Read {
    let users = deaggregate(record.data().as_ref()).unwrap_or_else(|| vec![record.clone()]);
    let parts = |user: PutRecordsRequestEntry| {
        (
            user.partition_key.unwrap(),
            user.explicit_hash_key,
            user.data.into_inner(),
        )
    };
    users.into_iter().map(parts).collect()
}

/// Shards that divide the hash keys evenly.
fn shards(count: u128) -> Shards {
    // A single shard has 2^128 hash keys, one more than the largest number.
    let width = (u128::MAX / count).saturating_add(1);
    let shard = |place: u128| {
        let last = if place + 1 == count {
            u128::MAX
        } else {
            (place + 1) * width - 1
        };
        let range = HashKeyRange::builder()
            .starting_hash_key((place * width).to_string())
            .ending_hash_key(last.to_string());
        let shard = Shard::builder().shard_id(place.to_string());
        shard.hash_key_range(range.build().unwrap()).build().unwrap()
    };
    Shards::listed(&(0..count).map(shard).collect::<Vec<_>>())
}

fn packed(chunk: &[PutRecordsRequestEntry], shards: Option<&Shards>) -> Vec<Read> {
    let packed = PackedCall::of(chunk, shards, false);
    packed.records.iter().map(read).collect()
}

fn keys(read: &Read) -> String {
    read.iter().map(|(key, _, _)| &**key).collect()
}

#[test]
fn records_of_a_shard_share_a_kinesis_record_and_one_by_itself_stays_as_it_is() {
    let high = u128::MAX;
    let chunk = [
        record("a", Some(1), b"1"),
        record("b", Some(high), b"2"),
        record("c", Some(2), b"3"),
    ];
    let packed = PackedCall::of(&chunk, Some(&shards(2)), false);
    let [low, alone] = &packed.records[..] else {
        panic!("{:?}", packed.records);
    };
    assert_eq!(keys(&read(low)), "ac");
    assert_eq!(alone, &chunk[1]);
    // Those that do not take it apart see a key of their own.
    assert_eq!((low.partition_key(), low.explicit_hash_key()), (Some("a"), Some("1")));
}

/// Libraries that write `undefined` for a key that is not there, or the MD5 of the partition key, surprise their readers.
#[test]
fn a_record_without_an_explicit_hash_key_is_read_without_one() {
    let chunk = [
        record("a", None, b"1"),
        record("a", Some(7), b"2"),
        record("a", None, b"3"),
    ];
    let [all] = &packed(&chunk, Some(&shards(1)))[..] else {
        panic!("they share one");
    };
    let explicit: Vec<_> = all.iter().map(|(_, explicit, _)| explicit.as_deref()).collect();
    assert_eq!(explicit, [None, Some("7"), None]);
}

#[test]
fn without_the_shards_only_equal_hash_keys_share_a_kinesis_record() {
    let chunk = [
        record("a", None, b"1"),
        record("b", None, b"2"),
        record("a", None, b"3"),
        record("b", Some(7), b"4"),
        record("c", Some(7), b"5"),
    ];
    let mut packed: Vec<String> = packed(&chunk, None).iter().map(keys).collect();
    packed.sort_unstable();
    assert_eq!(packed, ["aa", "b", "bc"]);
}

#[test]
fn a_record_without_a_key_shares_none() {
    let without = |data: &str| PutRecordsRequestEntry::builder().data(Blob::new(data)).build().unwrap();
    let chunk = [without("1"), without("2")];
    assert_eq!(PackedCall::of(&chunk, Some(&shards(1)), false).records, chunk);
}

/// A reader would deliver the records within, or take part of the data for something else.
#[test]
fn data_that_looks_like_an_aggregate_is_read_as_it_was_put() {
    let inner = [record("x", None, b"1"), record("y", None, b"2")];
    let aggregate = PackedCall::of(&inner, Some(&shards(1)), false).records.remove(0);
    let nested = record("a", None, aggregate.data().as_ref());
    assert_eq!(
        packed(std::slice::from_ref(&nested), Some(&shards(1))),
        [read_as_put(&nested)]
    );
}

fn read_as_put(record: &PutRecordsRequestEntry) -> Read {
    vec![(
        record.partition_key().unwrap().to_owned(),
        record.explicit_hash_key().map(str::to_owned),
        record.data().as_ref().to_owned(),
    )]
}

#[test]
fn a_kinesis_record_ends_before_it_costs_another_payload_unit() {
    let chunk: Vec<_> = (0..1_000)
        .map(|number: usize| record(&number.to_string(), None, &[0; 100]))
        .collect();
    let packed = PackedCall::of(&chunk, Some(&shards(1)), false);
    let lens: Vec<usize> = packed
        .records
        .iter()
        .map(|record| record.data().as_ref().len())
        .collect();
    assert_eq!(lens.len(), 5);
    assert!(
        lens[..4].iter().all(|len| (24_800..=AGGREGATE_BYTES).contains(len)),
        "{lens:?}"
    );
}

/// A record larger than an aggregate splits the small ones around it.
#[test]
fn a_large_record_is_put_by_itself() {
    let chunk = [
        record("a", None, b"1"),
        record("b", None, &vec![0; 30_000]),
        record("c", None, b"3"),
    ];
    let packed = packed(&chunk, Some(&shards(1)));
    assert_eq!(packed.iter().map(keys).collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn each_user_record_has_the_verdict_on_its_kinesis_record() {
    let chunk = [
        record("a", Some(1), b"1"),
        record("b", Some(u128::MAX), b"2"),
        record("c", Some(2), b"3"),
    ];
    let packed = PackedCall::of(&chunk, Some(&shards(2)), false);
    let throttled = Verdict::Rejected(Rejection::Throttled, Fault::new("slow"));
    let verdicts = |landed: [Landing; 2], first: Verdict| {
        let of_users = of_user_records(3, &packed.parts, &[first, Verdict::Accepted], &landed);
        of_users.iter().map(Verdict::is_accepted).collect::<Vec<_>>()
    };
    let in_place = || [Landing::InItsShard, Landing::InItsShard];
    assert_eq!(verdicts(in_place(), Verdict::Accepted), [true, true, true]);
    assert_eq!(verdicts(in_place(), throttled), [false, true, false]);
    // The shard was split between them meanwhile.
    let split = [Landing::In(0..=1), Landing::InItsShard];
    assert_eq!(verdicts(split, Verdict::Accepted), [true, true, false]);
    let unknown = [Landing::Elsewhere, Landing::InItsShard];
    assert_eq!(verdicts(unknown, Verdict::Accepted), [false, true, false]);
    let of_users = of_user_records(
        3,
        &packed.parts,
        &[Verdict::Accepted, Verdict::Accepted],
        &[Landing::In(0..=1), Landing::InItsShard],
    );
    assert!(matches!(&of_users[2], Verdict::Rejected(Rejection::Transient, fault) if fault.is_ambiguous()));
}

fn entries() -> impl Strategy<Value = Vec<PutRecordsRequestEntry>> {
    let key =
        prop_oneof![4 => "[a-e]", 4 => "[a-z]{1,6}", 1 => (1..=256_usize).prop_map(|letters| "é".repeat(letters))];
    let data = prop_oneof![
        8 => (any::<u8>(), 0..400_usize).prop_map(|(byte, bytes)| vec![byte; bytes]),
        1 => Just(vec![1; 9_000]),
        1 => Just(vec![1; 40_000]),
        1 => vec(any::<u8>(), 0..40).prop_map(|rest| [&MAGIC[..], &rest].concat()),
    ];
    let hash_key = option::weighted(0.3, prop_oneof![any::<u128>(), 0..3_u128]);
    let record = (key, hash_key, data).prop_map(|(key, hash_key, data)| record(&key, hash_key, &data));
    vec(record, 1..150)
}

proptest! {
    // Each case has up to 150 records.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_record_is_read_once_from_the_shard_that_is_its_own(
        chunk in entries(),
        count in option::of(1..40_u128),
        in_order in any::<bool>(),
    ) {
        let shards = count.map(shards);
        let packed = PackedCall::of(&chunk, shards.as_ref(), in_order);
        prop_assert_eq!(packed.records.len(), packed.parts.len());
        let mut places = HashSet::new();
        for (record, parts) in packed.records.iter().zip(&packed.parts) {
            let expected: Vec<_> = parts.0.iter().flat_map(|part| read_as_put(&chunk[part.place])).collect();
            prop_assert_eq!(read(record), expected, "what is read is what was put");
            prop_assert!(parts.0.iter().all(|part| places.insert(part.place)), "each once");
            let sent_by = hash_key(record).unwrap();
            prop_assert_eq!(Some(sent_by), parts.sent_by());
            match &shards {
                Some(shards) => {
                    let shard = shards.of(sent_by);
                    prop_assert!(parts.0.iter().all(|part| shards.of(part.hash_key.unwrap()) == shard));
                }
                None => prop_assert!(!parts.depend_on_shard()),
            }
            let bound: usize = parts.0.iter().map(|part| len_alone(&chunk[part.place])).sum();
            prop_assert!(size(record) <= bound, "{} of {}", size(record), bound);
            if !in_order && parts.0.len() > 1 {
                prop_assert!(record.data().as_ref().len() <= AGGREGATE_BYTES);
            }
        }
        prop_assert_eq!(places.len(), chunk.len());
    }

    #[test]
    fn in_order_the_records_of_a_key_in_a_shard_share_one_and_keep_their_order(chunk in entries(), count in 1..40_u128) {
        let shards = shards(count);
        let packed = PackedCall::of(&chunk, Some(&shards), true);
        let mut seen = HashSet::new();
        for parts in &packed.parts {
            let mut of_this = HashSet::new();
            let mut last = std::collections::HashMap::new();
            for part in &parts.0 {
                let lane = (chunk[part.place].partition_key().unwrap(), shards.of(part.hash_key.unwrap()));
                prop_assert!(last.insert(lane, part.place).is_none_or(|before| before < part.place));
                of_this.insert(lane);
            }
            prop_assert!(of_this.iter().all(|lane| seen.insert(*lane)), "in one Kinesis record");
        }
    }

    #[test]
    fn there_are_no_more_kinesis_records_than_shards_and_twice_what_the_bytes_need(chunk in entries(), count in 1..40_u128) {
        for in_order in [false, true] {
            let packed = PackedCall::of(&chunk, Some(&shards(count)), in_order);
            let bytes: usize = chunk.iter().map(len_alone).sum();
            let most = usize::try_from(count).unwrap() + 2 * bytes.div_ceil(AGGREGATE_BYTES);
            prop_assert!(packed.records.len() <= most, "{} of {}", packed.records.len(), most);
        }
    }
}
