//! Shards of many machines: plans, the shard of one of several processes, and workers that are given one shard after the other.

mod activity;
mod attempts;
mod delivering;
mod export;
mod from_tables;
mod lambda;
mod plan;
mod segments;
mod serve;
mod shard;
mod shard_result;

pub(crate) use self::delivering::Worker;
pub(crate) use self::export::Exporter;
pub(crate) use self::from_tables::{FromTables, SourceTables};
pub(crate) use self::plan::{InputVersion, Planned, interleaved, segments as planned_segments};
pub(crate) use self::serve::work;
pub(crate) use self::shard::{Shard, ShardArgument};
