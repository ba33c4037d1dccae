//! Which user records of a call become one Kinesis record.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::PutRecordsRequestEntry;

use super::aggregate::{Aggregate, MAGIC};
use super::record::hash_key;
use super::shards::Shards;
use crate::contract::{Fault, Rejection, Verdict};

/// Bytes of the data of an aggregate, beyond which another one begins. Kinesis charges for each started 25 KB of a record.
/// A smaller aggregate is also more likely to find capacity left in a shard, which has 1 MiB for a second.
pub(super) const AGGREGATE_BYTES: usize = 25_000;

/// The Kinesis records of a call.
pub(super) struct PackedCall {
    /// The records, in the order of `parts`.
    pub(super) records: Vec<PutRecordsRequestEntry>,
    /// The user records of each Kinesis record.
    pub(super) parts: Vec<Parts>,
}

/// The user records of a Kinesis record, at least one.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<PackedRecord>);

/// A user record of a Kinesis record.
#[derive(Debug, Clone, Copy)]
struct PackedRecord {
    /// Its place in the chunk.
    place: usize,
    /// `None` if the stream distributes it itself.
    hash_key: Option<u128>,
}

/// Where a Kinesis record is that was accepted.
#[derive(Debug, Clone)]
pub(super) enum Landing {
    /// In the shard to which all of its user records belong, whatever the shards are.
    InItsShard,
    /// In the shard with these hash keys.
    In(RangeInclusive<u128>),
    /// In a shard of which nothing is known.
    Elsewhere,
}

impl Landing {
    /// Whether readers see a user record there.
    fn is_seen(&self, part: PackedRecord) -> bool {
        match self {
            Self::InItsShard => true,
            Self::In(hash_keys) => part.hash_key.is_some_and(|hash_key| hash_keys.contains(&hash_key)),
            Self::Elsewhere => false,
        }
    }
}

impl Parts {
    /// The hash key by which the Kinesis record is sent.
    pub(super) fn sent_by(&self) -> Option<u128> {
        self.0.first()?.hash_key
    }

    /// Whether it depends on the shard if readers see all of them.
    pub(super) fn depend_on_shard(&self) -> bool {
        self.0.iter().any(|part| part.hash_key != self.sent_by())
    }
}

/// The verdicts on `count` user records, from those on their Kinesis records.
pub(super) fn of_user_records(count: usize, parts: &[Parts], verdicts: &[Verdict], landed: &[Landing]) -> Vec<Verdict> {
    let unseen = || {
        let fault = Fault::new("in a shard of other hash keys").ambiguous();
        Verdict::Rejected(Rejection::Transient, fault)
    };
    let mut of_users = vec![Verdict::Accepted; count];
    for ((parts, verdict), landed) in parts.iter().zip(verdicts).zip(landed) {
        for part in &parts.0 {
            let is_misplaced = verdict.is_accepted() && !landed.is_seen(*part);
            of_users[part.place] = if is_misplaced { unseen() } else { verdict.clone() };
        }
    }
    of_users
}

/// Where a user record goes: those of one destination may share a Kinesis record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Destination {
    /// The index of an open shard.
    Shard(usize),
    /// The shards are not known. Equal hash keys go to one shard, now and after any resharding.
    HashKey(u128),
    /// It shares none: it has no partition key, or no hash key.
    Alone(usize),
}

impl PackedCall {
    /// Packs the chunk. With `in_order`, records of one partition key that go to one shard are in the same Kinesis record, whose
    /// order readers keep; the chunk must be small enough for that.
    pub(super) fn of(chunk: &[PutRecordsRequestEntry], shards: Option<&Shards>, in_order: bool) -> Self {
        let mut first_of_key: HashMap<&str, usize> = HashMap::new();
        let mut parts = Vec::with_capacity(chunk.len());
        for (place, record) in chunk.iter().enumerate() {
            let hash_key = hash_key(record);
            let destination = destination(record, hash_key, shards).unwrap_or(Destination::Alone(place));
            let first = match record.partition_key().filter(|_| in_order) {
                Some(key) => *first_of_key.entry(key).or_insert(place),
                None => place,
            };
            parts.push((destination, first, PackedRecord { place, hash_key }));
        }
        parts.sort_unstable_by_key(|(destination, first, part)| (*destination, *first, part.place));
        let mut packing = Packing::new(chunk);
        for together in parts.chunk_by(|one, next| (one.0, one.1) == (next.0, next.1)) {
            packing.add(together[0].0, together.iter().map(|(_, _, part)| *part));
        }
        packing.end()
    }
}

fn destination(
    record: &PutRecordsRequestEntry,
    hash_key: Option<u128>,
    shards: Option<&Shards>,
) -> Option<Destination> {
    record.partition_key()?;
    let hash_key = hash_key?;
    let shard = shards.and_then(|shards| shards.of(hash_key));
    Some(shard.map_or(Destination::HashKey(hash_key), Destination::Shard))
}

/// The aggregate that is being filled, and the Kinesis records before it.
struct Packing<'a> {
    chunk: &'a [PutRecordsRequestEntry],
    packed: PackedCall,
    destination: Option<Destination>,
    aggregate: Aggregate<'a>,
    parts: Parts,
}

impl<'a> Packing<'a> {
    fn new(chunk: &'a [PutRecordsRequestEntry]) -> Self {
        Self {
            chunk,
            packed: PackedCall {
                records: Vec::new(),
                parts: Vec::new(),
            },
            destination: None,
            aggregate: Aggregate::default(),
            parts: Parts::default(),
        }
    }

    /// Adds user records that stay together.
    fn add(&mut self, destination: Destination, together: impl Iterator<Item = PackedRecord> + Clone) {
        let added = together
            .clone()
            .map(|part| self.aggregate.added_by(&self.chunk[part.place]));
        let len = self.aggregate.data_len() + added.sum::<usize>();
        if self.destination != Some(destination) || len > AGGREGATE_BYTES {
            self.close();
        }
        self.destination = Some(destination);
        for part in together {
            self.aggregate.push(&self.chunk[part.place]);
            self.parts.0.push(part);
        }
    }

    /// Ends the aggregate. One with a single user record becomes that record, unless readers would take its data apart.
    fn close(&mut self) {
        let aggregate = std::mem::take(&mut self.aggregate);
        let parts = std::mem::take(&mut self.parts);
        let Some(first) = parts.0.first() else {
            return;
        };
        let mut record = self.chunk[first.place].clone();
        if let Some(hash_key) = first.hash_key
            && (parts.0.len() > 1 || seems_aggregated(&record))
        {
            // The partition key stays that of the first user record. Readers of the format take the keys from the table, and others
            // see a key of their own. The hash key makes sure of the shard, whatever the key.
            record.explicit_hash_key = Some(hash_key.to_string());
            record.data = Blob::new(aggregate.data());
        }
        self.packed.records.push(record);
        self.packed.parts.push(parts);
    }

    fn end(mut self) -> PackedCall {
        self.close();
        self.packed
    }
}

/// Whether readers may take the data of the record for an aggregate.
pub(super) fn seems_aggregated(record: &PutRecordsRequestEntry) -> bool {
    record.data().as_ref().starts_with(&MAGIC)
}

#[cfg(test)]
mod tests;
