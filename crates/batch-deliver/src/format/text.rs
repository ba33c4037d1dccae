//! Lines of text that are not messages.

use std::collections::HashMap;
use std::io::{self, Cursor, Read};

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::container::{Container, START_BYTES, container};
use super::dumps::{RECEIVED, of_line};
use super::lines::BYTE_ORDER_MARK;
use crate::source::read_start;
use crate::value_names::value_names;

/// How the entries of a line format are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextFormat {
    /// The line is the content of the entry.
    Text,
    /// The line is a JSON object with the content and its other parts.
    Json,
}

value_names!(TextFormat, Text = "text", Json = "json");

const PRETTY: &str = "this is one JSON value over several lines, and each line would be sent alone: `jq -c '.[]' FILE` makes lines of an \
                      array, and `jq -c . FILE` of objects";

pub(super) const LISTING: &str = "this is a listing: `jq -c '.Contents[]' FILE`, or '.Versions[]' or '.DeleteMarkers[]', makes lines of its \
                                  objects, for --format json";

/// Names with which a listing of objects begins.
const OF_LISTING: [&[u8]; 3] = [b"\"Contents\"", b"\"Versions\"", b"\"DeleteMarkers\""];

/// The input, unless it is JSON whose lines are not entries.
pub(super) fn lines_of_text(mut input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let start = read_start(&mut input, START_BYTES, |start| {
        let is_begun = lines(start).next().is_none_or(is_begun);
        let is_first_line = start.ends_with(b"\n") && !is_begun;
        is_first_line || first_lines(start).is_some() && (!is_begun || container(start).is_some())
    })?;
    match refusal(&start) {
        Some(words) => Err(io::Error::new(io::ErrorKind::InvalidData, words)),
        None => Ok(Box::new(Cursor::new(start).chain(input))),
    }
}

/// Why the lines of an input that starts like this are not entries.
pub(crate) fn refusal(start: &[u8]) -> Option<&'static str> {
    let start = without_mark(start);
    // However much is known of the input, only this decides.
    let two = first_lines(start).unwrap_or(start);
    let mut lines = lines(two);
    let first = lines.next().unwrap_or_default();
    if container(start) == Some(Container::Messages) {
        return Some(RECEIVED);
    }
    if let Some(words) = of_line(first) {
        return Some(words);
    }
    let words = if is_listing(two) { LISTING } else { PRETTY };
    (is_begun(first) && lines.next().is_some() && goes_on(two)).then_some(words)
}

/// Whether this is an object of JSON, even one that has a member twice.
pub(super) fn is_object(text: &[u8]) -> bool {
    serde_json::from_slice::<HashMap<String, &RawValue>>(text).is_ok()
}

/// Whether this begins as S3's listings of objects do.
pub(super) fn is_listing(start: &[u8]) -> bool {
    let members = start
        .trim_ascii_start()
        .strip_prefix(b"{")
        .map(<[u8]>::trim_ascii_start);
    members.is_some_and(|members| OF_LISTING.iter().any(|name| members.starts_with(name)))
}

/// The first two lines that are not blank, with what is between; `None` if they are not complete.
fn first_lines(start: &[u8]) -> Option<&[u8]> {
    let mut ends = memchr::memchr_iter(b'\n', start).map(|end| &start[..=end]);
    ends.find(|begin| lines(begin).count() == 2)
}

/// The start without a byte order mark, which belongs to no line.
fn without_mark(start: &[u8]) -> &[u8] {
    start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start)
}

/// The lines that are not blank.
fn lines(start: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = without_mark(start).split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty())
}

/// Whether the line begins an array or an object of JSON and does not end it. `[INFO] started` does not.
fn is_begun(line: &[u8]) -> bool {
    matches!(line, [b'[' | b'{', ..]) && serde_json::from_slice::<IgnoredAny>(line).is_err_and(|error| error.is_eof())
}

/// Whether the lines together are JSON, as far as they are known.
fn goes_on(start: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(start).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Err(error)) => error.is_eof(),
        Some(Ok(_)) => true,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let mut all = String::new();
        let input = lines_of_text(Box::new(Cursor::new(text.to_owned().into_bytes())));
        let read = input.and_then(|mut input| input.read_to_string(&mut all));
        read.map(|_| all).map_err(|error| error.to_string())
    }

    #[test]
    fn pretty_json_is_refused() {
        for text in [
            "[\n  {\n    \"order\": 1\n  }\n]\n",
            "{\n  \"order\": 1\n}\n{\n  \"order\": 2\n}\n",
            "[\n{\"order\":1},\n{\"order\":2}\n]\n",
            "{ \"order\": 1,\n  \"sku\": \"a\" }",
            "\n[{\"order\": 1},\n\n {\"order\": 2}]",
            "\u{feff}[\r\n  {\r\n    \"order\": 1\r\n  }\r\n]\r\n",
        ] {
            assert_eq!(read(text), Err(PRETTY.to_owned()), "{text}");
        }
    }

    #[test]
    fn text_is_sent_as_it_is() {
        for text in [
            "",
            "\n",
            "hello\n",
            "[INFO] started\n[INFO] ended\n",
            "{\"order\":1}\n{\"order\":2}\n",
            "[1,2]\n",
            "[\n",
            "{\n",
            "[\nopening bracket\n",
            "{name} has {count}\n",
            "{\"a\": 1,\nbut not JSON\n",
            "one\n[\n  {\n",
        ] {
            assert_eq!(read(text).as_deref(), Ok(text), "{text}");
        }
    }

    #[test]
    fn messages_that_were_received_are_refused() {
        for text in [
            "{\"MessageId\":\"m\",\"ReceiptHandle\":\"r\",\"Body\":\"b\"}\n",
            "{\"Messages\":[{\"MessageId\":\"m\",\"Body\":\"b\"}]}\n",
            "{\n  \"Messages\": [\n    {\n      \"MessageId\": \"m\",\n",
            "\u{feff}{\"ReceiptHandle\":\"r\",\"Body\":\"b\"}\n",
            &format!("{{\"ReceiptHandle\":\"r\",\"Body\":\"{}\"}}\n", "b".repeat(1 << 20)),
        ] {
            assert_eq!(read(text), Err(RECEIVED.to_owned()), "{text}");
        }
    }
}
