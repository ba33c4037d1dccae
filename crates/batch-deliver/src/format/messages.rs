//! Messages of a queue, one on each line.

use std::collections::BTreeMap;
use std::io::{self, Read};

use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::attribute::{Attribute, Value, attributes, text, unreadable, utf8};
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
            Box::new(OnePerLine::objects(input, JsonMessage, self.keeps_text))
        } else {
            Box::new(OnePerLine::new(input, Text, self.keeps_text))
        })
    }
}

/// The line is the body.
struct Text;

impl Parse<SendMessageBatchRequestEntry> for Text {
    fn parse(&mut self, line: &[u8]) -> Result<SendMessageBatchRequestEntry, Flaw> {
        built(SendMessageBatchRequestEntry::builder().message_body(utf8(line)?))
    }
}

/// The line is a JSON object with the body and its other parts.
struct JsonMessage;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<'a> {
    #[serde(borrow)]
    body: &'a RawValue,
    #[serde(default, borrow)]
    attributes: BTreeMap<String, &'a RawValue>,
    group_id: Option<String>,
    dedup_id: Option<String>,
    delay: Option<i32>,
}

impl Parse<SendMessageBatchRequestEntry> for JsonMessage {
    fn parse(&mut self, line: &[u8]) -> Result<SendMessageBatchRequestEntry, Flaw> {
        let read = serde_json::from_slice(line);
        let fields: Fields<'_> = read.map_err(|error| unreadable(&error, line, DATA, SYNTAX))?;
        let message = SendMessageBatchRequestEntry::builder()
            .message_body(text(fields.body)?)
            .set_message_attributes(attributes(fields.attributes, attribute)?)
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

fn attribute(Attribute { kind, value }: Attribute) -> Result<MessageAttributeValue, BuildError> {
    let attribute = MessageAttributeValue::builder().data_type(kind);
    match value {
        Value::Text(text) => attribute.string_value(text),
        Value::Binary(bytes) => attribute.binary_value(Blob::new(bytes)),
    }
    .build()
}

const DATA: &str = "a message is a JSON object with `body` and optionally `attributes`, `group_id`, `dedup_id` and `delay` (seconds): \
                    if each line is the text of a message, use --format text";

const SYNTAX: &str = "this is not JSON: if each line is the text of a message, use --format text";

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
