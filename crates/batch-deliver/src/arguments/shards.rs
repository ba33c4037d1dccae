//! The arguments of the commands for shards: those that plan them, and those of a worker.

use std::time::Duration;

use bytesize::ByteSize;
use clap::{Args, ValueEnum};

use super::common::{Output, Service};
use super::conditions::{Condition, clauses};
use super::copy::SourceSide;
use super::destinations::{GROUP, ItemArguments, LOOSE_ORDER, group, table};
use super::pace::{PaceArguments, at_least_one};
use super::reads::Placeholders;
use super::values::time;
use crate::keeping::Location;
use crate::sink::QueueName;
use crate::source::{MOST_SEGMENTS, TableReads};

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// Files, patterns, exports, or objects of S3
    #[arg(value_name = "INPUT", required_unless_present = "from_table")]
    pub(crate) inputs: Vec<String>,
    /// A table instead, whose items workers copy, delete, update or export
    #[arg(long, value_name = "NAME", value_parser = table, conflicts_with_all = ["inputs", "shard_bytes", "format"], requires = "segments")]
    pub(crate) from_table: Option<String>,
    /// Segments of the table, each a shard
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SEGMENTS)), conflicts_with = "inputs")]
    pub(crate) segments: Option<u32>,
    /// Size of a shard, such as 64MB or 1GiB; a compressed or CSV input is one shard, whatever its size
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = size)]
    pub(crate) shard_bytes: u64,
    /// Cut inputs if their content allows it (auto), or all of them at line ends (lines)
    #[arg(long, value_enum, default_value_t = PlanFormat::Auto)]
    pub(crate) format: PlanFormat,
    /// Maximum write units or messages per second of all workers together, which is divided among them
    #[arg(long, value_name = "RATE", value_parser = at_least_one, requires = "workers")]
    pub(crate) max_rate: Option<f64>,
    /// How many workers deliver shards at the same time: `MaxConcurrency` of the state machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "max_rate")]
    pub(crate) workers: Option<u32>,
    /// Print one shard on each line instead of a JSON array
    #[arg(long)]
    pub(crate) lines: bool,
    #[command(flatten)]
    pub(crate) service: Service,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    Auto,
    Lines,
}

fn size(text: &str) -> Result<u64, String> {
    match text.parse::<ByteSize>() {
        Ok(size) if size.as_u64() > 0 => Ok(size.as_u64()),
        _ => Err("give a size above 0, such as 64MB".to_owned()),
    }
}

const DEAD_LETTERS: &str =
    "Folder or s3://bucket/prefix/ for undelivered entries; without it, a shard that has any fails";

const CHECKPOINTS: &str = "Folder or s3://bucket/prefix/ for the progress of each shard, which continues there when it is \
                           handed out again; needs --dead-letters, except for --export, and `execution` in each shard";

const EXPORT: &str = "Export to this folder or s3://bucket/prefix/";

const WHERE: &str = "Only items for which this holds: '#year < :until'";

const SET: &str = "Update the items: 'status = :status'";

/// The options of tables and of rows, and those of scans, which a worker for a queue does not make.
const NOT_FOR_QUEUES: [&str; 12] = [
    "table",
    "key",
    "types",
    "delimiter",
    "header",
    "quote",
    "escape",
    "null",
    "delete",
    "max_read_rate",
    "names",
    "values",
];

/// The options of what is written to a table or a queue, and of lines that are read.
const NOT_FOR_EXPORTS: [&str; 22] = [
    "table",
    "queue",
    "delete",
    "set",
    "remove",
    "add",
    "dead_letters",
    "keep_going",
    "simulate",
    "max_rate",
    "share",
    "concurrency",
    "strategy",
    "retries",
    "deadline",
    "key",
    "types",
    "delimiter",
    "header",
    "quote",
    "escape",
    "null",
];

