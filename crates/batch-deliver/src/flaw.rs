//! What is wrong with a line.

use std::borrow::Cow;
use std::fmt;

/// What is wrong with a line, and where. It never quotes the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// The character at fault, from 1.
    pub(crate) column: Option<u64>,
    pub(crate) reason: Cow<'static, str>,
}

impl Flaw {
    pub(crate) fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            column: None,
            reason: reason.into(),
        }
    }

    /// Sets the place: the character that begins at this byte.
    pub(crate) fn at(mut self, line: &[u8], byte: usize) -> Self {
        let before = &line[..byte.min(line.len())];
        self.column = Some(String::from_utf8_lossy(before).chars().count() as u64 + 1);
        self
    }

    /// The flaw of a text behind this many characters of its line.
    pub(crate) fn behind(mut self, before: u64) -> Self {
        if before > 0 {
            self.column = Some(before + self.column.unwrap_or(1));
        }
        self
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            Some(column) => write!(f, "column {column}: {}", self.reason),
            None => self.reason.fmt(f),
        }
    }
}
