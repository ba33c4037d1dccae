//! Items of a table, one in each row below a header.

mod cell;
mod columns;
mod dialect;
#[cfg(test)]
mod properties;
mod reader;
mod scan;
mod set;

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::types::WriteRequest;
use memchr::memchr2;
use serde_json::json;

pub(crate) use self::cell::Types;
use self::cell::value;
use self::columns::Columns;
use self::dialect::Dialect;
pub(crate) use self::dialect::{Character, Options, Quote};
use self::reader::{Row, RowReader};
use self::scan::Cells;
use super::items::{Item, Writes, to_json};
use super::text::is_object;
use crate::console::Console;
use crate::source::{Flaw, LineBreaks, Record, Records};

/// Items from rows. An empty cell is left out of its item.
pub(crate) struct CsvItems {
    pub(crate) options: Options,
    pub(crate) writes: Writes,
    pub(crate) keeps_text: bool,
    pub(crate) console: Console,
    /// The columns that were printed last.
    pub(crate) printed: Arc<Mutex<String>>,
    /// The values with line breaks, if there are any.
    pub(crate) line_breaks: Arc<Mutex<Option<LineBreaks>>>,
}

impl CsvItems {
    /// The rows of an input whose cells are separated by this byte, unless another one is given.
    pub(crate) fn open(
        &self,
        input: Box<dyn Read + Send>,
        name: &str,
        delimiter: u8,
        line_end: u8,
    ) -> io::Result<Box<dyn Records<WriteRequest>>> {
        let options = &self.options;
        let dialect = Dialect {
            delimiter: options.delimiter.map_or(delimiter, |Character(delimiter)| delimiter),
            quote: options.quote.map_or(Some(b'"'), |Quote(quote)| quote),
            escape: options.escape.map(|Character(escape)| escape),
            line_end,
        };
        let mut reader = RowReader::new(input, dialect);
        let types = options.types.clone().unwrap_or_default();
        let (columns, header) = match &options.header {
            Some(names) => (Columns::named(names, &types, &self.writes), None),
            None => match header(&mut reader)? {
                Some(row) => {
                    let cells = row.cells.map_err(|flaw| format!("line {}: {flaw}", row.line));
                    let columns =
                        cells.and_then(|cells| Columns::of_header(cells, row.is_padded, &types, &self.writes));
                    let is_json = || row.raw.is_some_and(is_object);
                    let columns = columns.map_err(|words| if is_json() { JSON.to_owned() } else { words });
                    (columns, row.raw.map(Box::from))
                }
                None => (Ok(Columns::none()), None),
            },
        };
        let columns = columns.map_err(|words| invalid(&words))?;
        self.print(&columns);
        reader.spaces_are_a_row = columns.len() == 1;
        Ok(Box::new(CsvRecords {
            reader,
            columns,
            header,
            null: options.null.clone(),
            writes: self.writes.clone(),
            keeps_text: self.keeps_text,
            name: name.to_owned(),
            line_breaks: Arc::clone(&self.line_breaks),
        }))
    }

    /// Prints the columns with their types, unless they are those of the input before.
    fn print(&self, columns: &Columns) {
        let columns = columns.to_string();
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if *printed != columns && !columns.is_empty() {
            self.console
                .info(&format!("columns: {columns} (empty cells are left out; see --types)"));
            *printed = columns;
        }
    }
}

/// The row of the names, behind the line in which Excel names the delimiter: `sep=;`.
fn header<R: Read>(reader: &mut RowReader<R>) -> io::Result<Option<Row<'_>>> {
    let Some(first) = reader.next()? else {
        return Ok(None);
    };
    let cells = first.cells.iter().flat_map(|cells| cells.iter());
    if !cells.map(|(cell, _)| cell).eq([&b"sep="[..], b""]) {
        reader.again();
    }
    reader.next()
}

