//! The options of `worker`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::group;
use super::table::table;
use super::{Delivering, Items, Queue, Service, Telling};
use crate::keeping::Location;

const DEAD_LETTERS: &str =
    "Folder or s3://bucket/prefix/ for undelivered entries; without it, a shard that has any fails";

const CHECKPOINTS: &str = "Folder or s3://bucket/prefix/ for the progress of each shard, which continues there when it is \
                           handed out again; needs --dead-letters";

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
    pub(crate) queue: Option<Queue>,
    #[arg(long, value_name = "ID", help = group::HELP, value_parser = group::group, conflicts_with = "table")]
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
    pub(crate) delivering: Delivering,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) telling: Telling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShardFormat {
    Json,
    Dynamodb,
    Csv,
    Tsv,
    Text,
}

fn heartbeat(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time >= Duration::from_secs(1) => Ok(time),
        Ok(_) => Err("a heartbeat must be at least 1s".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
