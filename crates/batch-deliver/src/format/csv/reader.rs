//! Reads rows strictly by RFC 4180: what another reader might take another way is a flaw.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};

use super::dialect::Dialect;
use super::scan::{Cells, Scan, Step};
use crate::format::lines::{LONGEST_LINE, append_block};
use crate::source::Flaw;

/// A row, or what is wrong with it.
pub(super) struct Row<'a> {
    /// The line in which it begins, or that of its flaw; from 1.
    pub(super) line: u64,
    /// The row as it is in the input, with its line end; `None` if it is too long.
    pub(super) raw: Option<&'a [u8]>,
    pub(super) cells: Result<Cells<'a>, Flaw>,
    /// Whether there are spaces around a quoted cell.
    pub(super) is_padded: bool,
}

/// Reads row by row. Blank lines are skipped, and so is the rest of a line with a flaw.
pub(super) struct RowReader<R> {
    input: R,
    dialect: Dialect,
    buffer: Vec<u8>,
    /// Where the row begins that is read.
    start: usize,
    /// The line in which it begins.
    line: u64,
    /// Where the next one begins: the bytes in between, and the line.
    consumed: usize,
    next_line: u64,
    at_end: bool,
    scan: Scan,
    /// Whether a line of spaces is a row, which it is with a single column.
    pub(super) spaces_are_a_row: bool,
    longest: usize,
}

const OTHER_END: &str = "a line ends in another way here than the first one: end all lines in the same way";

impl<R: Read> RowReader<R> {
    pub(super) fn new(input: R, dialect: Dialect) -> Self {
        Self {
            input,
            dialect,
            buffer: Vec::new(),
            start: 0,
            line: 1,
            consumed: 0,
            next_line: 1,
            at_end: false,
            scan: Scan::new(dialect),
            spaces_are_a_row: false,
            longest: LONGEST_LINE,
        }
    }

    /// The next row.
    pub(super) fn next(&mut self) -> io::Result<Option<Row<'_>>> {
        self.begin();
        let step = loop {
            match self.scan.step(&self.buffer[self.start..], self.at_end) {
                Step::More if self.at_end => return Ok(None),
                Step::More if self.buffer.len() - self.start > self.longest => break Step::More,
                Step::More => self.fill()?,
                Step::Row(end) if self.scan.is_blank(self.row_to(end), self.spaces_are_a_row) => {
                    self.consumed = end;
                    self.next_line = self.line + 1;
                    self.begin();
                }
                step => break step,
            }
        };
        match step {
            Step::Row(end) => match self.scan.other_end(self.row_to(end)) {
                None => Ok(Some(self.row(end))),
                Some(at) => self.flawed(at, Flaw::new(OTHER_END)).map(Some),
            },
            Step::Flaw(at, reason) => self.flawed(at, Flaw::new(reason)).map(Some),
            Step::More => {
                let open_quote = self.scan.open_quote();
                let reason = match open_quote {
                    Some(_) => "is there a quote that is not closed?",
                    None => "write one entry in each row",
                };
                let flaw = Flaw::new(format!("the row has more than {} MiB: {reason}", self.longest >> 20));
                self.flawed(open_quote.unwrap_or(0), flaw).map(Some)
            }
        }
    }

    /// Whether the next row is in the buffer. Of one with quotes that is not known without reading it.
    pub(super) fn is_ready(&self) -> bool {
        let rest = &self.buffer[self.start + self.consumed..];
        let has_quotes = |row| self.dialect.quote.is_some_and(|quote| memchr(quote, row).is_some());
        self.at_end || memchr(self.dialect.line_end, rest).is_some_and(|end| !has_quotes(&rest[..end]))
    }

    /// Reads the same row again.
    pub(super) fn again(&mut self) {
        self.consumed = 0;
        self.next_line = self.line;
    }

    /// Goes to the next row.
    fn begin(&mut self) {
        self.start += self.consumed;
        self.line = self.next_line;
        self.consumed = 0;
        self.scan.begin();
    }

    /// The bytes of the row, which ends here.
    fn row_to(&self, end: usize) -> &[u8] {
        &self.buffer[self.start..][..end]
    }

    /// The row that ends here.
    fn row(&mut self, end: usize) -> Row<'_> {
        self.consumed = end;
        let raw = &self.buffer[self.start..][..end];
        let lines = if self.scan.has_quotes() {
            memchr_iter(self.dialect.line_end, raw).count().max(1)
        } else {
            1
        };
        self.next_line = self.line + lines as u64;
        Row {
            line: self.line,
            raw: Some(raw),
            cells: Ok(self.scan.cells(raw)),
            is_padded: self.scan.is_padded,
        }
    }

    /// Skips the line in which the flaw is, at this position.
    fn flawed(&mut self, at: usize, flaw: Flaw) -> io::Result<Row<'_>> {
        let before = &self.buffer[self.start..][..at];
        let line = self.line + memchr_iter(self.dialect.line_end, before).count() as u64;
        let begin = memrchr(self.dialect.line_end, before).map_or(0, |end| end + 1);
        let flaw = flaw.at(&self.buffer[self.start + begin..], at - begin);
        self.next_line = line + 1;
        let mut searched = at;
        let mut is_kept = true;
        self.consumed = loop {
            let row = &self.buffer[self.start..];
            if let Some(end) = memchr(self.dialect.line_end, &row[searched..]) {
                break searched + end + 1;
            }
            searched = row.len();
            if self.at_end {
                break searched;
            }
            if searched > self.longest {
                is_kept = false;
                self.start = self.buffer.len();
                searched = 0;
            }
            self.fill()?;
        };
        let raw = &self.buffer[self.start..][..self.consumed];
        Ok(Row {
            line,
            raw: is_kept.then_some(raw),
            cells: Err(flaw),
            is_padded: false,
        })
    }

    /// Reads one more block.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.at_end = append_block(&mut self.input, &mut self.buffer)? == 0;
        Ok(())
    }
}
