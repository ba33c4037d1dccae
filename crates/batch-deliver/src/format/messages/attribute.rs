//! Attributes of messages, and other parts of JSON lines.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::source::Flaw;

/// An attribute of a message.
pub(super) struct Attribute {
    pub(super) kind: String,
    pub(super) value: Value,
}

pub(super) enum Value {
    Text(String),
    Binary(Vec<u8>),
}

/// An attribute with an explicit type, also in the words of SQS and SNS.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedValue {
    #[serde(alias = "DataType")]
    r#type: String,
    #[serde(alias = "StringValue", alias = "BinaryValue")]
    value: String,
}

/// Characters of a name that are shown.
const LONGEST_SHOWN: usize = 64;

const ADVICE: &str = "an attribute is a string, a number, or {\"type\":\"Binary\",\"value\":\"…base64…\"}";

impl Attribute {
    fn read(value: &RawValue) -> Result<Self, Flaw> {
        let (kind, text) = match value.get().as_bytes().first() {
            Some(b'"') => ("String".to_owned(), text(value)?),
            Some(b'-' | b'0'..=b'9') => ("Number".to_owned(), value.get().to_owned()),
            _ => {
                let typed: TypedValue = serde_json::from_str(value.get()).map_err(|_| Flaw::new(ADVICE))?;
                (typed.r#type, typed.value)
            }
        };
        let value = if kind.starts_with("Binary") {
            let bytes = BASE64_STANDARD.decode(text);
            Value::Binary(bytes.map_err(|_| Flaw::new("a binary attribute is not base64"))?)
        } else {
            Value::Text(text)
        };
        Ok(Self { kind, value })
    }
}

/// The attributes of a line by their names. Two with one name are an error.
#[derive(Default)]
pub(super) struct ReadAttributes<'a>(pub(super) BTreeMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for ReadAttributes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self::default())
    }
}

impl<'de: 'a, 'a> Visitor<'de> for ReadAttributes<'a> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut members: M) -> Result<Self, M::Error> {
        while let Some((name, value)) = members.next_entry()? {
            if self.0.insert(name, value).is_some() {
                return Err(M::Error::custom("two attributes have one name"));
            }
        }
        Ok(self)
    }
}

/// The attributes in the types of a service; `None` if there are none.
pub(super) fn attributes<A, E>(
    ReadAttributes(read): ReadAttributes<'_>,
    build: impl Fn(Attribute) -> Result<A, E>,
) -> Result<Option<HashMap<String, A>>, Flaw> {
    let attributes = read.into_iter().map(|(name, value)| {
        let read = Attribute::read(value).and_then(|attribute| build(attribute).map_err(|_| Flaw::new(ADVICE)));
        match read {
            Ok(attribute) => Ok((name, attribute)),
            Err(flaw) => Err(Flaw::new(format!(
                "the attribute {}: {}",
                shortened(&name),
                flaw.reason
            ))),
        }
    });
    let attributes = attributes.collect::<Result<HashMap<_, _>, Flaw>>()?;
    Ok(Some(attributes).filter(|attributes| !attributes.is_empty()))
}

/// The name of a member, of which no more is shown than a person reads.
pub(super) fn shortened(name: &str) -> String {
    format!("`{}`", name.chars().take(LONGEST_SHOWN).collect::<String>())
}

/// The text of a JSON string; any other value as its JSON.
pub(super) fn text(value: &RawValue) -> Result<String, Flaw> {
    match value.get() {
        text if text.starts_with('"') => serde_json::from_str(text).map_err(|_| Flaw::new("a string cannot be read")),
        json => Ok(json.to_owned()),
    }
}

/// A line of text.
pub(super) fn utf8(line: &[u8]) -> Result<&str, Flaw> {
    str::from_utf8(line).map_err(|error| Flaw::new("this is not UTF-8 text").at(line, error.valid_up_to()))
}

const ARRAY: &str = "this is a JSON array, but each line must be an object: `jq -c '.[]' FILE` makes lines of it; if each line is \
                     text, use --format text";

const OPEN: &str = "the object does not end on its line: `jq -c . FILE` makes lines of objects; if each line is text, use --format text";

/// A line that is not the JSON object that is expected.
pub(super) fn unreadable(error: &serde_json::Error, line: &[u8], data: &'static str, syntax: &'static str) -> Flaw {
    let flaw = match error.classify() {
        _ if line.trim_ascii_start().starts_with(b"[") => Flaw::new(ARRAY),
        serde_json::error::Category::Eof => Flaw::new(OPEN),
        // What is wrong with the data may quote it.
        serde_json::error::Category::Data => Flaw::new(data),
        _ => Flaw::new(syntax),
    };
    match error.column() {
        0 => flaw,
        column => flaw.at(line, column - 1),
    }
}
