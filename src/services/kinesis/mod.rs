//! Kinesis: records to one data stream by `PutRecords`, each by itself or many in one.
//!
//! - `stream`: the target.
//! - `record`: one record: its size, its keys, and what the service accepts.
//! - `shards`: which hash keys belong to which shard.
//! - `packing`: which user records of a call become one Kinesis record.
//! - `aggregate`, `deaggregate`: the format of such a record, written and read.

mod aggregate;
mod deaggregate;
mod packing;
mod record;
mod shards;
mod stream;

pub use deaggregate::deaggregate;
pub use stream::{KinesisStream, MAX_BATCH_BYTES, MAX_RECORD_BYTES, MAX_RECORDS};
