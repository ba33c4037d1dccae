//! Messages of a queue, one a line.

use std::collections::HashMap;
use std::io::{self, Read};

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Format, OnePerLine, Parse, Source};
use crate::flaw::Flaw;

/// Messages, each a line of text or a JSON object.
pub(crate) struct Messages {
    pub(crate) is_json: bool,
    pub(crate) keeps_text: bool,
}

impl Format<SendMessageBatchRequestEntry> for Messages {
    fn open(&self, input: Box<dyn Read + Send>, _: &str) -> io::Result<Box<dyn Source<SendMessageBatchRequestEntry>>> {
        Ok(if self.is_json {
            Box::new(OnePerLine::new(input, JsonMessage, self.keeps_text))
        } else {
            Box::new(OnePerLine::new(input, Text, self.keeps_text))
        })
    }
}

/// The line is the body.
struct Text;

impl Parse<SendMessageBatchRequestEntry> for Text {
    fn parse(&mut self, line: &[u8]) -> Result<SendMessageBatchRequestEntry, Flaw> {
        let body =
            str::from_utf8(line).map_err(|error| Flaw::new("this is not UTF-8 text").at(line, error.valid_up_to()))?;
        built(SendMessageBatchRequestEntry::builder().message_body(body))
    }
}

/// The line has the body, and what goes with it.
struct JsonMessage;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<'a> {
    #[serde(borrow)]
    body: &'a RawValue,
    #[serde(default, borrow)]
    attributes: HashMap<String, &'a RawValue>,
    group_id: Option<String>,
    dedup_id: Option<String>,
    delay: Option<i32>,
}

/// An attribute that says its type.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedAttribute {
    r#type: String,
    value: String,
}

impl Parse<SendMessageBatchRequestEntry> for JsonMessage {
    fn parse(&mut self, line: &[u8]) -> Result<SendMessageBatchRequestEntry, Flaw> {
        let fields: Fields<'_> = serde_json::from_slice(line).map_err(|error| unreadable(&error, line))?;
        let attributes = fields.attributes.into_iter();
        let attributes: HashMap<_, _> = attributes
            .map(|(name, value)| Ok((name, attribute(value)?)))
            .collect::<Result<_, Flaw>>()?;
        let message = SendMessageBatchRequestEntry::builder()
            .message_body(text(fields.body)?)
            .set_message_attributes(Some(attributes).filter(|attributes| !attributes.is_empty()))
            .set_message_group_id(fields.group_id)
            .set_message_deduplication_id(fields.dedup_id)
            .set_delay_seconds(fields.delay);
        built(message)
    }
}

fn built(
    message: aws_sdk_sqs::types::builders::SendMessageBatchRequestEntryBuilder,
) -> Result<SendMessageBatchRequestEntry, Flaw> {
    message.id("").build().map_err(|_| Flaw::new("a message needs a body"))
}

/// A JSON string as its text, and all else as the JSON that it is.
fn text(value: &RawValue) -> Result<String, Flaw> {
    match value.get() {
        text if text.starts_with('"') => serde_json::from_str(text).map_err(|_| Flaw::new("a string cannot be read")),
        json => Ok(json.to_owned()),
    }
}

fn attribute(value: &RawValue) -> Result<MessageAttributeValue, Flaw> {
    let advice = || Flaw::new("an attribute is a string, a number, or {\"type\":\"Binary\",\"value\":\"…base64…\"}");
    let (kind, text) = match value.get().as_bytes().first() {
        Some(b'"') => ("String".to_owned(), text(value)?),
        Some(b'-' | b'0'..=b'9') => ("Number".to_owned(), value.get().to_owned()),
        _ => {
            let typed: TypedAttribute = serde_json::from_str(value.get()).map_err(|_| advice())?;
            (typed.r#type, typed.value)
        }
    };
    let attribute = MessageAttributeValue::builder();
    let attribute = if kind.starts_with("Binary") {
        let bytes = BASE64_STANDARD
            .decode(text)
            .map_err(|_| Flaw::new("a binary attribute is not base64"))?;
        attribute.binary_value(Blob::new(bytes))
    } else {
        attribute.string_value(text)
    };
    attribute.data_type(kind).build().map_err(|_| advice())
}

fn unreadable(error: &serde_json::Error, line: &[u8]) -> Flaw {
    let mut flaw = match error.classify() {
        // What is wrong with the data may quote it.
        serde_json::error::Category::Data => Flaw::new(
            "a message is a JSON object with `body` and maybe `attributes`, `group_id`, `dedup_id` and `delay` (seconds): \
             for a message a line of any text, use --format text",
        ),
        _ => Flaw::new("this is not JSON: for a message a line of any text, use --format text"),
    };
    if error.column() > 0 {
        flaw = flaw.at(line, error.column() - 1);
    }
    flaw
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<SendMessageBatchRequestEntry, Flaw> {
        JsonMessage.parse(line.as_bytes())
    }

    #[test]
    fn a_line_of_text_is_the_body() {
        let message = Text.parse("größe {\"a\":1}".as_bytes()).unwrap();
        assert_eq!(message.message_body(), "größe {\"a\":1}");
        assert_eq!(Text.parse(b"ab\xFFc").unwrap_err().column, Some(3));
    }

    #[test]
    fn a_json_line_has_what_goes_with_the_body() {
        let line = r#"{"body":"a\nb","group_id":"g","dedup_id":"d","delay":5,
            "attributes":{"s":"x","n":1.50,"b":{"type":"Binary","value":"AAE="},"t":{"type":"String.url","value":"u"}}}"#;
        let message = read(line).unwrap();
        assert_eq!(message.message_body(), "a\nb");
        assert_eq!(
            (message.message_group_id(), message.message_deduplication_id()),
            (Some("g"), Some("d"))
        );
        assert_eq!(message.delay_seconds(), Some(5));
        let attributes = message.message_attributes().unwrap();
        let of = |name: &str| (attributes[name].data_type(), attributes[name].string_value());
        assert_eq!(of("s"), ("String", Some("x")));
        assert_eq!(of("n"), ("Number", Some("1.50")));
        assert_eq!(of("t"), ("String.url", Some("u")));
        assert_eq!(attributes["b"].binary_value().unwrap().as_ref(), [0, 1]);
    }

    #[test]
    fn a_body_that_is_no_string_is_sent_as_the_json_that_it_is() {
        assert_eq!(
            read(r#"{"body":{"id": 1.0}}"#).unwrap().message_body(),
            r#"{"id": 1.0}"#
        );
    }

    #[test]
    fn a_flaw_says_what_to_do_and_does_not_quote() {
        for line in [
            r#"{"text":"secret"}"#,
            r#"{"body":"a","delay":"secret"}"#,
            "secret",
            "[1]",
        ] {
            let flaw = read(line).unwrap_err().to_string();
            assert!(flaw.contains("--format text") && !flaw.contains("secret"), "{flaw}");
        }
    }
}
