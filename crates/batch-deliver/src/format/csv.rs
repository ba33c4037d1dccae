//! Items of a table, one in each row below a header.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use aws_batch_simulator::KeyType;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use csv::{ByteRecord, Reader, ReaderBuilder};
use serde_json::json;

use super::json::Json;
use super::typed::to_json;
use super::{Reading, Source};
use crate::console::Console;
use crate::flaw::Flaw;
use crate::input::{LONGEST_LINE, STANDARD_INPUT};
use crate::item::Item;
use crate::key::Key;
use crate::write::Writes;

/// A row that is appended to the input. If it does not come out as a row, a quote was never closed.
const LAST_ROW: &[u8] = b"\n\x01the end of the input\x01\n";

/// The type that the cells of a column become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellType {
    S,
    N,
    /// Base64.
    B,
    Bool,
    /// Any JSON, such as a list or a map.
    Json,
}

/// The types of columns, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Types(HashMap<String, CellType>);

/// `year:N,title:S`
impl FromStr for Types {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let typed = |text: &str| {
            let (name, kind) = text.trim().rsplit_once(':').ok_or("a type is needed: year:N,title:S")?;
            let kind = match kind {
                "S" => CellType::S,
                "N" => CellType::N,
                "B" => CellType::B,
                "BOOL" => CellType::Bool,
                "JSON" => CellType::Json,
                other => return Err(format!("a type is S, N, B, BOOL or JSON, not {other}")),
            };
            Ok((name.to_owned(), kind))
        };
        text.split(',').map(typed).collect::<Result<_, _>>().map(Self)
    }
}

/// Items from rows. An empty cell is left out of its item.
pub(crate) struct CsvItems {
    pub(crate) types: Types,
    pub(crate) writes: Writes,
    pub(crate) keeps_text: bool,
    pub(crate) console: Console,
    /// The columns that were printed last.
    pub(crate) told: Arc<Mutex<String>>,
}

impl CsvItems {
    /// The rows of an input whose cells are separated by this byte.
    pub(crate) fn open(
        &self,
        input: Box<dyn Read + Send>,
        name: &str,
        delimiter: u8,
    ) -> io::Result<Box<dyn Source<WriteRequest>>> {
        let since_row = Arc::new(AtomicUsize::new(0));
        let input: Box<dyn Read + Send> = Box::new(Limited {
            input: input.chain(LAST_ROW),
            since_row: Arc::clone(&since_row),
        });
        // A row of another length is reported as a flaw. Cells of TSV have no quotes.
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .quoting(delimiter != b'\t')
            .flexible(true)
            .from_reader(input);
        let mut header = reader.byte_headers()?.clone();
        if is_last(&header) {
            header.clear();
        } else if swallows_the_rest(&header) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, UNCLOSED));
        }
        let columns = self
            .columns(&header)
            .map_err(|words| io::Error::new(io::ErrorKind::InvalidData, words))?;
        self.tell(&columns);
        Ok(Box::new(Rows {
            reader,
            since_row,
            row: ByteRecord::new(),
            columns,
            json: Json::default(),
            writes: self.writes.clone(),
            keeps_text: self.keeps_text,
            may_be_slow: name == STANDARD_INPUT,
        }))
    }

    /// The columns with their types: that of `--types`, that of the key, or a string.
    fn columns(&self, header: &ByteRecord) -> Result<Vec<(String, CellType)>, String> {
        let names = header
            .iter()
            .map(|name| str::from_utf8(name).map(|name| name.trim().to_owned()));
        let names: Vec<String> = names
            .collect::<Result<_, _>>()
            .map_err(|_| "the header is not UTF-8 text")?;
        if names.iter().collect::<HashSet<_>>().len() < names.len() || names.iter().any(String::is_empty) {
            return Err("the header has a name twice, or an empty one: each column needs a name of its own".to_owned());
        }
        if let Some(missing) = self.types.0.keys().find(|name| !names.contains(name)) {
            return Err(format!(
                "--types has {missing}, but the header has only {}",
                names.join(", ")
            ));
        }
        let keys = self.writes.key().into_iter().flat_map(Key::attributes);
        if let Some(missing) = keys.map(|key| &key.name).find(|name| !names.contains(name)) {
            let names = names.join(", ");
            return Err(format!(
                "the header has no {missing}, which is part of the table's key, but only {names}"
            ));
        }
        let typed = names.into_iter().map(|name| {
            let said = self.types.0.get(&name).copied();
            let kind = said.or_else(|| self.key_type(&name)).unwrap_or(CellType::S);
            (name, kind)
        });
        Ok(typed.collect())
    }

    fn key_type(&self, name: &str) -> Option<CellType> {
        let attribute = self
            .writes
            .key()?
            .attributes()
            .find(|attribute| attribute.name == name)?;
        Some(match attribute.kind {
            KeyType::S => CellType::S,
            KeyType::N => CellType::N,
            KeyType::B => CellType::B,
        })
    }

    /// Prints the types once, unless all are given.
    fn tell(&self, columns: &[(String, CellType)]) {
        let columns = columns.iter().map(|(name, kind)| match kind {
            CellType::Bool => format!("{name}:BOOL"),
            CellType::Json => format!("{name}:JSON"),
            kind => format!("{name}:{kind:?}"),
        });
        let columns = columns.collect::<Vec<_>>().join(",");
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if *told != columns {
            self.console
                .tell(&format!("columns: {columns} (empty cells are left out; see --types)"));
            *told = columns;
        }
    }
}

