//! How the cells of rows are separated and quoted.

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

    /// Whether this byte stands around quoted cells without being a part of them.
    pub(super) fn is_padding(self, byte: u8) -> bool {
        byte == b' ' && self.delimiter != b' '
    }
}
