//! How the cells of rows are separated and quoted, and the options that say so.

use std::str::FromStr;

use super::cell::Types;

/// The characters of rows. RFC 4180 has a comma and double quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    /// `None` if quotes are text.
    pub(crate) quote: Option<u8>,
    /// Makes the quote or itself behind it a part of a quoted cell.
    pub(crate) escape: Option<u8>,
    /// A line feed, behind which there may be a carriage return; or a carriage return, as on old Macs.
    pub(crate) line_end: u8,
}

impl Dialect {
    #[cfg(test)]
    pub(super) fn delimited_by(delimiter: u8) -> Self {
        Self {
            delimiter,
            quote: Some(b'"'),
            escape: None,
            line_end: b'\n',
        }
    }

    /// Whether quotes within cells that have none around them are text, as programs write them into TSV.
    pub(super) fn has_quotes_as_text(self) -> bool {
        self.delimiter == b'\t'
    }

    /// Whether this byte is around quoted cells without being a part of them.
    pub(super) fn is_padding(self, byte: u8) -> bool {
        byte == b' ' && self.delimiter != b' '
    }
}

/// How rows are read, as far as their content does not show it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// The types of columns.
    pub(crate) types: Option<Types>,
    /// The character between cells; without it, that in the header.
    pub(crate) delimiter: Option<Character>,
    /// The names of the columns, if the inputs have no header.
    pub(crate) header: Option<Vec<String>>,
    /// The character around cells.
    pub(crate) quote: Option<Quote>,
    /// The character that escapes quotes within cells.
    pub(crate) escape: Option<Character>,
    /// The text of cells that are left out, as empty ones are.
    pub(crate) null: Option<String>,
}

impl Options {
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

/// One character, as an option names it: `;`, `tab` or `\t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Character(pub(crate) u8);

impl FromStr for Character {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.as_bytes() {
            b"tab" | b"\\t" => Ok(Self(b'\t')),
            [byte] if byte.is_ascii_graphic() && !byte.is_ascii_alphanumeric() || matches!(byte, b'\t' | b' ') => {
                Ok(Self(*byte))
            }
            _ => Err("give one character that is no letter and no digit, or tab".to_owned()),
        }
    }
}

/// The quote, as an option names it: a character or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quote(pub(crate) Option<u8>);

impl FromStr for Quote {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            _ => text.parse().map(|Character(quote)| Self(Some(quote))),
        }
    }
}
