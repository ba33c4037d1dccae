//! The command line. Only the commands know it.

mod common;
mod conditions;
mod copy;
mod destinations;
mod diff;
mod export;
mod objects;
mod pace;
mod put;
mod queues;
mod reads;
mod shards;
mod simulation;
mod spool;
mod values;

use std::env;
use std::ffi::OsStr;
use std::io::{self, Write, stdout};
use std::process;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use self::common::{CommonArguments, Output, RecoveryArguments, Service};
pub(crate) use self::conditions::{Condition, DeleteArguments, LoadArguments, MatchArguments, UpdateArguments};
pub(crate) use self::copy::CopyArguments;
pub(crate) use self::destinations::{QueueArguments, TableArguments};
pub(crate) use self::diff::DiffArguments;
pub(crate) use self::export::ExportArguments;
pub(crate) use self::objects::DeleteObjectsArguments;
pub(crate) use self::put::PutArguments;
#[cfg(feature = "put")]
pub(crate) use self::put::PutDestination;
pub(crate) use self::queues::{DrainArguments, MoveArguments, OtherSide, RedriveArguments};
pub(crate) use self::shards::{PlanArguments, PlanFormat, SegmentArguments, ShardFormat, WorkerArguments};
pub(crate) use self::simulation::{Content, SimulatedContent, SimulatedTable};
pub(crate) use self::spool::SpoolArguments;
use crate::console::{self, escaped};

const EXIT_CODES: &str = "Exit codes: 0 all delivered, 1 something was not, 2 nothing was started, 130 interrupted after a clean stop; a second Ctrl-C ends at once with 1";

const PUT: &str = "Puts records into a stream of Kinesis or Firehose, messages into a topic of SNS, or events on a bus of EventBridge";

const SPOOL: &str = "Shows what is in the folder of a spool, or moves its entries to a file that load or send delivers";

/// Loads, copies, exports and deletes items of DynamoDB tables and messages of SQS queues, as fast as the services accept it
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
            // Only such a character was wrong. It may be a line end, so the error is the one line before the usage.
            let words = error.to_string();
            console::print(words.split("\n\n").next().unwrap_or(&words));
            console::print("For more information, try '--help'.");
            process::exit(error.exit_code());
        }
        // Help, or the version.
        let printed = error.print().and_then(|()| stdout().flush());
        process::exit(match printed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                console::print(&format!("error: the standard output cannot be written: {error}"));
                1
            }
            _ => error.exit_code(),
        })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Puts items into a table: JSON lines, DynamoDB JSON, CSV; plain, gzip or zstd
    #[command(override_usage = "batch-deliver load --table NAME [OPTIONS] [INPUT]...")]
    Load(LoadArguments),
    /// Updates attributes of items: each record has the key of an item, and values for the expressions
    #[command(override_usage = "batch-deliver update --table NAME --set ASSIGNMENTS [OPTIONS] [INPUT]...")]
    Update(UpdateArguments),
    /// Deletes items from a table, given as items or as their keys
    #[command(override_usage = "batch-deliver delete --table NAME [OPTIONS] [INPUT]...")]
    Delete(DeleteArguments),
    /// Sends messages to a queue, one on each line
    #[command(override_usage = "batch-deliver send --queue URL [OPTIONS] [INPUT]...")]
    Send(QueueArguments),
    /// Moves messages from one queue to another, and deletes each when the other queue has it
    #[command(override_usage = "batch-deliver move --from URL --to URL [OPTIONS]")]
    Move(Box<MoveArguments>),
    /// Moves the messages of a dead-letter queue back to their queue
    #[command(override_usage = "batch-deliver redrive --queue URL [OPTIONS]")]
    Redrive(Box<RedriveArguments>),
    /// Writes the messages of a queue to a file, and deletes each when it is on the disk
    #[command(override_usage = "batch-deliver drain --queue URL [OPTIONS] FILE")]
    Drain(DrainArguments),
    #[command(
        about = about(PUT, cfg!(feature = "put"), "put"),
        override_usage = "batch-deliver put (--stream NAME | --delivery-stream NAME | --topic ARN | --bus NAME) \
                                [OPTIONS] [INPUT]..."
    )]
    Put(PutArguments),
    /// Writes the items of a table to a file, an object of S3 or the standard output
    #[command(override_usage = "batch-deliver export --table NAME [OPTIONS] FILE")]
    Export(ExportArguments),
    /// Copies the items of a table into another one, of any account and region
    #[command(override_usage = "batch-deliver copy --from FROM --to TO [OPTIONS]")]
    Copy(Box<CopyArguments>),
    /// Deletes objects from a bucket of S3, given by their keys, one on each line
    #[command(override_usage = "batch-deliver delete-objects --bucket BUCKET [OPTIONS] [INPUT]...")]
    DeleteObjects(DeleteObjectsArguments),
    /// Compares two tables: which keys are in only one of them, and which items differ
    #[command(override_usage = "batch-deliver diff [OPTIONS] FROM TO")]
    Diff(Box<DiffArguments>),
    /// Divides inputs into shards for workers, and prints them as JSON
    #[command(override_usage = "batch-deliver plan [OPTIONS] INPUT...")]
    Plan(PlanArguments),
    /// Delivers shards from an activity of Step Functions until it is stopped
    #[command(override_usage = "batch-deliver worker --activity ARN --table NAME [OPTIONS]")]
    Worker(Box<WorkerArguments>),
    #[command(
        about = about(SPOOL, cfg!(feature = "spool"), "spool"),
        override_usage = "batch-deliver spool [--to FILE [--refused | --salvage]] [OPTIONS] DIR"
    )]
    Spool(SpoolArguments),
    /// Prints the help of the program, or of a command
    #[command(hide = true)]
    Help {
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
    },
    /// Prints the completions for a shell
    Completions { shell: Shell },
    /// Prints the manual page of the program, or of a command
    Man {
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
    },
}

/// What a command does, and how to get it if the program was built without it.
fn about(what: &str, is_built: bool, feature: &str) -> String {
    if is_built {
        what.to_owned()
    } else {
        format!("{what} (not in this program: build it with --features {feature})")
    }
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