const JSON: &str = "line 1 is JSON and no header of rows: give --format dynamodb if its values have types, as in {\"N\":\"1\"}, and --format json otherwise";

fn invalid(words: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, words)
}

struct CsvRecords {
    reader: RowReader<Box<dyn Read + Send>>,
    columns: Columns,
    /// The header as it is in the input.
    header: Option<Box<[u8]>>,
    null: Option<String>,
    writes: Writes,
    keeps_text: bool,
    /// The name of the input.
    name: String,
    line_breaks: Arc<Mutex<Option<LineBreaks>>>,
}

impl CsvRecords {
    /// Counts the values of these columns, which have line breaks.
    fn add_line_breaks(&self, columns: &[usize], line: u64) {
        let first = columns.first().and_then(|column| self.columns.iter().nth(*column));
        let Some(column) = first else { return };
        let mut line_breaks = self.line_breaks.lock().unwrap_or_else(PoisonError::into_inner);
        let line_breaks = line_breaks.get_or_insert_with(|| LineBreaks {
            values: 0,
            first: (column.name.clone(), self.name.clone(), line),
        });
        line_breaks.values += columns.len() as u64;
    }
}

/// Makes items from the cells of rows.
struct ItemBuilder<'a> {
    columns: &'a Columns,
    null: Option<&'a [u8]>,
    /// The columns whose values have line breaks, from 0.
    with_line_breaks: Vec<usize>,
}

impl ItemBuilder<'_> {
    fn item(&mut self, cells: Cells<'_>) -> Result<Item, Flaw> {
        self.columns.check(cells)?;
        let mut item = Item::with_capacity(cells.len());
        for (index, (column, (cell, is_quoted))) in self.columns.iter().zip(cells.iter()).enumerate() {
            let cell = self.columns.content(cell, is_quoted);
            if cell.is_empty() || !is_quoted && self.null == Some(cell) {
                continue;
            }
            let of_column = |reason: String| Flaw::new(format!("{}: {reason}", column.name));
            column.check_edges(cell, is_quoted).map_err(of_column)?;
            if is_quoted && memchr2(b'\n', b'\r', cell).is_some() {
                self.with_line_breaks.push(index);
            }
            if let Some(value) = value(cell, column.kind).map_err(of_column)? {
                item.insert(column.name.clone(), value);
            }
        }
        Ok(item)
    }
}

impl Records<WriteRequest> for CsvRecords {
    fn next(&mut self, is_wanted: bool) -> io::Result<Option<Record<WriteRequest>>> {
        let Some(Row { line, raw, cells, .. }) = self.reader.next()? else {
            return Ok(None);
        };
        if !is_wanted {
            return Ok(Some(Record::skipped(line)));
        }
        let mut to_item = ItemBuilder {
            columns: &self.columns,
            null: self.null.as_deref().map(str::as_bytes),
            with_line_breaks: Vec::new(),
        };
        let item = cells.and_then(|cells| to_item.item(cells));
        let with_line_breaks = to_item.with_line_breaks;
        // Dead letters are items, because a row has no meaning without its header.
        let text = match &item {
            Ok(item) if self.keeps_text => Some(json!({ "Item": to_json(item) }).to_string().into_bytes().into()),
            _ => None,
        };
        let entry = item.and_then(|item| self.writes.of(item));
        let text = match &entry {
            Ok(_) => text,
            Err(_) => raw.filter(|_| self.keeps_text).map(Box::from),
        };
        if entry.is_ok() {
            self.add_line_breaks(&with_line_breaks, line);
        }
        Ok(Some(Record {
            line,
            text,
            entry: Some(entry),
        }))
    }

    fn is_ready(&self) -> bool {
        self.reader.is_ready()
    }

