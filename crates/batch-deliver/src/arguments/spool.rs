//! The options of `spool`.

use std::path::PathBuf;

use clap::Args;

use super::common::Output;

#[derive(Debug, Args)]
pub(crate) struct SpoolArguments {
    /// The folder of the spool
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Move the entries to the end of this file, or to the standard output (-), each as a line of JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<String>,
    /// Move those that were refused for good, instead of those that wait to be delivered
    #[arg(long, requires = "to")]
    pub(crate) refused: bool,
    /// Move what can be read of a spool that is damaged: refused entries to the file with .refused at the end of its name. The damaged
    /// file stays in the folder as spool.sqlite3.damaged
    #[arg(long, requires = "to", conflicts_with = "refused")]
    pub(crate) salvage: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}
