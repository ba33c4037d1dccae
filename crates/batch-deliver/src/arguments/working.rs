//! How to deliver shards.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Delivering, Items, Location, Service, Telling};

const DEAD_LETTERS: &str =
    "The folder, or s3://bucket/prefix/, for undelivered entries. Without it they fail their shard";

const CHECKPOINTS: &str = "The folder, or s3://bucket/prefix/, that has how far each shard has come, so that it goes on there \
                           when it is handed out again. Needs --dead-letters";

#[derive(Debug, Args)]
pub(crate) struct ToWork {
    /// The activity that has the shards; a Lambda function has none
    #[arg(long, value_name = "ARN")]
    pub(crate) activity: Option<String>,
    /// The table, by its name or ARN
    #[arg(long, value_name = "NAME", required_unless_present = "queue")]
    pub(crate) table: Option<String>,
    /// The queue, by its URL or name
    #[arg(long, value_name = "URL", conflicts_with_all = ["table", "key", "types", "delete"])]
    pub(crate) queue: Option<String>,
    /// Delete the items of the shards
    #[arg(long)]
    pub(crate) delete: bool,
    /// json, dynamodb, csv, tsv, text [default: as their content says]
    #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<ShardFormat>,
    #[command(flatten)]
    pub(crate) items: Items,
    /// Pass over so many bad lines of a shard
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_going: u64,
    /// `HeartbeatSeconds` of the state machine, which hears three in this time
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = heartbeat)]
    pub(crate) heartbeat: Duration,
    #[arg(long, value_name = "DIR", help = DEAD_LETTERS)]
    pub(crate) dead_letters: Option<Location>,
    // Without dead letters, what was given up would be taken for delivered.
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
        Ok(_) => Err("a heartbeat is at least 1s".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
