//! Which hash keys belong to which shard.

use std::ops::Range;

use md5::{Digest, Md5};
use serde_json::Value;

/// The hash keys, divided evenly among shards with consecutive numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ranges {
    /// The number of the first shard.
    first: usize,
    count: usize,
    width: u128,
}

impl Ranges {
    pub(super) fn new(first: usize, count: usize) -> Self {
        // 2^128 hash keys, one more than the largest number, and rounded down: the last shard has the rest.
        let shards = count as u128;
        let is_even = u128::MAX % shards == shards - 1;
        let width = (u128::MAX / shards).saturating_add(u128::from(is_even));
        Self { first, count, width }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The numbers of the shards.
    pub(super) fn shards(&self) -> Range<usize> {
        self.first..self.first + self.count
    }

    pub(super) fn of(&self, hash_key: u128) -> usize {
        let place = usize::try_from(hash_key / self.width).unwrap_or(usize::MAX);
        self.first + place.min(self.count - 1)
    }

    /// The first and the last hash key of a shard.
    pub(super) fn bounds(&self, shard: usize) -> (u128, u128) {
        let place = shard - self.first;
        let first = self.width.saturating_mul(place as u128);
        let is_last = place + 1 == self.count;
        (
            first,
            if is_last {
                u128::MAX
            } else {
                first.saturating_add(self.width - 1)
            },
        )
    }
}

/// The hash key of a record: its explicit one, or the MD5 of its partition key. `None` if it has neither.
pub(super) fn hash_key(record: &Value) -> Option<u128> {
    let of_key = u128::from_be_bytes(Md5::digest(record["PartitionKey"].as_str()?).into());
    let explicit = record["ExplicitHashKey"].as_str();
    Some(explicit.and_then(|key| key.parse().ok()).unwrap_or(of_key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranges_follow_each_other_and_each_key_is_in_its_own() {
        for (number, count) in [(0, 1), (0, 2), (1, 3), (2, 7), (9, 8), (0, 1_000)] {
            let ranges = Ranges::new(number, count);
            let mut next = Some(0);
            for shard in ranges.shards() {
                let (first, last) = ranges.bounds(shard);
                assert_eq!(Some(first), next);
                assert_eq!([ranges.of(first), ranges.of(last)], [shard, shard]);
                next = last.checked_add(1);
            }
            assert_eq!(next, None, "the last range ends at the largest key");
        }
    }

    #[test]
    fn shards_have_the_ranges_of_the_service() {
        // From the answers of `ListShards` in the API reference, and for three shards as others have published them.
        for (count, last) in [
            (2, "170141183460469231731687303715884105727"),
            (3, "113427455640312821154458202477256070484"),
        ] {
            assert_eq!(Ranges::new(0, count).bounds(0).1.to_string(), last);
        }
        assert_eq!(Ranges::new(0, 1).bounds(0), (0, u128::MAX));
        assert_eq!(Ranges::new(0, 1).of(u128::MAX), 0);
    }
}
