//! Shards of many machines: plans, the shard of one of several processes, and workers that are given one shard after the other.

#[cfg(feature = "distributed")]
mod activity;
#[cfg(feature = "distributed")]
mod attempts;
#[cfg(feature = "distributed")]
mod delivering;
#[cfg(feature = "distributed")]
mod export;
#[cfg(feature = "distributed")]
mod from_tables;
#[cfg(feature = "lambda")]
mod lambda;
mod plan;
#[cfg(feature = "distributed")]
mod segments;
#[cfg(feature = "distributed")]
mod serve;
mod shard;
#[cfg(feature = "distributed")]
mod shard_result;

#[cfg(feature = "distributed")]
pub(crate) use self::delivering::Worker;
#[cfg(feature = "distributed")]
pub(crate) use self::export::Exporter;
#[cfg(feature = "distributed")]
pub(crate) use self::from_tables::{FromTables, SourceTables};
pub(crate) use self::plan::{InputVersion, Planned, interleaved, segments as planned_segments};
#[cfg(feature = "distributed")]
pub(crate) use self::serve::work;
pub(crate) use self::shard::{Shard, ShardArgument};
