//! The format of the Kinesis Producer Library: many user records in one Kinesis record.
//!
//! ```text
//! F3 89 9A C2 | AggregatedRecord, in protobuf | MD5 of the protobuf
//!
//! message AggregatedRecord {
//!   repeated string partition_key_table     = 1;
//!   repeated string explicit_hash_key_table = 2;
//!   repeated Record records                 = 3;
//! }
//! message Record {
//!   required uint64 partition_key_index     = 1;
//!   optional uint64 explicit_hash_key_index = 2;
//!   required bytes  data                    = 3;
//!   repeated Tag    tags                    = 4;
//! }
//! ```
//!
//! From `aggregation-format.md` in the repository of the library. Tags have no use there, and are never written.

use std::collections::HashMap;

use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use md5::{Digest, Md5};

/// The first bytes of an aggregate.
pub(super) const MAGIC: [u8; 4] = [0xF3, 0x89, 0x9A, 0xC2];

/// Bytes of the MD5 at the end.
pub(super) const DIGEST: usize = 16;

/// Bytes that an index takes in a record at most. Two hold those below 16,384, and a call has fewer user records.
const INDEX: usize = 2;

/// The fields of `AggregatedRecord`.
pub(super) const KEYS: u64 = 1;
pub(super) const HASH_KEYS: u64 = 2;
pub(super) const RECORDS: u64 = 3;

/// The fields of `Record`.
pub(super) const KEY_INDEX: u64 = 1;
pub(super) const HASH_KEY_INDEX: u64 = 2;
pub(super) const DATA: u64 = 3;

/// The wire types of numbers, and of bytes behind their length.
pub(super) const NUMBER: u64 = 0;
pub(super) const BYTES: u64 = 2;

/// User records that become one Kinesis record, in this order.
///
/// All of them must belong to the same shard: readers drop a user record whose hash key is not among those of the shard from which
/// its Kinesis record was read.
#[derive(Default)]
pub(super) struct Aggregate<'a> {
    records: Vec<IndexedRecord<'a>>,
    keys: Table<'a>,
    hash_keys: Table<'a>,
    /// Bytes of the protobuf.
    bytes: usize,
}

/// A user record with its places in the tables.
#[derive(Clone, Copy)]
struct IndexedRecord<'a> {
    key: usize,
    hash_key: Option<usize>,
    data: &'a [u8],
}

/// Texts that each appear once, in the order in which they were first used.
#[derive(Default)]
struct Table<'a> {
    texts: Vec<&'a str>,
    places: HashMap<&'a str, usize>,
}

impl<'a> Aggregate<'a> {
    /// Adds a user record. It needs a partition key; one without counts as one with an empty key.
    pub(super) fn push(&mut self, record: &'a PutRecordsRequestEntry) {
        self.bytes += self.added_by(record);
        let key = self.keys.insert(key_of(record));
        let hash_key = record.explicit_hash_key().map(|key| self.hash_keys.insert(key));
        let data = record.data().as_ref();
        self.records.push(IndexedRecord { key, hash_key, data });
    }

    /// The bytes by which the record would grow.
    pub(super) fn added_by(&self, record: &PutRecordsRequestEntry) -> usize {
        let (key, new_key) = self.keys.place_of(key_of(record));
        let hash_key = record.explicit_hash_key().map(|key| self.hash_keys.place_of(key));
        let body = body_len(index_len(key), hash_key.map(|(place, _)| index_len(place)), record);
        field_len(body) + new_key + hash_key.map_or(0, |(_, new)| new)
    }

    /// The bytes of the data of the Kinesis record. Its partition key counts in addition.
    pub(super) fn data_len(&self) -> usize {
        MAGIC.len() + self.bytes + DIGEST
    }

    /// The data of the Kinesis record.
    pub(super) fn data(&self) -> Vec<u8> {
        let mut data = Vec::with_capacity(self.data_len());
        data.extend(MAGIC);
        for (field, table) in [(KEYS, &self.keys), (HASH_KEYS, &self.hash_keys)] {
            for text in &table.texts {
                write_bytes(&mut data, field, text.as_bytes());
            }
        }
        for record in &self.records {
            write_tag(&mut data, RECORDS, BYTES);
            write_number(&mut data, number(record.len()));
            write_index(&mut data, KEY_INDEX, record.key);
            if let Some(place) = record.hash_key {
                write_index(&mut data, HASH_KEY_INDEX, place);
            }
            write_bytes(&mut data, DATA, record.data);
        }
        let digest = Md5::digest(&data[MAGIC.len()..]);
        data.extend_from_slice(&digest);
        data
    }
}

impl IndexedRecord<'_> {
    fn len(&self) -> usize {
        let hash_key = self.hash_key.map(index_len);
        index_len(self.key) + hash_key.unwrap_or(0) + field_len(self.data.len())
    }
}

impl<'a> Table<'a> {
    /// The place of a text, which is added if it is new.
    fn insert(&mut self, text: &'a str) -> usize {
        let next = self.texts.len();
        let place = *self.places.entry(text).or_insert(next);
        if place == next {
            self.texts.push(text);
        }
        place
    }

    /// The place that a text has or would have, and the bytes by which the table would grow.
    fn place_of(&self, text: &str) -> (usize, usize) {
        match self.places.get(text) {
            Some(place) => (*place, 0),
            None => (self.texts.len(), field_len(text.len())),
        }
    }
}

/// The bytes of a Kinesis record of this user record alone, partition key included, or more. Those of several together are at most
/// the sum of theirs.
pub(super) fn len_alone(record: &PutRecordsRequestEntry) -> usize {
    let index = 1 + INDEX;
    let explicit = record.explicit_hash_key();
    let body = body_len(index, explicit.map(|_| index), record);
    let tables = field_len(key_of(record).len()) + explicit.map_or(0, |key| field_len(key.len()));
    MAGIC.len() + field_len(body) + tables + DIGEST + key_of(record).len()
}

fn key_of(record: &PutRecordsRequestEntry) -> &str {
    record.partition_key().unwrap_or_default()
}

/// The bytes of a `Record` with indices of these lengths.
fn body_len(key: usize, hash_key: Option<usize>, record: &PutRecordsRequestEntry) -> usize {
    key + hash_key.unwrap_or(0) + field_len(record.data().as_ref().len())
}

/// The bytes of a field with this many bytes. Tags of fields below 16 take one.
fn field_len(bytes: usize) -> usize {
    1 + number_len(bytes) + bytes
}

/// The bytes of a field with the index.
fn index_len(place: usize) -> usize {
    1 + number_len(place)
}

/// The bytes of a number: seven bits in each.
fn number_len(number: usize) -> usize {
    let last_bit = number.checked_ilog2().unwrap_or(0);
    (last_bit / 7 + 1) as usize
}

fn write_bytes(data: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    write_tag(data, field, BYTES);
    write_number(data, number(bytes.len()));
    data.extend_from_slice(bytes);
}

fn write_index(data: &mut Vec<u8>, field: u64, place: usize) {
    write_tag(data, field, NUMBER);
    write_number(data, number(place));
}

fn write_tag(data: &mut Vec<u8>, field: u64, wire_type: u64) {
    write_number(data, field << 3 | wire_type);
}

fn write_number(data: &mut Vec<u8>, mut number: u64) {
    while number > 0x7F {
        data.push(low_bits(number) | 0x80);
        number >>= 7;
    }
    data.push(low_bits(number));
}

fn low_bits(number: u64) -> u8 {
    (number & 0x7F) as u8
}

fn number(length: usize) -> u64 {
    length as u64
}

#[cfg(test)]
mod tests;
