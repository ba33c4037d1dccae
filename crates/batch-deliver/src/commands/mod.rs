//! The commands, a file each: what the arguments ask for, from the source by the format to the sink.

mod copy;
mod delete;
mod delete_objects;
mod deliver;
mod diff;
mod drain;
mod estimate;
mod export;
mod hidden_messages;
mod load;
mod manual;
mod matching;
mod mismatch;
mod move_messages;
mod plan;
#[cfg(feature = "put")]
mod put;
mod question;
mod redrive;
mod send;
mod simulation;
mod site;
#[cfg(feature = "spool")]
mod spool;
mod table;
mod table_delivery;
mod update;
mod worker;

use crate::arguments::{Arguments, Command};
use crate::outcome::{CommandOutcome, Failure};

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<CommandOutcome, Failure> {
    match arguments.command {
        Command::Load(load) => Box::pin(load::run(load)).await,
        Command::Update(update) => Box::pin(update::run(update)).await,
        Command::Delete(delete) => Box::pin(delete::run(delete)).await,
        Command::DeleteObjects(delete) => Box::pin(delete_objects::run(delete)).await,
        Command::Send(send) => Box::pin(send::run(send)).await,
        Command::Move(to_move) => Box::pin(move_messages::run(*to_move)).await,
        Command::Redrive(redrive) => Box::pin(redrive::run(*redrive)).await,
        Command::Drain(drain) => Box::pin(drain::run(drain)).await,
        #[cfg(feature = "put")]
        Command::Put(put) => Box::pin(put::run(put)).await,
        #[cfg(not(feature = "put"))]
        Command::Put(_) => Err(not_built("put")),
        #[cfg(not(feature = "spool"))]
        Command::Spool(_) => Err(not_built("spool")),
        Command::Export(export) => Box::pin(export::run(export)).await,
        Command::Copy(copy) => Box::pin(copy::run(*copy)).await,
        Command::Diff(diff) => Box::pin(diff::run(*diff)).await,
        Command::Plan(plan) => plan::run(plan).await,
        Command::Worker(worker) => Box::pin(worker::run(*worker)).await,
        #[cfg(feature = "spool")]
        Command::Spool(to_spool) => spool::run(&to_spool),
        Command::Help { command } => manual::help(command.as_deref()),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { command } => manual::page(command.as_deref()),
    }
}

#[cfg(not(all(feature = "put", feature = "spool")))]
fn not_built(command: &str) -> Failure {
    Failure::WrongUse(format!(
        "this program was built without {command}: build it with --features {command}"
    ))
}
