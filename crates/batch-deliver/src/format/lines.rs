//! The lines of an input.

use std::io::{self, Read};

use crate::source::Flaw;

/// Bytes that are read at once.
const BLOCK: usize = 64 << 10;

/// The largest line, in bytes. The largest message has 1 MiB, and each of its bytes takes at most six in JSON.
pub(crate) const LONGEST_LINE: usize = 8 << 20;

/// U+FEFF in UTF-8: some editors write it at the start of a file.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads line by line, without blank lines and line ends.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// The part of the buffer that was returned.
    start: usize,
    /// The part of the buffer that was searched and has no line end.
    searched: usize,
    /// The number of the last line, from 1.
    number: u64,
    /// Characters of the line before the next text, if the line is not complete.
    within: Option<u64>,
    /// Whether objects that are joined on one line are texts of their own.
    splits_objects: bool,
    /// Bytes without a line end after which objects are looked for in them.
    search_after: usize,
    at_end: bool,
    longest: usize,
}

/// One line and its number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) number: u64,
    /// Characters of the line before the text.
    pub(crate) before: u64,
    pub(crate) text: Result<&'a [u8], Flaw>,
}

/// A text in the buffer.
struct Range {
    from: usize,
    to: usize,
    /// Whether the line ends behind it.
    ends_line: bool,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            number: 0,
            within: None,
            splits_objects: false,
            search_after: 0,
            at_end: false,
            longest: LONGEST_LINE,
        }
    }

    /// Reads JSON objects that are joined on one line, as Firehose joins its records, as texts of their own.
    pub(crate) fn of_objects(input: R) -> Self {
        Self {
            splits_objects: true,
            ..Self::new(input)
        }
    }

    /// The next line that is not blank. No more of it than the limit is held in memory.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let Some(Range { from, to, ends_line }) = self.next_range()? else {
                return Ok(None);
            };
            let before = self.within.take().unwrap_or_else(|| {
                self.number += 1;
                0
            });
            if to - from > self.longest {
                let text = Err(Flaw::new(format!(
                    "the line has more than {} MiB: write one entry on each line",
                    self.longest >> 20
                )));
                if !ends_line {
                    self.skip_line()?;
                }
                return Ok(Some(Line {
                    number: self.number,
                    before,
                    text,
                }));
            }
            let text = &self.buffer[from..to];
            let text = if ends_line || self.start == self.buffer.len() {
                text.strip_suffix(b"\r").unwrap_or(text)
            } else {
                self.within = Some(before + String::from_utf8_lossy(text).chars().count() as u64);
                text.trim_ascii_end()
            };
            if !text.trim_ascii().is_empty() {
                let to = from + text.len();
                return Ok(Some(Line {
                    number: self.number,
                    before,
                    text: Ok(&self.buffer[from..to]),
                }));
            }
        }
    }

    /// Whether the next line can be read without waiting for the input.
    pub(crate) fn is_ready(&self) -> bool {
        self.at_end
            || memchr::memchr(b'\n', &self.buffer[self.searched..]).is_some()
            || self.within.is_some() && first_of_joined(&self.buffer[self.start..]).is_some()
    }

    /// The next line, as a range of the buffer. A line that is too long is returned as soon as that is known.
    fn next_range(&mut self) -> io::Result<Option<Range>> {
        loop {
            let line_end = memchr::memchr(b'\n', &self.buffer[self.searched..]).map(|end| self.searched + end);
            let from = self.start;
            let to = line_end.unwrap_or(self.buffer.len());
            let is_whole = line_end.is_some() || self.at_end;
            if self.splits_objects && (is_whole || to - from > self.longest.min(self.search_after)) {
                if let Some(end) = first_of_joined(&self.buffer[from..to]) {
                    self.start = from + end;
                    self.searched = to;
                    self.search_after = 0;
                    return Ok(Some(Range {
                        from,
                        to: from + end,
                        ends_line: false,
                    }));
                }
                // A long object is not looked through for each of its blocks.
                self.search_after = if is_whole { 0 } else { (to - from) * 2 };
            }
            let range = Range {
                from,
                to,
                ends_line: line_end.is_some(),
            };
            if let Some(end) = line_end {
                self.start = end + 1;
                self.searched = self.start;
                return Ok(Some(range));
            }
            self.searched = to;
            if to - from > self.longest {
                return Ok(Some(range));
            }
            if self.at_end {
                self.start = to;
                return Ok((from < to).then_some(range));
            }
            self.fill()?;
        }
    }

    /// Reads one more block.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.at_end = append_block(&mut self.input, &mut self.buffer)? == 0;
        Ok(())
    }

    /// Skips the rest of a line that is too long.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let end = memchr::memchr(b'\n', &self.buffer[self.searched..]);
            self.searched = end.map_or(self.buffer.len(), |end| self.searched + end + 1);
            self.start = self.searched;
            if end.is_some() || self.at_end {
                return Ok(());
            }
            self.fill()?;
        }
    }
}

