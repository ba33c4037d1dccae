//! How a stream is made.

use crate::bucket::Capacity;

/// Records a second that a shard takes. From the quotas of Kinesis Data Streams, as all of these.
const RECORDS: f64 = 1_000.0;
/// Bytes a second that a shard takes, partition keys included: 1 MiB.
const BYTES: f64 = 1_048_576.0;
/// Bytes of a record at most, its partition key included, unless the stream takes more: 1 MiB.
const LARGEST_RECORD: usize = 1_048_576;

/// How a data stream of Kinesis is made.
///
/// The shards divide the hash keys evenly among them, and each has a capacity of its own.
///
/// # Default
/// - one shard
/// - capacity of each shard: 1,000 records and 1 MiB a second; what was not used in the last second may be made up for, and at
///   the start that of one second is there
/// - largest record: 1 MiB
/// - records go where their partition keys say, and have to have one
/// - records are kept
#[derive(Debug, Clone)]
pub struct StreamOptions {
    pub(super) shards: usize,
    pub(super) records: Capacity,
    pub(super) bytes: Capacity,
    pub(super) largest_record: usize,
    pub(super) is_spreading: bool,
    pub(super) is_forgetful: bool,
}

impl Default for StreamOptions {
    fn default() -> Self {
        let of_a_second = |rate: f64| Capacity::per_second(rate).burst(rate).starts_full();
        Self {
            shards: 1,
            records: of_a_second(RECORDS),
            bytes: of_a_second(BYTES),
            largest_record: LARGEST_RECORD,
            is_spreading: false,
            is_forgetful: false,
        }
    }
}

impl StreamOptions {
    /// A stream of so many shards, at least one.
    pub fn shards(count: usize) -> Self {
        Self {
            shards: count.max(1),
            ..Self::default()
        }
    }

    /// Records a second of each shard.
    #[must_use]
    pub fn capacity(mut self, records: impl Into<Capacity>) -> Self {
        self.records = records.into();
        self
    }

    /// Bytes a second of each shard, partition keys included.
    #[must_use]
    pub fn byte_capacity(mut self, bytes: impl Into<Capacity>) -> Self {
        self.bytes = bytes.into();
        self
    }

    /// `MaxRecordSizeInKiB`, in bytes: those of a record and its partition key at most.
    #[must_use]
    pub fn maximum_record_size(mut self, bytes: usize) -> Self {
        self.largest_record = bytes;
        self
    }

    /// The record distribution strategy `AUTO`: the stream spreads the records itself, whatever keys they have.
    #[must_use]
    pub fn spreading(mut self) -> Self {
        self.is_spreading = true;
        self
    }

    /// Records are counted and forgotten, so that any number of them takes no memory.
    #[must_use]
    pub fn forgetful(mut self) -> Self {
        self.is_forgetful = true;
        self
    }
}
