//! JSON documents whose list has the records, on one line or over many.

use std::io::{self, BufRead, BufReader, Read};

use super::lines::{BYTE_ORDER_MARK, LONGEST_LINE, Line};
use crate::source::Flaw;

/// The most bytes of the name of a member.
const LONGEST_NAME: usize = 255;

/// Which members of a document have the records.
pub(crate) struct Members {
    pub(crate) has_records: Box<dyn Fn(&str) -> bool + Send>,
    /// Whether the member may be next to them.
    pub(crate) may_be_beside: fn(&str) -> bool,
}

/// Reads the objects of a list, and no more than one of them into memory. Documents may follow one another.
pub(crate) struct Document<R> {
    input: BufReader<R>,
    members: Members,
    state: DocumentState,
    line: u64,
    text: Vec<u8>,
    /// The name of the list.
    name: Option<String>,
}

#[derive(Clone, Copy)]
enum DocumentState {
    Outside,
    Object,
    List,
}

impl<R: Read> Document<R> {
    pub(crate) fn new(input: R, members: Members) -> Self {
        Self {
            input: BufReader::new(input),
            members,
            state: DocumentState::Outside,
            line: 1,
            text: Vec::new(),
            name: None,
        }
    }

    /// The next record, and the line on which it begins.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let next = self.next_of(b" \t\r\n,")?;
            match (self.state, next) {
                (DocumentState::Outside, None) => return Ok(None),
                (DocumentState::Outside, Some(byte)) if BYTE_ORDER_MARK.contains(&byte) => self.input.consume(1),
                (DocumentState::Outside, Some(b'{')) | (DocumentState::List, Some(b']')) => {
                    self.input.consume(1);
                    self.state = DocumentState::Object;
                }
                (DocumentState::Object, Some(b'}')) => {
                    self.input.consume(1);
                    self.state = DocumentState::Outside;
                }
                (DocumentState::Object, Some(b'"')) => self.member()?,
                (DocumentState::List, Some(byte)) if !matches!(byte, b'}' | b':') => return self.record().map(Some),
                (_, None) => {
                    return Err(self.error(io::ErrorKind::UnexpectedEof, "the document does not end: it is cut off"));
                }
                (_, Some(_)) => return Err(self.error(io::ErrorKind::InvalidData, "the document is not JSON")),
            }
        }
    }

    /// Whether there is more to read without waiting for the input.
    pub(crate) fn is_ready(&self) -> bool {
        !self.input.buffer().is_empty()
    }

    /// Reads a member up to its list, or to its end if it has no records.
    fn member(&mut self) -> io::Result<()> {
        self.value(LONGEST_NAME)?;
        let name = String::from_utf8_lossy(self.text.trim_ascii())
            .trim_matches('"')
            .to_owned();
        if self.next_of(b" \t\r\n")? != Some(b':') {
            return Err(self.error(io::ErrorKind::InvalidData, "the document is not JSON"));
        }
        self.input.consume(1);
        let is_list = self.next_of(b" \t\r\n")? == Some(b'[');
        if is_list && (self.members.has_records)(&name) {
            if self.name.as_ref().is_some_and(|other| *other != name) {
                let words =
                    "the document has lists for several tables: `jq -c '.TABLE[]' FILE` makes lines of one of them";
                return Err(self.error(io::ErrorKind::InvalidData, words));
            }
            self.name = Some(name);
            self.input.consume(1);
            self.state = DocumentState::List;
            return Ok(());
        }
        if !(self.members.may_be_beside)(&name) {
            let words = if is_list {
                "there is a list of another table, or of something else: `jq -c '.TABLE[]' FILE` makes lines of one list"
            } else {
                "next to the list there is a member that no answer of the service has: if each line is an item, use --format json"
            };
            return Err(self.error(io::ErrorKind::InvalidData, words));
        }
        self.value(0).map(drop)
    }

    fn record(&mut self) -> io::Result<Line<'_>> {
        let number = self.line;
        let is_short = self.value(LONGEST_LINE)?;
        let text = if is_short {
            Ok(&self.text[..])
        } else {
            Err(Flaw::new(format!(
                "the object has more than {} MiB",
                LONGEST_LINE >> 20
            )))
        };
        Ok(Line {
            number,
            before: 0,
            text,
        })
    }

    /// Reads a value on one line, as far as it has no more bytes than this. Returns whether it has not.
    fn value(&mut self, longest: usize) -> io::Result<bool> {
        self.text.clear();
        let mut bytes = 0_usize;
        let mut depth = 0_u64;
        let (mut is_text, mut is_escaped) = (false, false);
        loop {
            let Some(byte) = self.peek()? else {
                return Err(self.error(io::ErrorKind::UnexpectedEof, "the document does not end: it is cut off"));
            };
            let is_scalar_end = matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n' | b':');
            if depth == 0 && !is_text && bytes > 0 && is_scalar_end {
                return Ok(bytes <= longest);
            }
            self.input.consume(1);
            bytes += 1;
            if byte == b'\n' {
                self.line += 1;
            }
            if bytes <= longest {
                // A dead letter has one line. In a text, a line end is a flaw, and stays one.
                self.text.push(if byte == b'\n' && !is_text { b' ' } else { byte });
            }
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_text => is_escaped = true,
                b'"' => is_text = !is_text,
                _ if is_text => continue,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if depth == 0 && !is_text {
                return Ok(bytes <= longest);
            }
        }
    }

    /// The next byte that is none of these.
    fn next_of(&mut self, skipped: &[u8]) -> io::Result<Option<u8>> {
        loop {
            match self.peek()? {
                Some(byte) if skipped.contains(&byte) => {
                    self.line += u64::from(byte == b'\n');
                    self.input.consume(1);
                }
                other => return Ok(other),
            }
        }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.input.fill_buf() {
                Ok(buffer) => return Ok(buffer.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn error(&self, kind: io::ErrorKind, words: &str) -> io::Error {
        io::Error::new(kind, format!("line {}: {words}", self.line))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn read(text: &str) -> io::Result<Vec<(u64, Value)>> {
        let members = Members {
            has_records: Box::new(|name| name == "Items"),
            may_be_beside: |name| name == "Count",
        };
        let mut document = Document::new(text.as_bytes(), members);
        let mut all = Vec::new();
        while let Some(line) = document.next()? {
            all.push((line.number, serde_json::from_slice(line.text.unwrap()).unwrap()));
        }
        Ok(all)
    }

    proptest! {
        #[test]
        fn pretty_and_compact_documents_have_the_same_records(texts in prop::collection::vec("[a\\\\\"{}\\[\\],:\n]{0,12}", 0..6)) {
            let items: Vec<Value> = texts.iter().map(|text| json!({"id": {"S": text}, "l": {"L": [{"BOOL": true}]}})).collect();
            let document = json!({"Count": {"a": [1]}, "Items": items});
            for text in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
                let twice = format!("{text}\n{text}");
                let read: Vec<_> = read(&twice).unwrap().into_iter().map(|(_, value)| value).collect();
                prop_assert_eq!(read, [items.clone(), items.clone()].concat());
                for cut in 1..text.len() {
                    prop_assert!(!text.is_char_boundary(cut) || self::read(&text[..cut]).is_err());
                }
            }
        }

        #[test]
        fn nothing_that_is_read_panics_or_hangs(text in "[{}\\[\\]\":, \nItems1\\\\]{0,40}") {
            let members = Members { has_records: Box::new(|_| true), may_be_beside: |_| true };
            let mut document = Document::new(text.as_bytes(), members);
            while let Ok(Some(_)) = document.next() {}
        }
    }

    #[test]
    fn a_record_has_the_line_on_which_it_begins() {
        let read = read("{\n \"Items\": [\n  {\n   \"id\": 1\n  },\n  {}\n ]\n}\n{\"Items\":[{}]}").unwrap();
        assert_eq!(read.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 6, 9]);
    }

    #[test]
    fn what_is_beside_the_list_is_known_or_an_error() {
        let error = read("{\"Items\":[],\n\"id\":1}").unwrap_err().to_string();
        assert!(
            error.starts_with("line 2: next to the list") && error.contains("--format json"),
            "{error}"
        );
    }
}
