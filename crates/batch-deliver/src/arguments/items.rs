//! The options for reading items.

use clap::Args;

use crate::format::{Character, CsvOptions, Key, Quote, Types};

#[derive(Debug, Args)]
pub(crate) struct Items {
    /// The table's key, such as year:N,title:S [default: ask the table]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<Key>,
    #[command(flatten)]
    pub(crate) rows: Rows,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "CSV")]
pub(crate) struct Rows {
    /// Types of columns: rating:N,seen:BOOL,tags:SS [default: those of the key, otherwise S]
    #[arg(long, value_name = "TYPES")]
    pub(crate) types: Option<Types>,
    /// The character between cells, or tab [default: that in the header]
    #[arg(long, value_name = "CHAR")]
    pub(crate) delimiter: Option<Character>,
    /// The names of the columns, if the inputs have no header
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) header: Option<Vec<String>>,
    /// The character around cells, or none if quotes are text [default: "]
    #[arg(long, value_name = "CHAR")]
    pub(crate) quote: Option<Quote>,
    /// A character that escapes quotes within cells, such as \
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    pub(crate) escape: Option<Character>,
    /// Leave out cells with this text, such as \N, and empty ones
    #[arg(long, value_name = "TEXT")]
    pub(crate) null: Option<String>,
}

impl From<&Rows> for CsvOptions {
    fn from(rows: &Rows) -> Self {
        Self {
            types: rows.types.clone(),
            delimiter: rows.delimiter,
            header: rows.header.clone(),
            quote: rows.quote,
            escape: rows.escape,
            null: rows.null.clone(),
        }
    }
}
