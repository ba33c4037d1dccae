//! The options of a data stream.

use crate::capacity::Capacity;
use crate::handles::counts_only_option;

/// Records per second that a shard accepts. From the quotas of Kinesis Data Streams, like the following constants.
const RECORDS: f64 = 1_000.0;
/// Bytes per second that a shard accepts, partition keys included: 1 MiB.
const BYTES: f64 = 1_048_576.0;
/// The default limit for the bytes of a record, its partition key included: 1 MiB.
const LARGEST_RECORD: usize = 1_048_576;

/// The options of a data stream of Kinesis.
///
/// The shards divide the hash keys evenly among themselves, and each has a capacity of its own.
///
/// # Default
/// - one shard
/// - capacity of each shard: 1,000 records and 1 MiB per second, with a burst of one second that is full at the start
/// - largest record: 1 MiB
/// - each record needs a partition key, which determines its shard
/// - records are kept
#[derive(Debug, Clone)]
#[must_use]
pub struct StreamOptions {
    pub(super) shards: usize,
    pub(super) capacity: Capacity,
    pub(super) bytes: Capacity,
    pub(super) largest_record: usize,
    pub(super) is_spreading: bool,
    pub(super) counts_only: bool,
}

impl Default for StreamOptions {
    fn default() -> Self {
        let of_a_second = |rate: f64| Capacity::per_second(rate).burst(rate).starts_full();
        Self {
            shards: 1,
            capacity: of_a_second(RECORDS),
            bytes: of_a_second(BYTES),
            largest_record: LARGEST_RECORD,
            is_spreading: false,
            counts_only: false,
        }
    }
}

impl StreamOptions {
    counts_only_option!("records");

    /// A stream with this many shards, at least one.
    pub fn shards(count: usize) -> Self {
        Self {
            shards: count.max(1),
            ..Self::default()
        }
    }

    /// The capacity of each shard, in records per second.
    pub fn capacity(mut self, records: impl Into<Capacity>) -> Self {
        self.capacity = records.into();
        self
    }

    /// The capacity of each shard, in bytes per second, partition keys included.
    pub fn byte_capacity(mut self, bytes: impl Into<Capacity>) -> Self {
        self.bytes = bytes.into();
        self
    }

    /// The limit for the bytes of a record and its partition key, which Kinesis calls `MaxRecordSizeInKiB`.
    pub fn maximum_record_size(mut self, bytes: usize) -> Self {
        self.largest_record = bytes;
        self
    }

    /// The record distribution strategy `AUTO`: the stream distributes the records itself, whatever keys they have.
    pub fn spreading(mut self) -> Self {
        self.is_spreading = true;
        self
    }
}
