//! What the records of an input are in: an answer of a service, a file of requests, or lines. It is recognized by how the input begins.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Read};

use serde_json::value::RawValue;

use super::document::Members;
use super::dynamo_json::{is_of_answer, type_of};
use super::lines::{BYTE_ORDER_MARK, LONGEST_LINE, append_block};

/// The most bytes that are looked at.
pub(super) const START_BYTES: usize = 4 << 10;

/// Names with which the messages of an answer begin.
const OF_MESSAGES: [&[u8]; 7] = [
    b"MessageId",
    b"ReceiptHandle",
    b"MD5OfBody",
    b"Body",
    b"Attributes",
    b"MessageAttributes",
    b"MD5OfMessageAttributes",
];

/// What has the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    /// `{"Items":[…],"Count":…}` of a scan or query, with typed values.
    Items,
    /// `{"table":[{"PutRequest":…}]}`
    Requests,
    /// `{"Messages":[…]}` of `ReceiveMessage`.
    Messages,
    /// Each line has its own.
    Lines,
}

impl Container {
    /// The members of a document that have the records; `None` if it is not one.
    /// Requests are those to this table, if it is known.
    pub(super) fn members(self, table: Option<&str>) -> Option<Members> {
        let table = table.map(ToOwned::to_owned);
        let has_records: Box<dyn Fn(&str) -> bool + Send> = match self {
            Self::Items => Box::new(|name| name == "Items"),
            Self::Requests => Box::new(move |name| table.as_ref().is_none_or(|table| table == name)),
            Self::Messages => Box::new(|name| name == "Messages"),
            Self::Lines => return None,
        };
        Some(Members {
            has_records,
            may_be_beside: is_of_answer,
        })
    }

    /// Whether an input that begins so is one of lines, although its first object has such a list: there is a member next to it that no
    /// answer has, or that entries have.
    pub(super) fn is_within_entry(self, start: &[u8], is_of_entry: impl Fn(&str) -> bool) -> bool {
        let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
        let mut objects = serde_json::Deserializer::from_slice(start).into_iter::<HashMap<Cow<'_, str>, &RawValue>>();
        // An object that is not complete is longer than a line may be, or extends over several.
        let Some(Ok(first)) = objects.next() else { return false };
        let first_object = start[..objects.byte_offset()].trim_ascii();
        let is_one_line = !first_object.contains(&b'\n');
        is_one_line
            && first.iter().any(|(name, value)| {
                let is_list = match self {
                    Self::Items => name == "Items",
                    Self::Messages => name == "Messages",
                    Self::Requests => value.get().starts_with('['),
                    Self::Lines => true,
                };
                is_of_entry(name) || !is_list && !is_of_answer(name)
            })
    }
}

/// Reads on to the end of the first line that is not blank, unless it is longer than a line may be.
pub(super) fn read_first_line(input: &mut impl Read, start: &mut Vec<u8>) -> io::Result<()> {
    let content = start
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())
        .unwrap_or(start.len());
    let mut searched = content;
    while memchr::memchr(b'\n', &start[searched..]).is_none() && start.len() <= LONGEST_LINE {
        searched = start.len();
        if append_block(input, start)? == 0 {
            break;
        }
    }
    Ok(())
}

/// What has the records of an input that begins so; `None` if the bytes are too few to say.
pub(super) fn container(start: &[u8]) -> Option<Container> {
    let mut start = Start(start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start));
    if !start.takes(b'{')? {
        return Some(Container::Lines);
    }
    loop {
        if start.peek()? != b'"' {
            return Some(Container::Lines);
        }
        let name = start.value()?;
        if !start.takes(b':')? {
            return Some(Container::Lines);
        }
        if start.takes(b'[')? {
            return list(name, &mut start);
        }
        if !str::from_utf8(name).is_ok_and(is_of_answer) {
            return Some(Container::Lines);
        }
        start.value()?;
        if !start.takes(b',')? {
            return Some(Container::Lines);
        }
    }
}

