//! The records of an input, as a format reads them.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};

use crate::console::grouped;

/// The kind of error of an input that could not be reached: another attempt may succeed.
pub(crate) const UNREACHABLE: io::ErrorKind = io::ErrorKind::NotConnected;

/// The kind of error of an input that this worker may not read: either the input or the worker has the wrong permissions.
pub(crate) const DENIED: io::ErrorKind = io::ErrorKind::PermissionDenied;

/// Whether the system could not read a file that is there, as with a stale handle of a network file system, a disk that fails or a
/// missing permission. Another machine may read it.
pub(crate) fn is_of_machine(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, IsADirectory, NotADirectory, NotFound};
    let is_of_name = matches!(error.kind(), NotFound | NotADirectory | IsADirectory | InvalidFilename);
    error.raw_os_error().is_some() && !is_of_name
}

/// Whether another attempt, or one on another machine, may read the input.
pub(crate) fn may_be_read_elsewhere(error: &io::Error) -> bool {
    error.kind() == UNREACHABLE || is_of_machine(error)
}

/// A record of an input, as it is read.
pub(crate) struct Record<E> {
    /// Its line, from 1; the first one if it has several.
    pub(crate) line: u64,
    /// The text that it is read from, if dead letters are to repeat it.
    pub(crate) text: Option<Box<[u8]>>,
    /// The entry, or what is wrong with it; `None` if it was skipped.
    pub(crate) entry: Option<Result<E, Flaw>>,
}

impl<E> Record<E> {
    pub(crate) fn skipped(line: u64) -> Self {
        Self {
            line,
            text: None,
            entry: None,
        }
    }
}

/// The records of one input.
pub(crate) trait Records<E>: Send {
    /// The next record. A record that is not wanted is skipped without being parsed.
    fn next(&mut self, is_wanted: bool) -> io::Result<Option<Record<E>>>;

    /// Whether the next record can be read without waiting for the input.
    fn is_ready(&self) -> bool;

    /// The header without which a record cannot be read, as it is in the input.
    fn header(&self) -> Option<&[u8]> {
        None
    }
}

/// Opens the records of inputs.
pub(crate) trait Format<E>: Send + Sync {
    /// The records of the input with this name.
    fn open(&self, input: Box<dyn Read + Send>, name: &str) -> io::Result<Box<dyn Records<E>>>;

    /// The records of a part of an input that can be cut.
    fn open_part(&self, part: Box<dyn Read + Send>, name: &str) -> io::Result<Box<dyn Records<E>>> {
        self.open(part, name)
    }

    /// Whether the input with this name and these first bytes has exactly one record on each line.
    fn can_be_cut(&self, _start: &[u8], _name: &str) -> bool {
        true
    }

    /// The values with line breaks that were read since the last call, if there are any.
    fn take_line_breaks(&self) -> Option<LineBreaks> {
        None
    }
}

/// Values of rows that have line breaks. A quote that is missing or left over makes such a value of several rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineBreaks {
    /// How many values have some.
    pub(crate) values: u64,
    /// The column, the input and the line of the first one.
    pub(crate) first: (String, String, u64),
}

impl fmt::Display for LineBreaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (column, input, line) = &self.first;
        let values = match self.values {
            1 => "1 value has line breaks,".to_owned(),
            values => format!("{} values have line breaks, the first of them", grouped(values)),
        };
        write!(
            f,
            "{values} {column} in {input}:{line}: if it has rows of its own, a quote is missing there or left over"
        )
    }
}

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