/// The flaw of a row that extends to the end of the input.
const UNCLOSED: &str =
    "a quote opens in this row and is never closed, so the rest of the input would be one cell: close it";

/// Whether this is the appended row.
fn is_last(row: &ByteRecord) -> bool {
    row.len() == 1 && row[0] == *LAST_ROW.trim_ascii()
}

fn swallows_the_rest(row: &ByteRecord) -> bool {
    row.iter().next_back().is_some_and(|cell| cell.ends_with(LAST_ROW))
}

/// Limits the length of a row to that of a line. Otherwise a quote that is never closed would use all memory.
struct Limited<R> {
    input: R,
    since_row: Arc<AtomicUsize>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read(buffer)?;
        let since_row = self.since_row.fetch_add(bytes, Relaxed) + bytes;
        if since_row > LONGEST_LINE {
            let words = format!("a row has more than {LONGEST_LINE} bytes: is there a quote that is not closed?");
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        Ok(bytes)
    }
}

struct Rows {
    reader: Reader<Box<dyn Read + Send>>,
    /// Bytes that were read since the last row.
    since_row: Arc<AtomicUsize>,
    row: ByteRecord,
    columns: Vec<(String, CellType)>,
    json: Json,
    writes: Writes,
    keeps_text: bool,
    /// Whether the input is a stream whose rows arrive over time.
    may_be_slow: bool,
}

impl Rows {
    /// The write of this row, and the text that dead letters repeat.
    fn entry(&mut self) -> Result<(WriteRequest, Option<Box<[u8]>>), Flaw> {
        if swallows_the_rest(&self.row) {
            return Err(Flaw::new(UNCLOSED));
        }
        if self.row.len() != self.columns.len() {
            let (cells, columns) = (self.row.len(), self.columns.len());
            return Err(Flaw::new(format!(
                "the row has {cells} cells, but the header has {columns}"
            )));
        }
        let mut item = Item::with_capacity(self.columns.len());
        for ((name, kind), cell) in self.columns.iter().zip(&self.row) {
            if !cell.is_empty() {
                let value = value(cell, *kind, &mut self.json);
                item.insert(
                    name.clone(),
                    value.map_err(|reason| Flaw::new(format!("{name}: {reason}")))?,
                );
            }
        }
        let text = self.keeps_text.then(|| json!({ "Item": to_json(&item) }).to_string());
        let entry = self.writes.of(item)?;
        Ok((entry, text.map(|text| text.into_bytes().into())))
    }
}

