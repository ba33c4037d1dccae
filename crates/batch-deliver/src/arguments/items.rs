//! The options for reading items.

use clap::Args;

use super::Rows;
use crate::format::Key;

#[derive(Debug, Args)]
pub(crate) struct Items {
    /// The table's key, such as year:N,title:S [default: ask the table]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<Key>,
    #[command(flatten)]
    pub(crate) rows: Rows,
}
