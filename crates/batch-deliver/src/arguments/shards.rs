//! The arguments of the commands for shards: those that plan them, and those of a worker.

#[cfg(feature = "distributed")]
use std::time::Duration;

use bytesize::ByteSize;
use clap::{Args, ValueEnum};

#[cfg(feature = "distributed")]
use super::common::Output;
use super::common::Service;
#[cfg(feature = "distributed")]
use super::destinations::{GROUP, Items, group, table};
#[cfg(feature = "distributed")]
use super::pace::Pacing;
#[cfg(feature = "distributed")]
use super::values::time;
#[cfg(feature = "distributed")]
use crate::keeping::Location;
#[cfg(feature = "distributed")]
use crate::sink::QueueName;

#[derive(Debug, Args)]
pub(crate) struct ToPlan {
    /// Files, patterns, exports, or objects of S3
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) inputs: Vec<String>,
    /// Size of a shard, such as 64MB or 1GiB; a compressed or CSV input is one shard, whatever its size
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = size)]
    pub(crate) shard_bytes: u64,
    /// Cut inputs if their content allows it (auto), or all of them at line ends (lines)
    #[arg(long, value_enum, default_value_t = Cutting::Auto)]
    pub(crate) format: Cutting,
    /// Print one shard on each line instead of a JSON array
    #[arg(long)]
    pub(crate) lines: bool,
    #[command(flatten)]
    pub(crate) service: Service,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cutting {
    Auto,
    Lines,
}

fn size(text: &str) -> Result<u64, String> {
    match text.parse::<ByteSize>() {
        Ok(size) if size.as_u64() > 0 => Ok(size.as_u64()),
        _ => Err("give a size above 0, such as 64MB".to_owned()),
    }
}

#[cfg(feature = "distributed")]
const DEAD_LETTERS: &str =
    "Folder or s3://bucket/prefix/ for undelivered entries; without it, a shard that has any fails";

#[cfg(feature = "distributed")]
const CHECKPOINTS: &str = "Folder or s3://bucket/prefix/ for the progress of each shard, which continues there when it is \
                           handed out again; needs --dead-letters";

#[cfg(feature = "distributed")]
#[derive(Debug, Args)]
pub(crate) struct ToWork {
    /// The activity to get shards from; not for Lambda functions
    #[arg(long, value_name = "ARN")]
    pub(crate) activity: Option<String>,
    /// The table, by its name or ARN
    #[arg(long, value_name = "NAME", value_parser = table, required_unless_present = "queue")]
    pub(crate) table: Option<String>,
    /// The queue, by its URL, ARN or name
    #[arg(long, value_name = "URL", conflicts_with_all = ["table", "key", "types", "delete"])]
    pub(crate) queue: Option<QueueName>,
    #[arg(long, value_name = "ID", help = GROUP, value_parser = group, conflicts_with = "table")]
    pub(crate) group_id: Option<String>,
    /// Delete the items of the shards
    #[arg(long)]
    pub(crate) delete: bool,
    /// json, dynamodb, csv, tsv or text [default: detected; text for a queue]
    #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<ShardFormat>,
    #[command(flatten)]
    pub(crate) items: Items,
    /// Skip up to this many bad lines of a shard
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_going: u64,
    /// `HeartbeatSeconds` of the state machine; a third of it is the interval
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = heartbeat)]
    pub(crate) heartbeat: Duration,
    #[arg(long, value_name = "DIR", help = DEAD_LETTERS)]
    pub(crate) dead_letters: Option<Location>,
    // Without dead letters, an entry that was given up would count as delivered.
    #[arg(long, value_name = "DIR", help = CHECKPOINTS, requires = "dead_letters")]
    pub(crate) checkpoints: Option<Location>,
    #[command(flatten)]
    pub(crate) pace: Pacing,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[cfg(feature = "distributed")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShardFormat {
    Json,
    Dynamodb,
    Csv,
    Tsv,
    Text,
}

#[cfg(feature = "distributed")]
fn heartbeat(text: &str) -> Result<Duration, String> {
    time(text, Duration::from_secs(1), "a heartbeat must be at least 1s")
}