/// The kind of the list with this name, by its first member.
fn list(name: &[u8], start: &mut Start<'_>) -> Option<Container> {
    let of_name = match name {
        b"Items" => Container::Items,
        b"Messages" => Container::Messages,
        _ => Container::Lines,
    };
    if start.takes(b']')? {
        return Some(of_name);
    }
    if !start.takes(b'{')? || start.peek()? != b'"' {
        return Some(Container::Lines);
    }
    let first = start.value()?;
    if matches!(first, b"PutRequest" | b"DeleteRequest") {
        return Some(Container::Requests);
    }
    let is_sure = match of_name {
        Container::Items if start.takes(b':')? && start.takes(b'{')? && start.peek()? == b'"' => {
            let kind = start.value()?;
            str::from_utf8(kind).is_ok_and(|kind| type_of(kind).is_some())
        }
        Container::Messages => OF_MESSAGES.contains(&first),
        _ => false,
    };
    Some(if is_sure { of_name } else { Container::Lines })
}

/// The rest of the first bytes. `None` is their end.
struct Start<'a>(&'a [u8]);

impl<'a> Start<'a> {
    fn peek(&mut self) -> Option<u8> {
        self.0 = self.0.trim_ascii_start();
        self.0.first().copied()
    }

    fn takes(&mut self, byte: u8) -> Option<bool> {
        let is_there = self.peek()? == byte;
        if is_there {
            self.0 = &self.0[1..];
        }
        Some(is_there)
    }

    /// A value, without the quotes of a text.
    fn value(&mut self) -> Option<&'a [u8]> {
        let is_text = self.peek()? == b'"';
        let whole = self.0;
        let mut depth = 0_u64;
        loop {
            match *self.0.first()? {
                b'"' => {
                    let mut is_escaped = false;
                    let is_end = |byte: &u8| {
                        let is_end = *byte == b'"' && !is_escaped;
                        is_escaped = *byte == b'\\' && !is_escaped;
                        is_end
                    };
                    let end = self.0[1..].iter().position(is_end)?;
                    self.0 = &self.0[end + 2..];
                }
                byte => {
                    match byte {
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth = depth.checked_sub(1)?,
                        _ => {}
                    }
                    self.0 = &self.0[1..];
                }
            }
            let ends = matches!(self.0.first(), Some(b',' | b':' | b'}' | b']'));
            if depth == 0 && (is_text || ends) {
                let value = &whole[..whole.len() - self.0.len()];
                return Some(if is_text { &value[1..value.len() - 1] } else { value });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_recognized_and_items_are_not() {
        for (start, expected) in [
            (r#"{"Items":[{"id":{"S":"a"}"#, Container::Items),
            (
                "{\n  \"Count\": 1,\n  \"Items\": [\n  {\"id\" : {\"s\"",
                Container::Items,
            ),
            (r#"{"LastEvaluatedKey":{"a":{"S":"]"}},"Items":[]"#, Container::Items),
            (r#"{"table":[{"PutRequest":"#, Container::Requests),
            (r#"{"Messages":[{"MessageId":"#, Container::Messages),
            (r#"{"id":"a","Items":[{"id":{"S":"a"}}]}"#, Container::Lines),
            (r#"{"Items":[{"id":"a"}],"id":1}"#, Container::Lines),
            (r#"{"Messages":["a"],"id":1}"#, Container::Lines),
            (r#"{"id":{"S":"a"}}"#, Container::Lines),
            ("[{\"a\":1}]", Container::Lines),
            ("id,name\n", Container::Lines),
        ] {
            assert_eq!(container(start.as_bytes()), Some(expected), "{start}");
        }
        for unclear in ["", "\n", "{", r#"{"It"#, r#"{"Items":[{"id":{"#, "{\n  \"Count\": 1"] {
            assert_eq!(container(unclear.as_bytes()), None, "{unclear}");
        }
    }
}
