//! Shards of many machines: plans, the shard of one of several processes, and workers that are given one shard after another.

mod activity;
mod attempts;
mod delivering;
mod export;
mod lambda;
mod plan;
mod segment_source;
mod segments;
mod serve;
mod shard;
mod shard_result;

pub(crate) use self::delivering::Worker;
pub(crate) use self::export::Exporter;
pub(crate) use self::plan::{InputVersion, PlannedShard, divide_rate, interleaved, segments as planned_segments};
pub(crate) use self::segment_source::{SegmentSource, SourceTables};
pub(crate) use self::serve::work;
pub(crate) use self::shard::{Shard, ShardArgument};