#[derive(Debug, Args)]
pub(crate) struct WorkerArguments {
    /// The activity to get shards from, unless on Lambda
    #[arg(long, value_name = "ARN")]
    pub(crate) activity: Option<String>,
    /// The table, by its name or ARN
    #[arg(long, value_name = "NAME", value_parser = table, required_unless_present_any = ["queue", "export"])]
    pub(crate) table: Option<String>,
    /// The queue, by its URL, ARN or name
    #[arg(long, value_name = "URL", conflicts_with_all = NOT_FOR_QUEUES)]
    pub(crate) queue: Option<QueueName>,
    #[arg(long, value_name = "ID", help = GROUP, value_parser = group, conflicts_with = "table")]
    pub(crate) group_id: Option<String>,
    #[arg(long, help = LOOSE_ORDER, requires = "queue", conflicts_with_all = ["table", "export"])]
    pub(crate) loose_order: bool,
    /// Delete the items of the shards
    #[arg(long)]
    pub(crate) delete: bool,
    /// json, dynamodb, csv, tsv or text [default: detected; text for a queue]
    #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<ShardFormat>,
    #[command(flatten)]
    pub(crate) items: ItemArguments,
    /// Skip up to this many bad lines of a shard, which are kept with its dead letters
    #[arg(long, value_name = "N", default_value_t = 0, requires = "dead_letters")]
    pub(crate) keep_going: u64,
    /// `HeartbeatSeconds` of the state machine, and no less; a third is the interval
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = heartbeat)]
    pub(crate) heartbeat: Duration,
    #[arg(long, value_name = "DIR", help = DEAD_LETTERS)]
    pub(crate) dead_letters: Option<Location>,
    #[arg(long, value_name = "DIR", help = CHECKPOINTS)]
    pub(crate) checkpoints: Option<Location>,
    #[command(flatten)]
    pub(crate) pace: PaceArguments,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) of_segments: SegmentArguments,
}

/// What is done with the items of segments of a table.
#[derive(Debug, Args)]
#[command(next_help_heading = "Segments of a table")]
pub(crate) struct SegmentArguments {
    #[arg(long, help = EXPORT, value_name = "DIR", conflicts_with_all = NOT_FOR_EXPORTS)]
    pub(crate) export: Option<Location>,
    /// Size of a part of an export, unpacked
    #[arg(long, value_name = "SIZE", default_value = "128MB", value_parser = size, conflicts_with_all = ["table", "queue"])]
    pub(crate) part_bytes: u64,
    #[arg(long = "where", help = WHERE, value_name = "EXPRESSION", conflicts_with = "queue")]
    pub(crate) filter: Option<String>,
    #[arg(long, help = SET, value_name = "ASSIGNMENTS", requires = "filter", conflicts_with = "delete")]
    set: Option<String>,
    /// Remove attributes, as update does
    #[arg(long, value_name = "NAMES", requires = "filter", conflicts_with = "delete")]
    remove: Option<String>,
    /// Add to numbers and sets, as update does
    #[arg(long, value_name = "ADDITIONS", requires = "filter", conflicts_with = "delete")]
    add: Option<String>,
    /// Maximum read units per second [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = at_least_one)]
    max_read_rate: Option<f64>,
    #[command(flatten)]
    pub(crate) placeholders: Placeholders,
    #[command(flatten)]
    pub(crate) from: SourceSide,
}

impl SegmentArguments {
    /// The expression of all clauses of an update, if it is one.
    pub(crate) fn update(&self) -> Option<String> {
        Some(clauses([
            ("SET", &self.set),
            ("REMOVE", &self.remove),
            ("ADD", &self.add),
        ]))
        .filter(|all| !all.is_empty())
    }

    /// Whether an update that is applied twice may have another result than once: unless it only sets attributes to values, or removes
    /// them, as for the library. Behind the end of a list an element is appended, and the next one is in the place of one that was removed.
    pub(crate) fn counts_twice(&self) -> bool {
        let is_value = |assignment: &str| {
            let (path, value) = assignment.split_once('=').unwrap_or_default();
            let is_word = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_';
            let name = value.trim().strip_prefix(':');
            !path.contains('[') && name.is_some_and(|name| name.bytes().all(is_word))
        };
        self.add.is_some()
            || self.set.as_ref().is_some_and(|set| !set.split(',').all(is_value))
            || self.remove.as_ref().is_some_and(|paths| paths.contains('['))
    }

    /// What is read of a table.
    pub(crate) fn reads(&self) -> TableReads {
        TableReads {
            filter: self.filter.clone(),
            names: self.placeholders.names.iter().cloned().collect(),
            values: self.placeholders.values.iter().cloned().collect(),
            segments: 1,
            max_rate: self.max_read_rate,
            ..TableReads::default()
        }
    }

    /// The condition of each write: that the item is still meant.
    pub(crate) fn condition(&self) -> Condition {
        let Placeholders { names, values } = &self.placeholders;
        Condition {
            expression: self.filter.clone(),
            names: names.clone(),
            values: values.clone(),
            failed: None,
        }
    }
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
    time(text, Duration::from_secs(1), "a heartbeat must be at least 1s")
}