    fn header(&self) -> Option<&[u8]> {
        self.header.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;
    use crate::format::lines::LONGEST_LINE;

    type Read = io::Result<Vec<(u64, Result<Item, String>)>>;

    fn read_with(options: Options, text: &str) -> Read {
        let items = CsvItems {
            options,
            writes: Writes::puts(Some("year:N,title:S".parse().unwrap())),
            keeps_text: true,
            console: Console::new(false, true),
            printed: Arc::default(),
            line_breaks: Arc::default(),
        };
        let text = io::Cursor::new(text.as_bytes().to_vec());
        let mut rows = items.open(Box::new(text), "a.csv", b',', b'\n')?;
        let mut read = Vec::new();
        while let Some(Record { line, entry, .. }) = rows.next(true)? {
            let item = entry.unwrap().map(|entry| entry.put_request.unwrap().item);
            read.push((line, item.map_err(|flaw| flaw.to_string())));
        }
        Ok(read)
    }

    fn read(types: &str, text: &str) -> Read {
        let options = Options {
            types: types.parse().ok(),
            ..Options::default()
        };
        read_with(options, text)
    }

    /// The lines of the rows, and the flaws of those that have any.
    fn flaws(text: &str) -> Vec<(u64, String)> {
        let read = read("", text).unwrap();
        read.into_iter()
            .map(|(line, item)| (line, item.err().unwrap_or_default()))
            .collect()
    }

    #[test]
    fn cells_have_the_given_types_or_those_of_the_key_or_are_strings() {
        let text = "year,title,rating,seen,info,note,tags\r\n2013,\"Rush, the\nfilm\",8.30,t,\"{\"\"a\"\":[1]}\",007,\"{a,b}\"\r\n";
        let read = read("rating:N,seen:BOOL,info:JSON,tags:SS", text).unwrap();
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
                ("tags", AttributeValue::Ss(vec!["a".to_owned(), "b".to_owned()])),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        assert_eq!(item, &expected);
    }

    #[test]
    fn a_flaw_names_the_line_that_an_editor_shows() {
        let text = "year,title,note\r\n\r\n1,\"a\r\nb\",\r\n2,b\r\nsecret,c,\r\n\r\n4,,\r\n5,d,\"e\" f\r\n6,g,h\r\n";
        let expected = [
            (3, ""),
            (5, "the row has 2 cells, but the header has 3"),
            (6, "year: this is not a number"),
            (8, "there is no title, which is part of the table's key"),
            (
                9,
                "column 9: text follows the closing quote of this cell: write quotes within a quoted cell twice, or give the \
                 character that escapes them as --escape, or --quote none if quotes are text",
            ),
            (10, ""),
        ];
        assert_eq!(flaws(text), expected.map(|(line, words)| (line, words.to_owned())));
    }

    #[test]
    fn a_stray_quote_is_a_flaw_of_its_line_alone() {
        let lines = |text: &str| -> Vec<_> {
            flaws(text)
                .into_iter()
                .map(|(line, flaw)| (line, !flaw.is_empty()))
                .collect()
        };
        let stray = "year,title\n1,\"He left.\n2,fine\n3,\"She stayed.\n4,last\n";
        assert_eq!(lines(stray), [(2, true), (3, false), (4, true), (5, false)]);
        assert_eq!(
            lines("year,title\n1,a\n2,\"b\n3,c"),
            [(2, false), (3, true), (4, false)]
        );
        assert_eq!(lines("year,title\n1,24\" screen\n2,b\n"), [(2, true), (3, false)]);
        // The quote opens in the second line of its row.
        assert_eq!(
            lines("year,title,note\n1,\"a\nb\",\"c\n2,d,e\n"),
            [(3, true), (4, false)]
        );
        assert_eq!(lines("year,title\n1,\"b\""), [(2, false)]);
        assert!(
            read("", "year,\"title\n1,a\n")
                .unwrap_err()
                .to_string()
                .contains("line 1: column 6: a quote opens here")
        );
        let endless = format!(
            "year,title\n1,\"{}",
            format!("2,{}\n", "b".repeat(1_020)).repeat(LONGEST_LINE >> 9)
        );
        let read = flaws(&endless);
        assert_eq!(read.len(), LONGEST_LINE >> 9);
        assert!(read[0].1.contains("more than 8 MiB"), "{}", read[0].1);
    }

    #[test]
    fn a_header_that_is_repeated_is_a_flaw_and_an_input_without_rows_is_none() {
        assert_eq!(
            flaws("year,title\n\u{feff}year,\"title\"\n1,a\n")[0].1,
            "this row is the header again: leave it out"
        );
        for text in ["", "\n", "\r\n\n", "year,title", "year,title\n\n"] {
            assert_eq!(flaws(text), [], "{text:?}");
        }
    }

    #[test]
    fn the_line_in_which_excel_names_the_delimiter_is_no_header() {
        for text in ["sep=,\nyear,title\n1,a\n", "\nsep=,\r\nyear,title\r\n\r\n1,a\r\n"] {
            let lines = text.lines().count() as u64;
            assert_eq!(flaws(text), [(lines, String::new())]);
        }
    }

    #[test]
    fn spaces_around_cells_are_treated_as_those_around_names() {
        let title = |text: &str| -> Vec<_> {
            let read = read("", text).unwrap();
            read.into_iter()
                .map(|(_, item)| item.map(|item| item["title"].as_s().unwrap().clone()))
                .collect()
        };
        assert_eq!(
            title("year, title\n1, a b \n2, \"c \" \n"),
            [Ok("a b".to_owned()), Ok("c ".to_owned())]
        );
        let shown = title("year,title\n1, a\n2,\" a\"\n3, \"a\"\n");
        assert!(
            shown[0]
                .as_ref()
                .unwrap_err()
                .contains("title: this part of the key has a space at its edge")
        );
        assert_eq!(shown[1..], [Ok(" a".to_owned()), Ok("a".to_owned())]);
    }

    #[test]
    fn other_characters_are_read_as_the_options_say() {
        let options = Options {
            delimiter: "|".parse().ok(),
            header: Some(["year", "title", "note"].map(str::to_owned).to_vec()),
            quote: "'".parse().ok(),
            escape: "\\".parse().ok(),
            null: Some("\\N".to_owned()),
            ..Options::default()
        };
        let read = read_with(options, "1|'a\\'b\\\\\\n''|\"'|\\N\n2|\\N\n").unwrap();
        let item = read[0].1.as_ref().unwrap();
        assert_eq!(item["title"].as_s().unwrap(), "a'b\\\\n'|\"");
        assert_eq!(item.len(), 2);
        assert_eq!(
            read[1].1.as_ref().unwrap_err(),
            "the row has 2 cells, but the header has 3"
        );
    }

    #[test]
    fn an_invalid_header_is_refused() {
        let refusal = |types: &str, text: &str| read(types, text).unwrap_err().to_string();
        assert!(refusal("", "a,b,a\n").contains("has a twice"));
        assert!(refusal("", "a,,b\n").contains("no name for column 2"));
        assert_eq!(refusal("c:N", "a,b\n"), "--types has c, but the header has only a, b");
        let keyless = "the header has no title, which is part of the table's key, but only year, name";
        assert_eq!(refusal("", "year,name\n"), keyless);
        assert!(refusal("", "year|title\n").contains("give it as --delimiter"));
    }

    #[test]
    fn types_that_the_console_writes_into_the_header_are_used_unless_others_are_given() {
        let read = read("n:S", "year (N),title (S),n (N),tags (SS)\n1,a,5,\"{ \"\"x\"\" }\"\n").unwrap();
        let item = read[0].1.as_ref().unwrap();
        assert_eq!(
            (&item["n"], &item["tags"]),
            (
                &AttributeValue::S("5".to_owned()),
                &AttributeValue::Ss(vec!["x".to_owned()])
            )
        );
    }
}
