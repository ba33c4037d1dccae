//! The program `batch-deliver`. `README.md` and `docs/` are its manual.
//!
//! ```text
//! source ─▶ format ─▶ sink
//!    │         │        │
//!    └─────────┴────────┴──▶ keeping ─▶ progress
//! ```
//!
//! | folder | what it has |
//! |---|---|
//! | `commands/`, `arguments/` | a file for each command, and the command line, which only these two know |
//! | `worker/` | shards of many machines |
//! | `job` | a delivery from its source, inputs or a table, to the summary; and the dry run instead |
//! | `progress/` | the bar, lines and JSON of a running delivery, and its summary |
//! | `keeping/` | the entries in delivery, and what is kept of them: journal, dead letters, bad lines; the items of two tables that are compared |
//! | `sink/` | a destination of each service, and the delivery to it by the library |
//! | `format/` | how the bytes of an input become entries, or have a flaw |
//! | `source/` | how the inputs are found, opened, unpacked and decoded, and in which order they are read, in a thread of its own; the items of a table |
//! | `output/` | which file, pipe or device the name of an output leads to, and whether it still does at the end |
//! | `connection/`, `console/`, `stop`, `outcome`, `blocking`, `value_names` | what all of them use: credentials, region, endpoints and lookups, the output, signals, the exit code, threads, and names of values |
//!
//! Each imports only what is below it in this table: see `tests/imports.rs`.

mod arguments;
mod blocking;
mod commands;
mod connection;
mod console;
#[cfg(test)]
#[path = "../tests/fleet/in_process/mod.rs"]
mod fleet;
mod format;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod job;
mod keeping;
mod outcome;
mod output;
mod progress;
mod sink;
mod source;
mod stop;
mod value_names;
mod worker;

use std::process::ExitCode;

pub use self::arguments::Arguments;

/// Runs the program with these arguments. Returns the exit code: 0 all delivered, 1 something was not, 2 nothing was started, 130 interrupted.
pub async fn run(arguments: Arguments) -> ExitCode {
    let ended = Box::pin(commands::run(arguments)).await;
    console::print_waiting();
    if let Err(failure) = &ended {
        console::print(&format!("error: {failure}"));
    }
    ExitCode::from(outcome::exit_code(&ended))
}
