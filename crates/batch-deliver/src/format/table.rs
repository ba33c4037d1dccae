//! Inputs of a table, whose format is detected from the content.

use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::PoisonError;

use aws_sdk_dynamodb::types::WriteRequest;

use super::container::{Container, START_BYTES, container};
use super::csv::CsvItems;
use super::items::JsonItems;
use super::lines::BYTE_ORDER_MARK;
use crate::source::{Format, LineBreaks, Records, read_start};
use crate::value_names::value_names;

/// What separates cells.
const DELIMITERS: [u8; 4] = [b'\t', b';', b',', b'|'];

/// How the items of an input are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableFormat {
    /// Detected from the content.
    Auto,
    /// One JSON object on each line.
    Json,
    /// One object of DynamoDB JSON on each line.
    Dynamodb,
    /// Rows below a header.
    Csv,
    Tsv,
}

/// Items as JSON or as rows.
pub(crate) struct TableItems {
    pub(crate) format: TableFormat,
    pub(crate) json: JsonItems,
    pub(crate) csv: CsvItems,
}

impl Format<WriteRequest> for TableItems {
    fn open(&self, mut input: Box<dyn Read + Send>, name: &str) -> io::Result<Box<dyn Records<WriteRequest>>> {
        let are_rows = self.delimiter(b"", name).is_some();
        let start = read_start(&mut input, START_BYTES, |start| has_line(start, are_rows))?;
        if is_sql(&start) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, SQL));
        }
        let delimiter = self.delimiter(&start, name);
        let line_end = line_end(&start).unwrap_or(b'\n');
        let input = Box::new(Cursor::new(start).chain(input));
        match delimiter {
            Some(delimiter) => self.csv.open(input, name, delimiter, line_end),
            None => self.json.open(input, name),
        }
    }

    /// Only JSON is cut.
    fn open_part(&self, part: Box<dyn Read + Send>, name: &str) -> io::Result<Box<dyn Records<WriteRequest>>> {
        self.json.open_part(part, name)
    }

    fn take_line_breaks(&self) -> Option<LineBreaks> {
        let line_breaks = self.csv.line_breaks.lock();
        line_breaks.unwrap_or_else(PoisonError::into_inner).take()
    }

    fn can_be_cut(&self, start: &[u8], name: &str) -> bool {
        let content = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
        self.delimiter(content, name).is_none() && self.format.can_be_cut(start, name)
    }
}

impl TableItems {
    /// The delimiter of the cells of an input; `None` if it has no rows. An option for rows makes rows of any content.
    fn delimiter(&self, start: &[u8], name: &str) -> Option<u8> {
        let found = self.format.delimiter(start, name);
        let are_rows = self.format == TableFormat::Auto && self.csv.options.settings().next().is_some();
        found.or(are_rows.then_some(b','))
    }
}

value_names!(
    TableFormat,
    Auto = "auto",
    Json = "json",
    Dynamodb = "dynamodb",
    Csv = "csv",
    Tsv = "tsv"
);

impl TableFormat {
    /// Whether the input can be cut. Rows cannot: they need their header, and their cells may contain line ends. Answers of the
    /// service are one document.
    pub(crate) fn can_be_cut(self, start: &[u8], name: &str) -> bool {
        let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
        let is_answer = self != Self::Json && matches!(container(start), Some(Container::Items | Container::Requests));
        self.delimiter(start, name).is_none() && !is_answer
    }

    fn delimiter(self, start: &[u8], name: &str) -> Option<u8> {
        match self {
            Self::Auto => delimiter(start, name),
            Self::Json | Self::Dynamodb => None,
            Self::Csv => Some(first_delimiter(start).unwrap_or(b',')),
            Self::Tsv => Some(b'\t'),
        }
    }
}

const SQL: &str = "this is SQL, not items: export the rows as CSV with a header, or as JSON";

/// How the statements begin of which dumps of databases consist.
const STATEMENTS: [&str; 6] = ["insert into ", "replace into ", "create table ", "copy ", "-- ", "/*!"];

