//! What is kept of a delivery.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Keeping")]
pub(crate) struct Keeping {
    /// Where entries go that are not delivered, as an input for later; their causes go to FILE.causes.jsonl
    #[arg(long, value_name = "FILE")]
    pub(crate) dead_letter: Option<PathBuf>,
    /// Go on where an earlier run was stopped or killed, and keep in STATE how far this one comes
    #[arg(long, value_name = "STATE")]
    pub(crate) resume: Option<PathBuf>,
}
