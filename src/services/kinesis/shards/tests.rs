//! Which shards take records, and which hash keys they have.

use aws_sdk_kinesis::types::{HashKeyRange, SequenceNumberRange};

use super::*;

fn shard(first: u128, last: u128, closed: bool) -> Shard {
    let range = HashKeyRange::builder()
        .starting_hash_key(first.to_string())
        .ending_hash_key(last.to_string());
    let numbers = SequenceNumberRange::builder()
        .starting_sequence_number("1")
        .set_ending_sequence_number(closed.then(|| "2".to_owned()));
    Shard::builder()
        .shard_id(format!("{first} to {last}"))
        .hash_key_range(range.build().unwrap())
        .sequence_number_range(numbers.build().unwrap())
        .build()
        .unwrap()
}

#[test]
fn each_open_shard_takes_a_thousand_records_a_second() {
    let shards = [shard(0, 9, true), shard(0, 4, false), shard(5, 9, false)];
    assert_eq!(Shards::listed(&shards).throughput(), Some(2_000.0));
    assert_eq!(Shards::default().throughput(), None);
}

#[test]
fn a_hash_key_belongs_to_the_open_shard_around_it() {
    let half = u128::MAX / 2;
    let shards = Shards::listed(&[
        shard(half + 1, u128::MAX, false),
        shard(0, u128::MAX, true),
        shard(0, half, false),
    ]);
    let found = [0, half, half + 1, u128::MAX].map(|key| shards.of(key));
    assert_eq!(found, [Some(0), Some(0), Some(1), Some(1)]);
    assert_eq!(Shards::default().of(0), None);
    assert_eq!(Shards::listed(&[shard(5, 9, false)]).of(4), None);
    assert_eq!(Shards::listed(&[shard(5, 9, false)]).of(10), None);
}

#[tokio::test(start_paused = true)]
async fn a_shard_that_is_not_known_has_them_listed_again_and_at_most_once_a_second() {
    let map = ShardMap::new();
    let listed = |shards: &[Shard]| {
        let shards = Shards::listed(shards);
        async { Ok(shards) }
    };
    let never = async || -> Result<Shards, LookupError> { panic!("they are not listed") };
    let before = [shard(0, 9, false)];
    let after = [shard(0, 9, true), shard(0, 4, false), shard(5, 9, false)];
    map.ask_once(|| listed(&before)).await.unwrap();
    assert_eq!(map.hash_keys("0 to 9", never).await, Some(0..=9));
    assert_eq!(map.hash_keys("5 to 9", || listed(&before)).await, None);
    assert_eq!(map.hash_keys("5 to 9", never).await, None, "less than a second later");
    tokio::time::advance(INTERVAL).await;
    assert_eq!(map.hash_keys("5 to 9", || listed(&after)).await, Some(5..=9));
    assert_eq!(map.hash_keys("0 to 9", never).await, Some(0..=9), "a closed one");
    let shards = map.get().unwrap();
    assert_eq!((shards.len(), shards.of(4), shards.of(5)), (2, Some(0), Some(1)));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_come_is_not_waited_for() {
    let map = ShardMap::new();
    let started = Instant::now();
    for _ in 0..50 {
        assert_eq!(map.hash_keys("0 to 9", std::future::pending).await, None);
    }
    assert_eq!(started.elapsed(), TIMEOUT);
}
