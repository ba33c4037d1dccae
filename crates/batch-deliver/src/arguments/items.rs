//! How records become items.

use clap::Args;

use crate::format::csv::Types;
use crate::key::Key;

#[derive(Debug, Args)]
pub(crate) struct Items {
    /// The table's key, if it may not be asked: year:N,title:S
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<Key>,
    /// Types of CSV columns: rating:N,seen:BOOL,info:JSON [default: of the key, and S]
    #[arg(long, value_name = "TYPES")]
    pub(crate) types: Option<Types>,
}
