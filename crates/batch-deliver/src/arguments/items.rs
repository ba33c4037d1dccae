//! The options for reading items.

use clap::Args;

use crate::format::csv::Types;
use crate::key::Key;

#[derive(Debug, Args)]
pub(crate) struct Items {
    /// The table's key, such as year:N,title:S [default: ask the table]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<Key>,
    /// Types of CSV columns: rating:N,seen:BOOL,info:JSON [default: those of the key, otherwise S]
    #[arg(long, value_name = "TYPES")]
    pub(crate) types: Option<Types>,
}