/// Appends what is read at once to the buffer. Returns how many bytes, 0 at the end of the input.
pub(crate) fn append_block(input: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let length = buffer.len();
    buffer.resize(length + BLOCK, 0);
    let read = loop {
        match input.read(&mut buffer[length..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    buffer.truncate(length + *read.as_ref().unwrap_or(&0));
    read
}

/// Where the second object of a line begins, if the first one ends before it.
///
/// Only braces and quotes are looked at, so that the line has the same number of objects whether they are parsed or not, and
/// whatever else is wrong with one of them.
fn first_of_joined(line: &[u8]) -> Option<usize> {
    if !may_be_joined(line) {
        return None;
    }
    let mut depth = 0_u64;
    let mut at = memchr::memchr(b'{', line)?;
    loop {
        at += memchr::memchr3(b'"', b'{', b'}', &line[at..])?;
        match line[at] {
            b'"' => at = end_of_text(line, at + 1)?,
            b'{' => {
                depth += 1;
                at += 1;
            }
            _ => {
                depth = depth.saturating_sub(1);
                at += 1;
                if depth == 0 {
                    let rest = line[at..].trim_ascii_start();
                    return rest.starts_with(b"{").then(|| line.len() - rest.len());
                }
            }
        }
    }
}

/// Whether a brace opens directly behind one that closes. In one object this is possible only inside of a text.
fn may_be_joined(line: &[u8]) -> bool {
    memchr::memchr_iter(b'}', line).any(|end| line[end + 1..].trim_ascii_start().starts_with(b"{"))
}

/// The position behind the closing quote.
fn end_of_text(line: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', line.get(at..)?)?;
        if line[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns these numbers of bytes at a time, in turn.
    struct ChoppedReader<'a>(&'a [u8], Vec<usize>, usize);

    impl Read for ChoppedReader<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size = self.1[self.2 % self.1.len()].min(self.0.len()).min(buffer.len());
            self.2 += 1;
            buffer[..size].copy_from_slice(&self.0[..size]);
            self.0 = &self.0[size..];
            Ok(size)
        }
    }

    fn all(input: impl Read, longest: usize) -> Vec<(u64, Option<Vec<u8>>)> {
        read(Lines::new(input), longest)
    }

    fn read(mut lines: Lines<impl Read>, longest: usize) -> Vec<(u64, Option<Vec<u8>>)> {
        lines.longest = longest;
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.number, line.text.ok().map(<[u8]>::to_vec)));
        }
        all
    }

    /// The same with the standard library.
    fn expected(text: &[u8], longest: usize) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        let numbered = (1..).zip(lines);
        let shown = numbered.filter_map(|(number, line)| {
            if line.len() > longest {
                return Some((number, None));
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            (!line.trim_ascii().is_empty()).then(|| (number, Some(line.to_vec())))
        });
        shown.collect()
    }

    proptest! {
        #[test]
        fn the_lines_do_not_depend_on_the_pieces_of_the_input(
            text in "[ab \r\n]{0,60}",
            sizes in prop::collection::vec(1_usize..9, 1..6),
            longest in 3_usize..12,
        ) {
            let read = all(ChoppedReader(text.as_bytes(), sizes, 0), longest);
            prop_assert_eq!(read, expected(text.as_bytes(), longest));
        }
    }

    proptest! {
        #[test]
        fn objects_that_are_joined_are_the_same_as_on_lines_of_their_own(
            objects in prop::collection::vec((r#"\{"a":("[}{ ]*"|\{\}|\{"\\"":1\})\}"#, "[ \r]{0,3}", any::<bool>()), 1..8),
            sizes in prop::collection::vec(1_usize..9, 1..6),
        ) {
            let mut joined = String::new();
            let mut expected = Vec::new();
            let mut number = 1;
            for (object, space, ends_line) in &objects {
                joined += object;
                joined += space;
                expected.push((number, object.clone()));
                if *ends_line {
                    joined.push('\n');
                    number += 1;
                }
            }
            let read = read(Lines::of_objects(ChoppedReader(joined.as_bytes(), sizes, 0)), 99);
            let texts = read.into_iter().map(|(number, text)| {
                (number, String::from_utf8(text.unwrap()).unwrap().trim_end().to_owned())
            });
            prop_assert_eq!(texts.collect::<Vec<_>>(), expected);
        }

        #[test]
        fn joined_objects_do_not_depend_on_the_pieces_of_the_input(
            text in r#"[{}{}" a\\\n]{0,60}"#,
            sizes in prop::collection::vec(1_usize..9, 1..6),
            longest in 3_usize..12,
        ) {
            let whole = read(Lines::of_objects(text.as_bytes()), longest);
            prop_assert_eq!(read(Lines::of_objects(ChoppedReader(text.as_bytes(), sizes, 0)), longest), whole);
        }
    }

    #[test]
    fn a_flaw_hides_no_object_behind_it_and_a_quote_that_stays_open_hides_its_line_only() {
        let lines = read(Lines::of_objects(&b"{\"a\":oops}{}\n{\"a}{}\n{} {}"[..]), 99);
        let expected = [(1, "{\"a\":oops}"), (1, "{}"), (2, "{\"a}{}"), (3, "{}"), (3, "{}")];
        assert_eq!(lines, expected.map(|(line, text)| (line, Some(text.into()))));
    }

    #[test]
    fn blank_lines_and_windows_line_ends_are_removed() {
        let lines = all(&b"a\r\n\r\n  \nb"[..], 99);
        assert_eq!(lines, [(1, Some(b"a".to_vec())), (4, Some(b"b".to_vec()))]);
    }

    #[test]
    fn a_line_is_ready_when_all_of_it_is_in_the_buffer() {
        let mut lines = Lines::new(ChoppedReader(b"a\nb\nc\n", vec![4, 2], 0));
        assert!(!lines.is_ready());
        lines.next().unwrap();
        assert!(lines.is_ready());
        lines.next().unwrap();
        assert!(!lines.is_ready());
    }
}
