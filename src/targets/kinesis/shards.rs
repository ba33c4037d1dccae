//! Which shard of a stream takes a record.

use aws_sdk_kinesis::types::{PutRecordsRequestEntry, Shard};
use md5::{Digest, Md5};

/// The open shards of a stream, by the hash keys at which they begin and end.
#[derive(Debug, Clone, Default)]
pub(super) struct Shards(Vec<(u128, u128)>);

impl Shards {
    /// The open shards among all shards that the stream has had. A shard with a last sequence number was split or merged and
    /// takes no more records.
    pub(super) fn open(shards: &[Shard]) -> Self {
        let is_open = |shard: &&Shard| {
            let sequence_numbers = shard.sequence_number_range();
            sequence_numbers.is_none_or(|numbers| numbers.ending_sequence_number().is_none())
        };
        let range = |shard: &Shard| {
            let range = shard.hash_key_range()?;
            let first = range.starting_hash_key().parse().ok()?;
            Some((first, range.ending_hash_key().parse().ok()?))
        };
        let mut ranges: Vec<_> = shards.iter().filter(is_open).filter_map(range).collect();
        ranges.sort_unstable();
        Self(ranges)
    }

    /// Records per second that the shards take together: 1,000 each, from the quotas of Kinesis. `None` without a shard.
    pub(super) fn throughput(&self) -> Option<f64> {
        let count = u32::try_from(self.0.len()).ok().filter(|count| *count > 0)?;
        Some(1_000.0 * f64::from(count))
    }

    /// The index of the shard that takes the hash key, in the order of the hash keys.
    pub(super) fn of(&self, hash_key: u128) -> Option<usize> {
        let place = self.0.partition_point(|(first, _)| *first <= hash_key).checked_sub(1)?;
        (hash_key <= self.0[place].1).then_some(place)
    }
}

/// The hash key of a record: its explicit one, or the MD5 of its partition key. From the API reference of `PutRecords`.
/// `None` if the stream distributes the records itself.
pub(super) fn hash_key(record: &PutRecordsRequestEntry) -> Option<u128> {
    if let Some(explicit) = record.explicit_hash_key() {
        return explicit.parse().ok();
    }
    let digest = Md5::digest(record.partition_key()?);
    Some(u128::from_be_bytes(digest.into()))
}

#[cfg(test)]
mod tests {
    use aws_sdk_kinesis::primitives::Blob;
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
            .shard_id("shardId-000000000000")
            .hash_key_range(range.build().unwrap())
            .sequence_number_range(numbers.build().unwrap())
            .build()
            .unwrap()
    }

    #[test]
    fn each_open_shard_takes_a_thousand_records_a_second() {
        let shards = [shard(0, 9, true), shard(0, 4, false), shard(5, 9, false)];
        assert_eq!(Shards::open(&shards).throughput(), Some(2_000.0));
        assert_eq!(Shards::default().throughput(), None);
    }

    #[test]
    fn a_hash_key_belongs_to_the_open_shard_around_it() {
        let half = u128::MAX / 2;
        let shards = Shards::open(&[
            shard(half + 1, u128::MAX, false),
            shard(0, u128::MAX, true),
            shard(0, half, false),
        ]);
        let found = [0, half, half + 1, u128::MAX].map(|key| shards.of(key));
        assert_eq!(found, [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(Shards::default().of(0), None);
        assert_eq!(Shards::open(&[shard(5, 9, false)]).of(4), None);
        assert_eq!(Shards::open(&[shard(5, 9, false)]).of(10), None);
    }

    #[test]
    fn the_hash_key_is_the_md5_of_the_partition_key_unless_it_is_given() {
        let record = PutRecordsRequestEntry::builder()
            .data(Blob::new(""))
            .partition_key("abc");
        // The MD5 of `abc` in RFC 1321.
        let expected = 0x9001_5098_3cd2_4fb0_d696_3f7d_28e1_7f72;
        assert_eq!(hash_key(&record.clone().build().unwrap()), Some(expected));
        let explicit = record.explicit_hash_key("340282366920938463463374607431768211455");
        assert_eq!(hash_key(&explicit.build().unwrap()), Some(u128::MAX));
        let spread = PutRecordsRequestEntry::builder().data(Blob::new("")).build().unwrap();
        assert_eq!(hash_key(&spread), None);
    }
}
