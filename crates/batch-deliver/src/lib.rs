//! The program `batch-deliver`. `README.md` is its manual.
//!
//! ```text
//! input ─▶ format ─▶ stream ─▶ delivery ─▶ settling ─▶ journal
//!                    window ◀──────────────┘     └───▶ dead letters, summary
//! ```
//!
//! | step | what happens | where |
//! |---|---|---|
//! | input | the named inputs are found, opened, unpacked, decoded and read, in a thread of its own | `input/` |
//! | format | a line or a row becomes an item, a message, a record or an event, or has a flaw | `format/`, `flaw`, `key`, `write` |
//! | stream | the entries in the order of reading, without bad lines; the window has the places of those in delivery | `stream`, `bad_lines`, `window` |
//! | settling | an entry that was delivered or handed back is removed from the window | `settling` |
//! | journal | settled records are written, for the next run | `journal/` |
//! | dead letters, summary | undelivered entries and bad lines are written, and the result is printed | `dead_letter/`, `handed_back`, `run/` |

mod arguments;
#[cfg(feature = "s3")]
mod bucket;
mod cause;
mod connect;
mod console;
mod format;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod keeping;
mod manual;
mod outcome;
mod plan;
mod progress;
mod run;
mod shard;
mod source;
mod stop;
#[cfg(feature = "distributed")]
mod worker;

use std::process::ExitCode;

use self::outcome::{Failure, Outcome};
use self::stop::INTERRUPTED;

pub use self::arguments::Arguments;

/// Runs the program with these arguments. Returns the exit code: 0 all delivered, 1 something was not, 2 usage error, 130 interrupted.
pub async fn run(arguments: Arguments) -> ExitCode {
    match Box::pin(run::run(arguments)).await {
        Ok(Outcome::Delivered) => ExitCode::SUCCESS,
        Ok(Outcome::Undelivered) => ExitCode::from(1),
        Ok(Outcome::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(failure) => {
            console::print(&format!("error: {failure}"));
            ExitCode::from(match failure {
                Failure::Failed(_) => 1,
                Failure::WrongUse(_) => 2,
            })
        }
    }
}
