//! Records of one line each.

use std::io::{self, Cursor, Read};

use super::container::{Container, START_BYTES, container, read_first_line};
use super::document::{Document, Members};
use super::lines::{Line, Lines};
use super::text::{lines_of_text, refusal};
use crate::source::{Flaw, Format, Record, Records, read_start};

/// Makes an entry from a line.
pub(crate) trait LineParser<E>: Send {
    fn parse(&mut self, line: &[u8]) -> Result<E, Flaw>;
}

/// Records of one line each, or of a part of one, or of a list in a document.
pub(crate) struct LineRecords<P> {
    texts: LineSource,
    parse: P,
    keeps_text: bool,
}

enum LineSource {
    Lines(Lines<Box<dyn Read + Send>>),
    Document(Document<Box<dyn Read + Send>>),
}

impl<P> LineRecords<P> {
    pub(crate) fn new(input: Box<dyn Read + Send>, parse: P, keeps_text: bool) -> Self {
        Self {
            texts: LineSource::Lines(Lines::new(input)),
            parse,
            keeps_text,
        }
    }

    /// Records that are JSON objects. A line may have several, and an input may be an answer of a service that has them. An object with a
    /// member of an entry is one.
    pub(crate) fn objects(
        mut input: Box<dyn Read + Send>,
        members: impl Fn(Container) -> Option<Members>,
        is_of_entry: impl Fn(&str) -> bool,
        parse: P,
        keeps_text: bool,
    ) -> io::Result<Self> {
        let mut start = read_start(&mut input, START_BYTES, |start| container(start).is_some())?;
        let mut found = container(&start);
        if let Some(answer) = found.filter(|found| *found != Container::Lines) {
            // What is behind the list distinguishes an answer from an entry that has such a list.
            read_first_line(&mut input, &mut start)?;
            if answer.is_within_entry(&start, is_of_entry) {
                found = Some(Container::Lines);
            }
        }
        let members = found.and_then(members);
        let whole: Box<dyn Read + Send> = Box::new(Cursor::new(start).chain(input));
        Ok(Self {
            texts: match members {
                Some(members) => LineSource::Document(Document::new(whole, members)),
                None => LineSource::Lines(Lines::of_objects(whole)),
            },
            parse,
            keeps_text,
        })
    }
}

impl LineSource {
    fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Document(document) => document.next(),
        }
    }
}

impl<E, P: LineParser<E>> Records<E> for LineRecords<P> {
    fn next(&mut self, is_wanted: bool) -> io::Result<Option<Record<E>>> {
        let has_columns = matches!(self.texts, LineSource::Lines(_));
        let Some(line) = self.texts.next()? else {
            return Ok(None);
        };
        if !is_wanted {
            return Ok(Some(Record::skipped(line.number)));
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
        Ok(Some(Record {
            line: line.number,
            text,
            entry: Some(entry),
        }))
    }

    fn is_ready(&self) -> bool {
        match &self.texts {
            LineSource::Lines(lines) => lines.is_ready(),
            LineSource::Document(document) => document.is_ready(),
        }
    }
}

/// A parser that makes an entry from each line.
pub(crate) struct LineFormat<P> {
    pub(crate) parse: P,
    pub(crate) keeps_text: bool,
}

impl<E, P> Format<E> for LineFormat<P>
where
    P: LineParser<E> + Clone + Sync + 'static,
{
    fn open(&self, input: Box<dyn Read + Send>, _: &str) -> io::Result<Box<dyn Records<E>>> {
        self.open_part(lines_of_text(input)?, "")
    }

    fn open_part(&self, part: Box<dyn Read + Send>, _: &str) -> io::Result<Box<dyn Records<E>>> {
        Ok(Box::new(LineRecords::new(part, self.parse.clone(), self.keeps_text)))
    }

    fn can_be_cut(&self, start: &[u8], _: &str) -> bool {
        refusal(start).is_none()
    }
}
