//! What is written as CSV is read as it was written, and what is damaged is not read as something else without a flaw.

use std::io::Cursor;

use csv::{QuoteStyle, ReaderBuilder, Terminator, WriterBuilder};
use proptest::collection::vec;
use proptest::prelude::*;

use super::dialect::Dialect;
use super::reader::RowReader;

type Table = Vec<Vec<Vec<u8>>>;

/// The rows without a flaw, and how many have one.
fn read(text: &[u8], delimiter: u8) -> (Table, usize) {
    let mut reader = RowReader::new(Cursor::new(text), Dialect::delimited_by(delimiter));
    reader.spaces_are_a_row = true;
    let (mut rows, mut flaws) = (Vec::new(), 0);
    while let Some(row) = reader.next().unwrap() {
        match row.cells {
            Ok(cells) => rows.push(cells.iter().map(|(cell, _)| cell.to_vec()).collect()),
            Err(_) => flaws += 1,
        }
    }
    (rows, flaws)
}

/// The same by the `csv` crate, which reads everything somehow.
fn read_leniently(text: &[u8], delimiter: u8) -> Table {
    let reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(text);
    reader
        .into_byte_records()
        .map(|row| row.unwrap().iter().map(<[u8]>::to_vec).collect())
        .collect()
}

fn write(table: &Table, delimiter: u8, style: QuoteStyle, terminator: Terminator) -> Vec<u8> {
    let mut options = WriterBuilder::new();
    options
        .delimiter(delimiter)
        .quote_style(style)
        .terminator(terminator)
        .flexible(true);
    let mut writer = options.from_writer(Vec::new());
    for row in table {
        writer.write_byte_record(&row.iter().collect()).unwrap();
    }
    writer.into_inner().unwrap()
}

/// As RFC 4180 has it: quotes around cells that need them, and around others as they come.
fn write_by_hand(table: &Table, delimiter: u8, line_end: &str) -> Vec<u8> {
    let mut text = Vec::new();
    for row in table {
        for (number, cell) in row.iter().enumerate() {
            if number > 0 {
                text.push(delimiter);
            }
            let needs_quotes = cell.iter().any(|byte| *byte == delimiter || b"\"\r\n ".contains(byte));
            if needs_quotes || cell.len() % 2 == 0 {
                text.push(b'"');
                text.extend(String::from_utf8_lossy(cell).replace('"', "\"\"").bytes());
                text.push(b'"');
            } else {
                text.extend(cell);
            }
        }
        text.extend(line_end.bytes());
    }
    text
}

fn cell() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![4 => "[a-c]{0,4}", 2 => "[a\", ;\t\r\n]{0,6}", 1 => "\\PC{0,6}"];
    text.prop_map(String::into_bytes)
}

/// Tables of two to four columns, whose rows are not blank.
fn tables() -> impl Strategy<Value = Table> {
    (2_usize..5).prop_flat_map(|columns| vec(vec(cell(), columns), 1..6))
}

fn delimiters() -> impl Strategy<Value = u8> {
    prop::sample::select(b",;\t|".to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_table_is_read_cell_by_cell_as_it_was_written(table in tables(), delimiter in delimiters()) {
        for terminator in [Terminator::CRLF, Terminator::Any(b'\n')] {
            // The crate leaves spaces without quotes, which a quoted cell may not have around it; they stay, because no cell
            // is both.
            for style in [QuoteStyle::Necessary, QuoteStyle::Always] {
                let text = write(&table, delimiter, style, terminator);
                prop_assert_eq!(read(&text, delimiter), (table.clone(), 0), "{}", String::from_utf8_lossy(&text));
            }
        }
        for line_end in ["\n", "\r\n"] {
            let text = write_by_hand(&table, delimiter, line_end);
            prop_assert_eq!(read(&text, delimiter), (table.clone(), 0), "{}", String::from_utf8_lossy(&text));
        }
    }

    /// Without a flaw, the text has one legal reading, which is also that of a lenient reader.
    #[test]
    fn a_damaged_byte_is_another_legal_reading_or_a_flaw(
        table in tables(), delimiter in delimiters(), place in any::<prop::sample::Index>(),
        byte in prop::sample::select(b"\",;\t|\n\ra \\".to_vec()), is_removed in any::<bool>(),
    ) {
        let mut text = write(&table, delimiter, QuoteStyle::Necessary, Terminator::Any(b'\n'));
        let place = place.index(text.len());
        if is_removed { _ = text.remove(place); } else { text[place] = byte; }
        let (rows, flaws) = read(&text, delimiter);
        // Spaces around a quoted cell are not part of it here.
        let is_padded = text.windows(2).any(|pair| pair == b" \"" || pair == b"\" ");
        if flaws == 0 && !is_padded {
            prop_assert_eq!(&rows, &read_leniently(&text, delimiter), "{}", String::from_utf8_lossy(&text));
        }
        prop_assert_eq!(rows.is_empty() && flaws == 0, text.iter().all(|byte| b"\r\n".contains(byte)));
    }

    #[test]
    fn rows_do_not_depend_on_the_pieces_in_which_they_arrive(text in "[a\",\r\n ]{0,40}", pieces in 1_usize..4) {
        struct Pieces<'a>(&'a [u8], usize);
        impl std::io::Read for Pieces<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let bytes = buffer.len().min(self.1);
                (&mut self.0).read(&mut buffer[..bytes])
            }
        }
        let mut reader = RowReader::new(Pieces(text.as_bytes(), pieces), Dialect::delimited_by(b','));
        reader.spaces_are_a_row = true;
        let (mut rows, mut flaws) = (Vec::new(), 0);
        while let Some(row) = reader.next().unwrap() {
            match row.cells {
                Ok(cells) => rows.push(cells.iter().map(|(cell, _)| cell.to_vec()).collect::<Vec<_>>()),
                Err(_) => flaws += 1,
            }
        }
        prop_assert_eq!((rows, flaws), read(text.as_bytes(), b','));
    }
}
