//! The command line.

mod delivering;
mod group;
mod items;
mod keeping;
mod planning;
#[cfg(feature = "put")]
mod putting;
mod queue;
pub(crate) mod region;
mod rows;
mod service;
mod table;
mod telling;
#[cfg(feature = "distributed")]
mod working;

use std::env;
use std::ffi::OsStr;
use std::process;

use clap::builder::Resettable;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use encoding_rs::Encoding;

pub(crate) use self::delivering::Delivering;
#[cfg(feature = "lambda")]
pub(crate) use self::delivering::GRACE;
pub(crate) use self::items::Items;
pub(crate) use self::keeping::Keeping;
pub(crate) use self::planning::{Cutting, ToPlan};
#[cfg(feature = "put")]
pub(crate) use self::putting::{Destination, Events, ToPut};
pub(crate) use self::queue::{Given, Queue};
pub(crate) use self::rows::Rows;
pub(crate) use self::service::Service;
pub(crate) use self::telling::Telling;
#[cfg(feature = "distributed")]
pub(crate) use self::working::{ShardFormat, ToWork};
use crate::console::{self, escaped};
use crate::shard::Asked;

const EXIT_CODES: &str = "Exit codes: 0 all delivered, 1 something was not, 2 usage error, 130 interrupted after a clean stop; a second Ctrl-C ends at once with 1";

/// Loads files into DynamoDB tables and SQS queues, as fast as they accept it
#[derive(Debug, Parser)]
#[command(version, max_term_width = 120, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// The arguments of the program. If they are wrong, or ask for help, it prints that and ends the program.
    pub fn of_command_line() -> Self {
        Self::try_parse().unwrap_or_else(|error| Self::end(&error))
    }

    /// Errors quote arguments, which may have characters that a terminal obeys. So the error is that of the escaped arguments.
    fn end(error: &clap::Error) -> ! {
        if error.use_stderr() {
            let escape = |argument: &OsStr| escaped(&argument.to_string_lossy()).into_owned();
            let arguments = env::args_os().map(|argument| escape(&argument));
            if let Err(error) = Self::try_parse_from(arguments) {
                error.exit();
            }
            // Only such a character was wrong.
            console::print(error.to_string().trim_end());
            process::exit(error.exit_code());
        }
        error.exit()
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Puts items into a table: JSON lines, DynamoDB JSON, CSV; plain, gzip or zstd
    #[command(override_usage = "batch-deliver load --table NAME [OPTIONS] [INPUT]...")]
    Load(ToTable),
    /// Deletes items from a table, given as items or as their keys
    #[command(override_usage = "batch-deliver delete --table NAME [OPTIONS] [INPUT]...")]
    Delete(ToDelete),
    /// Sends messages to a queue, one on each line
    #[command(override_usage = "batch-deliver send --queue URL [OPTIONS] [INPUT]...")]
    Send(ToQueue),
    /// Puts records into a stream of Kinesis or Firehose, messages into a topic of SNS, or events on a bus of EventBridge
    #[cfg(feature = "put")]
    #[command(
        override_usage = "batch-deliver put (--stream NAME | --delivery-stream NAME | --topic ARN | --bus NAME) \
                                [OPTIONS] [INPUT]..."
    )]
    Put(ToPut),
    /// Divides inputs into shards for workers, and prints them as JSON
    #[command(override_usage = "batch-deliver plan [OPTIONS] INPUT...")]
    Plan(ToPlan),
    /// Delivers shards from an activity of Step Functions until it is stopped
    #[cfg(feature = "distributed")]
    #[command(override_usage = "batch-deliver worker --activity ARN --table NAME [OPTIONS]")]
    Worker(Box<ToWork>),
    /// Prints the completions for a shell
    Completions { shell: Shell },
    /// Prints the manual page of the program, or of a command
    Man {
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ToTable {
    /// The table, by its name or ARN
    #[arg(long, value_name = "NAME", value_parser = table::table)]
    pub(crate) table: String,
    /// auto, json, dynamodb, csv or tsv
    #[arg(long, value_enum, default_value_t = TableFormat::Auto, hide_possible_values = true)]
    pub(crate) format: TableFormat,
    #[command(flatten)]
    pub(crate) items: Items,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct ToDelete {
    #[command(flatten)]
    pub(crate) from: ToTable,
    /// Do not ask on a terminal before it begins
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToQueue {
    /// The queue, by its URL, ARN or name
    #[arg(long, value_name = "URL")]
    pub(crate) queue: Queue,
    #[arg(long, help = "Lines of text, or JSON with body, attributes, group_id, dedup_id, delay", value_enum, default_value_t = QueueFormat::Text)]
    pub(crate) format: QueueFormat,
    #[arg(long, value_name = "ID", help = group::HELP, value_parser = group::group)]
    pub(crate) group_id: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The options that the delivering commands share.
// Without it, they would stand below the heading of the options before them.
#[derive(Debug, Args)]
#[command(next_help_heading = Resettable::Reset)]
pub(crate) struct Common {
    #[arg(help = "Files, 'part-*.gz', exports, s3://bucket/key, s3://bucket/dir/, -")]
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,
    /// Read input by input, or one record of each in turn [default: file; turns for deletes]
    #[arg(long, value_enum)]
    pub(crate) order: Option<Order>,
    /// Read shard I of N, from 0; /N and env take the rest from the environment of array jobs
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Asked>,
    /// Encoding of the inputs, such as utf-16le or latin1 [default: utf-8, or that of a byte order mark]
    #[arg(long, value_name = "NAME", value_parser = encoding)]
    pub(crate) encoding: Option<&'static Encoding>,
    /// Skip up to this many bad lines
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_going: u64,
    /// Check and measure every line, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) keeping: Keeping,
    #[command(flatten)]
    pub(crate) delivering: Delivering,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) telling: Telling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    // Detected from the content.
    Auto,
    // One JSON object on each line.
    Json,
    // One object of DynamoDB JSON on each line.
    Dynamodb,
    // Rows below a header.
    Csv,
    Tsv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueueFormat {
    // The line is the body.
    Text,
    // The line is a JSON object with the body.
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    // One input after the other, so that what is named later wins.
    File,
    // One record of each input in turn, which distributes sorted inputs over the partitions of a table.
    Turns,
}

fn encoding(name: &str) -> Result<&'static Encoding, String> {
    Encoding::for_label(name.as_bytes())
        .ok_or_else(|| "give the name of an encoding, such as utf-8, utf-16le, latin1 or windows-1252".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
