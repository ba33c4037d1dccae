//! What is kept of an entry or of a line, and why.

use serde_json::{Map, Value, json};

use crate::sink::UndeliveredEntry;
use crate::source::Flaw;

/// An undelivered entry, or a line that could not be read.
#[derive(Debug)]
pub(crate) struct Letter {
    /// The header without which a row cannot be read.
    pub(super) header: Option<Vec<u8>>,
    /// The text in the input. A line that is too long has none.
    pub(super) text: Option<Vec<u8>>,
    /// Everything but the text.
    pub(super) cause: Map<String, Value>,
}

impl Letter {
    /// An entry that was not delivered. Its text becomes a line.
    pub(crate) fn of_entry(text: &[u8], (file, line): (&str, u64), undelivered: &UndeliveredEntry) -> Self {
        let cause = json!({
            "cause": undelivered.words(),
            "code": undelivered.code(),
            "message": undelivered.message(),
            "attempts": undelivered.attempts,
            "may_have_been_delivered": undelivered.may_have_been_delivered,
            "file": file,
            "line": line,
        });
        Self {
            header: None,
            text: Some(text.to_vec()),
            cause: object(cause),
        }
    }

    /// A line, or a row below this header, that could not be read.
    pub(crate) fn of_bad_line(
        header: Option<&[u8]>,
        text: Option<&[u8]>,
        (file, line): (&str, u64),
        flaw: &Flaw,
    ) -> Self {
        let cause = json!({
            "file": file,
            "line": line,
            "column": flaw.column,
            "reason": flaw.reason,
            "kept": text.is_some(),
            "has_header": header.is_some(),
        });
        Self {
            header: header.map(without_line_end),
            text: text.map(without_line_end),
            cause: object(cause),
        }
    }
}

/// How much was written, and where.
#[derive(Debug, Clone, Default)]
pub(crate) struct LettersWritten {
    /// Letters that have a text.
    pub(crate) letters: u64,
    pub(crate) place: String,
    pub(crate) causes: String,
    /// The error after which nothing is written.
    pub(crate) error: Option<String>,
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn without_line_end(text: &[u8]) -> Vec<u8> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text).to_vec()
}
