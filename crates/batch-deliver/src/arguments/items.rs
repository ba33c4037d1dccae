//! How records become items.

use clap::Args;

use crate::format::csv::Types;
use crate::key::Key;

#[derive(Debug, Args)]
pub(crate) struct Items {
    /// The key of the table, if it may not be asked: year:N,title:S
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<Key>,
    /// The types of CSV columns: rating:N,seen:BOOL,info:JSON [default: those of the key, and S]
    #[arg(long, value_name = "TYPES")]
    pub(crate) types: Option<Types>,
}
