//! Kinesis: records to one data stream by `PutRecords`.

mod shards;
mod stream;

pub use stream::{KinesisStream, MAX_BATCH_BYTES, MAX_RECORD_BYTES, MAX_RECORDS};
