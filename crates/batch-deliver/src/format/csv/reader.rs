//! Reads rows strictly by RFC 4180: what another reader might take another way is a flaw.

use std::io::{self, Read};
use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2, memchr3, memrchr};

use super::dialect::Dialect;
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

/// The cells of a row.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    row: &'a [u8],
    unescaped: &'a [u8],
    ranges: &'a [Cell],
}

/// Where the content of a cell is, from the beginning of its row.
struct Cell {
    range: Range<usize>,
    is_quoted: bool,
    /// Whether it is among the unescaped cells instead.
    is_unescaped: bool,
}

impl<'a> Cells<'a> {
    pub(super) fn len(self) -> usize {
        self.ranges.len()
    }

    /// The content of each cell, and whether it was quoted.
    pub(super) fn iter(self) -> impl Iterator<Item = (&'a [u8], bool)> {
        self.ranges.iter().map(move |cell| {
            let bytes = if cell.is_unescaped { self.unescaped } else { self.row };
            (&bytes[cell.range.clone()], cell.is_quoted)
        })
    }
}

/// What stands at the position that is read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first byte of a cell, or spaces before its quote.
    Begin,
    Unquoted,
    Quoted {
        has_escapes: bool,
    },
    /// What follows the closing quote.
    Closed,
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
    /// The position that is read next, from the beginning of the row.
    at: usize,
    /// Where the cell begins; the opening quote of a quoted one.
    opened: usize,
    state: State,
    cells: Vec<Cell>,
    unescaped: Vec<u8>,
    is_padded: bool,
    /// Whether a line of spaces is a row, which it is with a single column.
    pub(super) spaces_are_a_row: bool,
    longest: usize,
}

