//! Scans one row: where its cells are, and where it ends.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2, memchr3};

use super::dialect::Dialect;

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

/// What is at the position that is read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellState {
    /// The first byte of a cell, or spaces before its quote.
    Begin,
    Unquoted,
    Quoted {
        has_escapes: bool,
    },
    /// What follows the closing quote.
    Closed,
}

/// How far a row was scanned, and the cells that were found.
pub(super) struct Scan {
    dialect: Dialect,
    /// The position that is read next, from the beginning of the row.
    at: usize,
    /// Where the cell begins; the opening quote of a quoted one.
    opened: usize,
    state: CellState,
    cells: Vec<Cell>,
    unescaped: Vec<u8>,
    /// Whether there are spaces around a quoted cell.
    pub(super) is_padded: bool,
}

/// How far a row was read.
pub(super) enum Step {
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

impl Scan {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            at: 0,
            opened: 0,
            state: CellState::Begin,
            cells: Vec::new(),
            unescaped: Vec::new(),
            is_padded: false,
        }
    }

    /// Begins with the next row.
    pub(super) fn begin(&mut self) {
        self.at = 0;
        self.opened = 0;
        self.state = CellState::Begin;
        self.cells.clear();
        self.unescaped.clear();
        self.is_padded = false;
    }

    /// Where the quote opens that is not closed yet.
    pub(super) fn open_quote(&self) -> Option<usize> {
        matches!(self.state, CellState::Quoted { .. }).then_some(self.opened)
    }

    /// Whether a cell is quoted, and so may have line ends.
    pub(super) fn has_quotes(&self) -> bool {
        self.cells.iter().any(|cell| cell.is_quoted)
    }

    /// The cells of this row.
    pub(super) fn cells<'a>(&'a self, row: &'a [u8]) -> Cells<'a> {
        Cells {
            row,
            unescaped: &self.unescaped,
            ranges: &self.cells,
        }
    }

    /// Whether there is nothing in the row, or only spaces where that is not the only cell of a row.
    pub(super) fn is_blank(&self, row: &[u8], spaces_are_a_row: bool) -> bool {
        let [cell] = &self.cells[..] else { return false };
        !cell.is_quoted && (row[cell.range.clone()].is_empty() || !spaces_are_a_row && row.trim_ascii().is_empty())
    }

    /// Reads on, as far as these bytes go, which begin with the row.
    pub(super) fn step(&mut self, row: &[u8], at_end: bool) -> Step {
        loop {
            let rest = &row[self.at..];
            match self.state {
                CellState::Begin => {
                    let spaces = rest.iter().take_while(|byte| self.dialect.is_padding(**byte)).count();
                    match rest.get(spaces) {
                        None if !at_end => return Step::More,
                        // Without a byte there is no row; behind a delimiter there is an empty cell.
                        None if self.at + spaces == 0 => return Step::More,
                        Some(byte) if Some(*byte) == self.dialect.quote => {
                            self.is_padded |= spaces > 0;
                            self.opened = self.at + spaces;
                            self.at = self.opened + 1;
                            self.state = CellState::Quoted { has_escapes: false };
                        }
                        _ => {
                            self.opened = self.at;
                            self.state = CellState::Unquoted;
                        }
                    }
                }
                CellState::Unquoted => {
                    let Dialect {
                        delimiter, line_end, ..
                    } = self.dialect;
                    let next = match self.dialect.quote.filter(|_| !self.dialect.has_quotes_as_text()) {
                        Some(quote) => memchr3(delimiter, line_end, quote, rest),
                        None => memchr2(delimiter, line_end, rest),
                    };
                    let Some(next) = next else {
                        self.at = row.len();
                        if !at_end {
                            return Step::More;
                        }
                        let end = self.at;
                        return self.end(row, end, end);
                    };
                    let at = self.at + next;
                    match row[at] {
                        byte if byte == line_end => return self.end(row, at, at + 1),
                        byte if byte == delimiter => {
                            self.unquoted(at);
                            self.at = at + 1;
                            self.state = CellState::Begin;
                        }
                        _ => return Step::Flaw(at, WITHIN),
                    }
                }
                CellState::Quoted { has_escapes } => {
                    if let Some(step) = self.within_quotes(row, at_end, has_escapes) {
                        return step;
                    }
                }
                CellState::Closed => {
                    let spaces = rest.iter().take_while(|byte| self.dialect.is_padding(**byte)).count();
                    let at = self.at + spaces;
                    self.is_padded |= spaces > 0;
                    match &row[at..] {
                        [] | [b'\r'] if !at_end => return Step::More,
                        [] => return Step::Row(at),
                        [b'\r'] => return Step::Row(at + 1),
                        [byte, ..] if *byte == self.dialect.line_end => return Step::Row(at + 1),
                        [b'\r', byte, ..] if *byte == self.dialect.line_end => return Step::Row(at + 2),
                        [byte, ..] if *byte == self.dialect.delimiter => {
                            self.at = at + 1;
                            self.state = CellState::Begin;
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

    /// Reads on within quotes. `None` if the cell continues, or has been closed.
    fn within_quotes(&mut self, row: &[u8], at_end: bool, has_escapes: bool) -> Option<Step> {
        let quote = self.dialect.quote?;
        let escape = self.dialect.escape.unwrap_or(quote);
        let Some(next) = memchr2(quote, escape, &row[self.at..]) else {
            self.at = row.len();
            return Some(if at_end {
                Step::Flaw(self.opened, UNCLOSED)
            } else {
                Step::More
            });
        };
        let at = self.at + next;
        match row.get(at + 1) {
            None if !at_end => {
                self.at = at;
                return Some(Step::More);
            }
            Some(byte) if *byte == quote || row[at] != quote && *byte == escape => {
                self.state = CellState::Quoted { has_escapes: true };
                self.at = at + 2;
            }
            _ if row[at] == quote => {
                let content = self.opened + 1..at;
                self.at = at + 1;
                self.state = CellState::Closed;
                self.push_quoted(row, content, has_escapes);
            }
            _ => self.at = at + 1,
        }
        None
    }

    fn push_quoted(&mut self, row: &[u8], content: Range<usize>, has_escapes: bool) {
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
        let mut rest = &row[content];
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
    fn end(&mut self, row: &[u8], at: usize, behind: usize) -> Step {
        let row = &row[..at];
        let end = if row.len() > self.opened && row.ends_with(b"\r") {
            at - 1
        } else {
            at
        };
        self.unquoted(end);
        Step::Row(behind)
    }

    /// The first line end of another kind that is within a cell without quotes.
    pub(super) fn other_end(&self, row: &[u8]) -> Option<usize> {
        let other = if self.dialect.line_end == b'\n' { b'\r' } else { b'\n' };
        let is_within = |at: &usize| self.cells.iter().any(|cell| !cell.is_quoted && cell.range.contains(at));
        memchr_iter(other, row).find(is_within)
    }
}
