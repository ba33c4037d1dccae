//! The program `batch-deliver`, as a library for its own tests. What it does for people is told in `README.md`.

mod arguments;
mod cause;
mod connect;
mod console;
mod dead_letter;
mod failure;
mod flaw;
mod format;
mod handed_back;
mod input;
mod item;
mod journal;
mod key;
mod log;
mod plan;
mod progress;
mod run;
mod settling;
mod shard;
mod stop;
mod stream;
mod window;
mod write;

use std::process::ExitCode;

use self::failure::Failure;
use self::run::Outcome;
use self::stop::INTERRUPTED;

pub use self::arguments::Arguments;

/// Does what the arguments ask for. Returns the exit code: 0 all delivered, 1 something was not, 2 wrong use, 130 interrupted.
pub async fn run(arguments: Arguments) -> ExitCode {
    match run::run(arguments).await {
        Ok(Outcome::Delivered) => ExitCode::SUCCESS,
        Ok(Outcome::Undelivered) => ExitCode::from(1),
        Ok(Outcome::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(match failure {
                Failure::Failed(_) => 1,
                Failure::WrongUse(_) => 2,
            })
        }
    }
}