/// How far a row was read.
enum Step {
    /// To its end, the position after its line end.
    Row(usize),
    /// To a flaw, at this position.
    Flaw(usize, &'static str),
    /// To the end of the buffer.
    More,
}

const AFTER_QUOTE: &str = "text follows the closing quote of this cell: write quotes within a quoted cell twice, or give the \
                           character that escapes them as --escape, or --quote none if quotes are text";
const WITHIN: &str = "a quote is within a cell that has none around it: write \"a \"\"b\"\" c\", or give --quote none if quotes are text";
const UNCLOSED: &str =
    "a quote opens here and is never closed, or closes in another row: close it, or write it as \"\"\"\"";
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
            at: 0,
            opened: 0,
            state: State::Begin,
            cells: Vec::new(),
            unescaped: Vec::new(),
            is_padded: false,
            spaces_are_a_row: false,
            longest: LONGEST_LINE,
        }
    }

    /// The next row.
    pub(super) fn next(&mut self) -> io::Result<Option<Row<'_>>> {
        self.begin();
        let step = loop {
            match self.step() {
                Step::More if self.at_end => return Ok(None),
                Step::More if self.buffer.len() - self.start > self.longest => break Step::More,
                Step::More => self.fill()?,
                Step::Row(end) if self.is_blank(end) => {
                    self.consumed = end;
                    self.next_line = self.line + 1;
                    self.begin();
                }
                step => break step,
            }
        };
        match step {
            Step::Row(end) => match self.other_end(end) {
                None => Ok(Some(self.row(end))),
                Some(at) => self.flawed(at, Flaw::new(OTHER_END)).map(Some),
            },
            Step::Flaw(at, reason) => self.flawed(at, Flaw::new(reason)).map(Some),
            Step::More => {
                let is_quoted = matches!(self.state, State::Quoted { .. });
                let reason = if is_quoted {
                    "is there a quote that is not closed?"
                } else {
                    "write one entry in each row"
                };
                let flaw = Flaw::new(format!("the row has more than {} MiB: {reason}", self.longest >> 20));
                let at = if is_quoted { self.opened } else { 0 };
                self.flawed(at, flaw).map(Some)
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
        self.at = 0;
        self.opened = 0;
        self.state = State::Begin;
        self.cells.clear();
        self.unescaped.clear();
        self.is_padded = false;
    }

    /// Whether there is nothing in the line, or only spaces where that is not the only cell of a row.
    fn is_blank(&self, end: usize) -> bool {
        let [cell] = &self.cells[..] else { return false };
        let row = &self.buffer[self.start..self.start + end];
        !cell.is_quoted && (row[cell.range.clone()].is_empty() || !self.spaces_are_a_row && row.trim_ascii().is_empty())
    }

    /// Reads on, as far as the buffer goes.
    fn step(&mut self) -> Step {
        loop {
            let row = &self.buffer[self.start..];
            let rest = &row[self.at..];
            match self.state {
                State::Begin => {
                    let spaces = rest.iter().take_while(|byte| self.dialect.is_padding(**byte)).count();
                    match rest.get(spaces) {
                        None if !self.at_end => return Step::More,
                        // Without a byte there is no row; behind a delimiter there is an empty cell.
                        None if self.at + spaces == 0 => return Step::More,
                        Some(byte) if Some(*byte) == self.dialect.quote => {
                            self.is_padded |= spaces > 0;
                            self.opened = self.at + spaces;
                            self.at = self.opened + 1;
                            self.state = State::Quoted { has_escapes: false };
                        }
                        _ => {
                            self.opened = self.at;
                            self.state = State::Unquoted;
                        }
                    }
                }
                State::Unquoted => {
                    let Dialect {
                        delimiter, line_end, ..
                    } = self.dialect;
                    let next = match self.dialect.quote.filter(|_| !self.dialect.has_quotes_as_text()) {
                        Some(quote) => memchr3(delimiter, line_end, quote, rest),
                        None => memchr2(delimiter, line_end, rest),
                    };
                    let Some(next) = next else {
                        self.at = row.len();
                        if !self.at_end {
                            return Step::More;
                        }
                        let end = self.at;
                        return self.end(end, end);
                    };
                    let at = self.at + next;
                    match row[at] {
                        byte if byte == line_end => return self.end(at, at + 1),
                        byte if byte == delimiter => {
                            self.unquoted(at);
                            self.at = at + 1;
                            self.state = State::Begin;
                        }
                        _ => return Step::Flaw(at, WITHIN),
                    }
                }
                State::Quoted { has_escapes } => {
                    if let Some(step) = self.within_quotes(has_escapes) {
                        return step;
                    }
                }
                State::Closed => {
                    let spaces = rest.iter().take_while(|byte| self.dialect.is_padding(**byte)).count();
                    let at = self.at + spaces;
                    self.is_padded |= spaces > 0;
                    match &row[at..] {
                        [] | [b'\r'] if !self.at_end => return Step::More,
                        [] => return Step::Row(at),
                        [b'\r'] => return Step::Row(at + 1),
                        [byte, ..] if *byte == self.dialect.line_end => return Step::Row(at + 1),
                        [b'\r', byte, ..] if *byte == self.dialect.line_end => return Step::Row(at + 2),
                        [byte, ..] if *byte == self.dialect.delimiter => {
                            self.at = at + 1;
                            self.state = State::Begin;
                        }
                        // A quote that was opened in an earlier line has probably met the opening quote of another cell.
                        _ if memchr(self.dialect.line_end, &row[self.opened..at]).is_some() => {
                            return Step::Flaw(self.opened, UNCLOSED);
                        }
                        _ => return Step::Flaw(at, AFTER_QUOTE),
                    }
                }
            }
        }
    }

    /// Reads on within quotes. `None` if the cell goes on, or has been closed.
    fn within_quotes(&mut self, has_escapes: bool) -> Option<Step> {
        let row = &self.buffer[self.start..];
        let quote = self.dialect.quote?;
        let escape = self.dialect.escape.unwrap_or(quote);
        let Some(next) = memchr2(quote, escape, &row[self.at..]) else {
            self.at = row.len();
            return Some(if self.at_end {
                Step::Flaw(self.opened, UNCLOSED)
            } else {
                Step::More
            });
        };
        let at = self.at + next;
        match row.get(at + 1) {
            None if !self.at_end => {
                self.at = at;
                return Some(Step::More);
            }
            Some(byte) if *byte == quote || row[at] != quote && *byte == escape => {
                self.state = State::Quoted { has_escapes: true };
                self.at = at + 2;
            }
            _ if row[at] == quote => {
                let content = self.opened + 1..at;
                self.at = at + 1;
                self.state = State::Closed;
                self.push_quoted(content, has_escapes);
            }
            _ => self.at = at + 1,
        }
        None
    }

    fn push_quoted(&mut self, content: Range<usize>, has_escapes: bool) {
        let Some(quote) = self.dialect.quote.filter(|_| has_escapes) else {
            self.cells.push(Cell {
                range: content,
                is_quoted: true,
                is_unescaped: false,
            });
            return;
        };
        let escape = self.dialect.escape.unwrap_or(quote);
        let begin = self.unescaped.len();
        let mut rest = &self.buffer[self.start..][content];
        while let Some(at) = memchr2(quote, escape, rest) {
            let is_escaped = rest.get(at + 1).is_some_and(|byte| *byte == quote || *byte == escape);
            let text = if is_escaped { at } else { at + 1 };
            self.unescaped.extend_from_slice(&rest[..text]);
            let behind = if is_escaped { at + 2 } else { at + 1 };
            if is_escaped {
                self.unescaped.push(rest[at + 1]);
            }
            rest = &rest[behind..];
        }
        self.unescaped.extend_from_slice(rest);
        self.cells.push(Cell {
            range: begin..self.unescaped.len(),
            is_quoted: true,
            is_unescaped: true,
        });
    }

    /// Adds the cell without quotes that ends here.
    fn unquoted(&mut self, end: usize) {
        self.cells.push(Cell {
            range: self.opened..end,
            is_quoted: false,
            is_unescaped: false,
        });
    }

    /// The end of a row whose last cell has no quotes: the position of its line end, and the one behind it.
    fn end(&mut self, at: usize, behind: usize) -> Step {
        let row = &self.buffer[self.start..][..at];
        let end = if row.len() > self.opened && row.ends_with(b"\r") {
            at - 1
        } else {
            at
        };
        self.unquoted(end);
        Step::Row(behind)
    }

    /// The first line end of another kind that is within a cell without quotes.
    fn other_end(&self, end: usize) -> Option<usize> {
        let other = if self.dialect.line_end == b'\n' { b'\r' } else { b'\n' };
        let is_within = |at: &usize| self.cells.iter().any(|cell| !cell.is_quoted && cell.range.contains(at));
        memchr_iter(other, &self.buffer[self.start..][..end]).find(is_within)
    }

    /// The row that ends here.
    fn row(&mut self, end: usize) -> Row<'_> {
        self.consumed = end;
        let raw = &self.buffer[self.start..][..end];
        let has_line_ends = self.cells.iter().any(|cell| cell.is_quoted);
        let lines = if has_line_ends {
            memchr_iter(self.dialect.line_end, raw).count().max(1)
        } else {
            1
        };
        self.next_line = self.line + lines as u64;
        Row {
            line: self.line,
            raw: Some(raw),
            cells: Ok(Cells {
                row: raw,
                unescaped: &self.unescaped,
                ranges: &self.cells,
            }),
            is_padded: self.is_padded,
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
