//! The formats of inputs, one in each file.

mod answer;
mod attribute;
pub(crate) mod csv;
mod envelope;
pub(crate) mod group;
pub(crate) mod items;
pub(crate) mod json;
pub(crate) mod messages;
mod path;
#[cfg(feature = "put")]
pub(crate) mod put;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod typed;

use std::io::{self, Cursor, Read};

use self::answer::{Answer, answer, look};
use crate::flaw::Flaw;
use crate::input::{Document, Line, Lines, Members};

/// A record of an input, as it is read.
pub(crate) struct Reading<E> {
    /// Its line, from 1; the first one if it has several.
    pub(crate) line: u64,
    /// The text that it is read from, if dead letters are to repeat it.
    pub(crate) text: Option<Box<[u8]>>,
    /// The entry, or what is wrong with it; `None` if it was skipped.
    pub(crate) entry: Option<Result<E, Flaw>>,
}

impl<E> Reading<E> {
    fn skipped(line: u64) -> Self {
        Self {
            line,
            text: None,
            entry: None,
        }
    }
}

/// The records of one input.
pub(crate) trait Source<E>: Send {
    /// The next record. A record that is not wanted is skipped without being parsed.
    fn next(&mut self, is_wanted: bool) -> io::Result<Option<Reading<E>>>;

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
    fn open(&self, input: Box<dyn Read + Send>, name: &str) -> io::Result<Box<dyn Source<E>>>;

    /// The records of a part of an input that can be cut.
    fn open_part(&self, part: Box<dyn Read + Send>, name: &str) -> io::Result<Box<dyn Source<E>>> {
        self.open(part, name)
    }

    /// Whether the input with this name and these first bytes has exactly one record on each line.
    fn can_be_cut(&self, _start: &[u8], _name: &str) -> bool {
        true
    }
}

/// Makes an entry from a line.
pub(crate) trait Parse<E>: Send {
    fn parse(&mut self, line: &[u8]) -> Result<E, Flaw>;
}

/// Records of one line each, or of a part of one, or of a list in a document.
pub(crate) struct OnePerLine<P> {
    texts: Texts,
    parse: P,
    keeps_text: bool,
}

enum Texts {
    Lines(Lines<Box<dyn Read + Send>>),
    Document(Document<Box<dyn Read + Send>>),
}

impl<P> OnePerLine<P> {
    pub(crate) fn new(input: Box<dyn Read + Send>, parse: P, keeps_text: bool) -> Self {
        Self {
            texts: Texts::Lines(Lines::new(input)),
            parse,
            keeps_text,
        }
    }

    /// Records that are JSON objects. A line may have several, and an input may be an answer of a service that has them.
    pub(crate) fn objects(
        mut input: Box<dyn Read + Send>,
        members: impl Fn(Answer) -> Option<Members>,
        parse: P,
        keeps_text: bool,
    ) -> io::Result<Self> {
        let start = look(&mut input, |start| answer(start).is_some())?;
        let members = answer(&start).and_then(members);
        let whole: Box<dyn Read + Send> = Box::new(Cursor::new(start).chain(input));
        Ok(Self {
            texts: match members {
                Some(members) => Texts::Document(Document::new(whole, members)),
                None => Texts::Lines(Lines::of_objects(whole)),
            },
            parse,
            keeps_text,
        })
    }
}

impl Texts {
    fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Document(document) => document.next(),
        }
    }
}

impl<E, P: Parse<E>> Source<E> for OnePerLine<P> {
    fn next(&mut self, is_wanted: bool) -> io::Result<Option<Reading<E>>> {
        let has_columns = matches!(self.texts, Texts::Lines(_));
        let Some(line) = self.texts.next()? else {
            return Ok(None);
        };
        if !is_wanted {
            return Ok(Some(Reading::skipped(line.number)));
        }
        let text = line.text.as_ref().ok().filter(|_| self.keeps_text);
        let text = text.map(|text| Box::from(*text));
        let entry = line.text.and_then(|text| self.parse.parse(text));
        let entry = entry.map_err(|flaw| {
            if has_columns {
                flaw.behind(line.before)
            } else {
                // The object may extend over several lines.
                Flaw { column: None, ..flaw }
            }
        });
        Ok(Some(Reading {
            line: line.number,
            text,
            entry: Some(entry),
        }))
    }

    fn is_ready(&self) -> bool {
        match &self.texts {
            Texts::Lines(lines) => lines.is_ready(),
            Texts::Document(document) => document.is_ready(),
        }
    }
}