/// Whether the first line is a statement of SQL, or a comment before some.
fn is_sql(start: &[u8]) -> bool {
    let line = start
        .trim_ascii_start()
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let line = String::from_utf8_lossy(line.trim_ascii_end()).to_lowercase();
    let is_begun = STATEMENTS.iter().any(|statement| line.starts_with(statement));
    line == "--" || is_begun && (!line.starts_with("copy ") || line.ends_with(" from stdin;"))
}

/// What the rows are that the name of an input promises; `None` if it promises none.
pub(crate) fn named_as_rows(name: &str) -> Option<&'static str> {
    let stem = Path::new(name.trim_end_matches(".gz").trim_end_matches(".zst"));
    let extension = stem.extension()?;
    ["csv", "tsv"].into_iter().find(|rows| extension == *rows)
}

/// The delimiter of the cells of an input; `None` if neither its name nor its first line suggests CSV or TSV.
fn delimiter(start: &[u8], name: &str) -> Option<u8> {
    match named_as_rows(name) {
        Some("csv") => return Some(first_delimiter(start).unwrap_or(b',')),
        Some(_) => return Some(b'\t'),
        None => {}
    }
    let text = start.trim_ascii_start();
    // A first byte that is not text belongs to another encoding, which is reported as a flaw.
    let is_text = text.first().is_some_and(u8::is_ascii_graphic) && !text.starts_with(b"{") && !text.starts_with(b"[");
    is_text.then(|| first_delimiter(text)).flatten()
}

/// Whether a line that is not blank is complete.
fn has_line(start: &[u8], are_rows: bool) -> bool {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start).trim_ascii_start();
    match start.first() {
        // Quotes may be escaped in JSON.
        Some(b'{' | b'[') if !are_rows => start.contains(&b'\n'),
        _ => line_end(start).is_some(),
    }
}

/// How the first line that is not blank ends, outside of quotes: with a line feed, or with a carriage return alone. `None` if
/// the start does not show it.
fn line_end(start: &[u8]) -> Option<u8> {
    let start = start[..start.len().min(START_BYTES)].trim_ascii_start();
    let mut outside = outside_of_quotes(start).skip_while(|byte| !b"\r\n".contains(byte));
    match (outside.next()?, outside.next()) {
        (b'\r', Some(b'\n')) | (b'\n', _) => Some(b'\n'),
        (_, Some(_)) => Some(b'\r'),
        (_, None) => None,
    }
}

/// The bytes that are not within quotes.
fn outside_of_quotes(start: &[u8]) -> impl Iterator<Item = u8> {
    let mut is_quoted = false;
    start.iter().copied().filter(move |byte| {
        is_quoted ^= *byte == b'"';
        !is_quoted
    })
}

/// The delimiter of the first line, outside of quotes. Delimiters that are rare in names take precedence.
fn first_delimiter(start: &[u8]) -> Option<u8> {
    let start = start[..start.len().min(START_BYTES)].trim_ascii_start();
    let line: Vec<u8> = outside_of_quotes(start)
        .take_while(|byte| !b"\r\n".contains(byte))
        .collect();
    DELIMITERS.into_iter().find(|delimiter| line.contains(delimiter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_in_front_hide_no_rows_however_the_input_arrives() {
        for blank in ["\n", " \n\n", "\u{feff}\n"] {
            let mut input = blank.as_bytes().chain(&b"id;name\n1;a\n"[..]);
            let start = read_start(&mut input, START_BYTES, |start| has_line(start, false)).unwrap();
            let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start);
            assert_eq!(delimiter(start, "-"), Some(b';'), "{blank:?}");
        }
    }

    #[test]
    fn the_content_or_the_name_tells_rows_from_json() {
        let table: [(&str, &str, Option<u8>); 9] = [
            ("year,title\n1,a", "-", Some(b',')),
            ("\"year\";\"title\"\n", "a.txt", Some(b';')),
            ("year\ttitle, the\n", "-", Some(b'\t')),
            ("id\n1", "a.csv.gz", Some(b',')),
            ("id\n1", "a.tsv.zst", Some(b'\t')),
            ("{\"a\":1,\"b\":2}", "-", None),
            ("[{\"a\":1,\"b\":2}]", "-", None),
            ("id\n1", "-", None),
            ("", "-", None),
        ];
        for (start, name, expected) in table {
            assert_eq!(delimiter(start.as_bytes(), name), expected, "{start:?} of {name}");
        }
    }
}
