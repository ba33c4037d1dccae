//! The options for reading rows.

use clap::Args;

use crate::format::{Character, Quote, Types};

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

impl Rows {
    /// The options that are given, by name.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        let character = |character: Character| char::from(character.0).to_string();
        let given = [
            ("--types", self.types.as_ref().map(ToString::to_string)),
            ("--delimiter", self.delimiter.map(character)),
            ("--header", self.header.as_ref().map(|names| names.join(","))),
            (
                "--quote",
                self.quote
                    .map(|quote| quote.0.map_or("none".to_owned(), |quote| char::from(quote).to_string())),
            ),
            ("--escape", self.escape.map(character)),
            ("--null", self.null.clone()),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}