fn value(cell: &[u8], kind: CellType, json: &mut Json) -> Result<AttributeValue, String> {
    let text = || str::from_utf8(cell).map_err(|_| "this is not UTF-8 text".to_owned());
    Ok(match kind {
        CellType::S => AttributeValue::S(text()?.to_owned()),
        CellType::N => {
            let number = text()?.trim();
            if !number.starts_with(['-', '+', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
                return Err("this is not a number".to_owned());
            }
            AttributeValue::N(number.to_owned())
        }
        CellType::B => {
            let bytes = BASE64_STANDARD.decode(cell);
            AttributeValue::B(Blob::new(bytes.map_err(|_| "this is not base64")?))
        }
        CellType::Bool => match text()?.trim().to_ascii_lowercase().as_str() {
            "true" | "1" => AttributeValue::Bool(true),
            "false" | "0" => AttributeValue::Bool(false),
            _ => return Err("this is neither true nor false".to_owned()),
        },
        CellType::Json => json.value(cell).map_err(|flaw| flaw.reason.into_owned())?,
    })
}

impl Source<WriteRequest> for Rows {
    fn next(&mut self, is_wanted: bool) -> io::Result<Option<Reading<WriteRequest>>> {
        let mut row = std::mem::take(&mut self.row);
        self.since_row.store(0, Relaxed);
        let is_there = self.reader.read_byte_record(&mut row);
        self.row = row;
        if !is_there? || is_last(&self.row) {
            return Ok(None);
        }
        let line = self.row.position().map_or(0, csv::Position::line);
        if !is_wanted {
            return Ok(Some(Reading::skipped(line)));
        }
        let (entry, text) = match self.entry() {
            Ok((entry, text)) => (Ok(entry), text),
            Err(flaw) => (Err(flaw), None),
        };
        Ok(Some(Reading {
            line,
            text,
            entry: Some(entry),
        }))
    }

    /// Whether the reader has the next row is not known, but a file never blocks for long.
    fn is_ready(&self) -> bool {
        !self.may_be_slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(types: &str) -> CsvItems {
        CsvItems {
            types: if types.is_empty() {
                Types::default()
            } else {
                types.parse().unwrap()
            },
            writes: Writes::puts(Some("year:N,title:S".parse().unwrap())),
            keeps_text: true,
            console: Console::new(false, true),
            told: Arc::default(),
        }
    }

    fn read(types: &str, text: &str) -> io::Result<Vec<(u64, Result<Item, String>)>> {
        let text = std::io::Cursor::new(text.as_bytes().to_vec());
        let mut rows = items(types).open(Box::new(text), "a.csv", b',')?;
        let mut read = Vec::new();
        while let Some(Reading { line, entry, .. }) = rows.next(true)? {
            let item = entry.unwrap().map(|entry| entry.put_request.unwrap().item);
            read.push((line, item.map_err(|flaw| flaw.to_string())));
        }
        Ok(read)
    }

    #[test]
    fn cells_have_the_given_types_or_those_of_the_key_or_are_strings() {
        let text = "year,title,rating,seen,info,note\r\n2013,\"Rush, the\nfilm\",8.30,true,\"{\"\"a\"\":[1]}\",007\r\n";
        let read = read("rating:N,seen:BOOL,info:JSON", text).unwrap();
        let item = read[0].1.as_ref().unwrap();
        let list = AttributeValue::L(vec![AttributeValue::N("1".to_owned())]);
        let expected = Item::from(
            [
                ("year", AttributeValue::N("2013".to_owned())),
                ("title", AttributeValue::S("Rush, the\nfilm".to_owned())),
                ("rating", AttributeValue::N("8.30".to_owned())),
                ("seen", AttributeValue::Bool(true)),
                ("info", AttributeValue::M([("a".to_owned(), list)].into())),
                ("note", AttributeValue::S("007".to_owned())),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        assert_eq!(item, &expected);
    }

    #[test]
    fn a_flaw_names_the_line_of_its_row_and_the_column_of_its_cell() {
        let text = "year,title,note\n1,\"a\nb\",\n2,b\nsecret,c,\n4,,\n";
        let read = read("", text).unwrap();
        let told: Vec<_> = read
            .into_iter()
            .map(|(line, item)| (line, item.err().unwrap_or_default()))
            .collect();
        let expected = [
            (2, ""),
            (4, "the row has 2 cells, but the header has 3"),
            (5, "year: this is not a number"),
            (6, "there is no title, which is part of the table's key"),
        ];
        assert_eq!(told, expected.map(|(line, words)| (line, words.to_owned())));
    }

    #[test]
    fn a_quote_that_is_never_closed_is_reported_where_it_opens() {
        let told = |text: &str| read("", text).unwrap().pop().map(|(line, item)| (line, item.is_err()));
        assert_eq!(told("year,title\n1,a\n2,\"b\n3,c\n4,d\n"), Some((3, true)));
        assert_eq!(told("year,title\n1,a\n2,\"b"), Some((3, true)));
        assert_eq!(told("year,title\n1,a\n2,\"b\""), Some((3, false)));
        assert_eq!(told("year,title\n"), None);
        assert!(read("", "year,\"title\n1,a\n").is_err());
        let endless = format!("year,title\n1,\"{}", "a,b\n".repeat(LONGEST_LINE / 2));
        assert!(read("", &endless).unwrap_err().to_string().contains("not closed"));
    }

    #[test]
    fn cells_of_tsv_have_no_quotes() {
        let text = std::io::Cursor::new(b"year\ttitle\n1\t\"Heroes\" by Bowie\n".to_vec());
        let mut rows = items("").open(Box::new(text), "a.tsv", b'\t').unwrap();
        let read = rows.next(true).unwrap().unwrap().entry.unwrap();
        let item = read.unwrap_or_else(|flaw| panic!("{flaw}")).put_request.unwrap().item;
        assert_eq!(item["title"], AttributeValue::S("\"Heroes\" by Bowie".to_owned()));
    }

    #[test]
    fn an_invalid_header_is_refused() {
        let refusal = |types: &str, text: &str| read(types, text).unwrap_err().to_string();
        assert!(refusal("", "a,b,a\n").contains("a name twice"));
        assert_eq!(refusal("c:N", "a,b\n"), "--types has c, but the header has only a, b");
        let keyless = "the header has no title, which is part of the table's key, but only year, name";
        assert_eq!(refusal("", "year,name\n"), keyless);
        assert!("a".parse::<Types>().is_err() && "a:X".parse::<Types>().is_err());
    }
}
