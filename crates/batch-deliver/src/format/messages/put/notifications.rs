//! Messages of a topic.

use aws_sdk_sns::error::BuildError;
use aws_sdk_sns::primitives::Blob;
use aws_sdk_sns::types::builders::PublishBatchRequestEntryBuilder;
use aws_sdk_sns::types::{MessageAttributeValue, PublishBatchRequestEntry};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::attribute::{Attribute, ReadAttributes, Value, attributes, text, unreadable, utf8};
use super::super::group::Groups;
use crate::format::line_records::LineParser;
use crate::source::Flaw;

/// Messages: each line is the text, or a JSON object that contains it.
#[derive(Debug, Clone)]
pub(crate) struct Notifications {
    pub(crate) is_json: bool,
    pub(crate) groups: Groups,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NotificationFields<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
    subject: Option<String>,
    #[serde(default, borrow)]
    attributes: ReadAttributes<'a>,
    group_id: Option<String>,
    dedup_id: Option<String>,
}

const DATA: &str = "a message is a JSON object with `message` and optionally `subject`, `attributes`, `group_id` and `dedup_id`: if \
                    each line is the text of a message, use --format text";

const SYNTAX: &str = "this is not JSON: if each line is the text of a message, use --format text";

impl LineParser<PublishBatchRequestEntry> for Notifications {
    fn parse(&mut self, line: &[u8]) -> Result<PublishBatchRequestEntry, Flaw> {
        let mut message = self.message(line)?;
        self.groups.complete(&mut message.message_group_id)?;
        Ok(message)
    }
}

impl Notifications {
    fn message(&self, line: &[u8]) -> Result<PublishBatchRequestEntry, Flaw> {
        if !self.is_json {
            return built(PublishBatchRequestEntry::builder().message(utf8(line)?));
        }
        let read = serde_json::from_slice(line);
        let fields: NotificationFields<'_> = read.map_err(|error| unreadable(&error, line, DATA, SYNTAX))?;
        let message = PublishBatchRequestEntry::builder()
            .message(text(fields.message)?)
            .set_subject(fields.subject)
            .set_message_attributes(attributes(fields.attributes, attribute)?)
            .set_message_group_id(fields.group_id)
            .set_message_deduplication_id(fields.dedup_id);
        built(message)
    }
}

fn built(message: PublishBatchRequestEntryBuilder) -> Result<PublishBatchRequestEntry, Flaw> {
    message.id("").build().map_err(|_| Flaw::new("a message needs a text"))
}

fn attribute(Attribute { kind, value }: Attribute) -> Result<MessageAttributeValue, BuildError> {
    let attribute = MessageAttributeValue::builder().data_type(kind);
    match value {
        Value::Text(text) => attribute.string_value(text),
        Value::Binary(bytes) => attribute.binary_value(Blob::new(bytes)),
    }
    .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::text::TextFormat;

    fn notifications(format: TextFormat) -> Notifications {
        Notifications {
            is_json: format == TextFormat::Json,
            groups: Groups::new(None, None, format).unwrap(),
        }
    }

    #[test]
    fn a_json_line_has_what_goes_with_the_message() {
        let line = r#"{"message":{"a":1},"subject":"s","group_id":"g","dedup_id":"d","attributes":{"n":1.50,"b":{"type":"Binary","value":"AAE="}}}"#;
        let message = notifications(TextFormat::Json).parse(line.as_bytes()).unwrap();
        assert_eq!((message.message(), message.subject()), (r#"{"a":1}"#, Some("s")));
        assert_eq!(
            (message.message_group_id(), message.message_deduplication_id()),
            (Some("g"), Some("d"))
        );
        let attributes = message.message_attributes().unwrap();
        assert_eq!(attributes["n"].string_value(), Some("1.50"));
        assert_eq!(attributes["b"].binary_value().unwrap().as_ref(), [0, 1]);
    }

    #[test]
    fn a_line_of_text_is_the_message() {
        let message = notifications(TextFormat::Text).parse("größe".as_bytes()).unwrap();
        assert_eq!(message.message(), "größe");
        assert!(notifications(TextFormat::Text).parse(b"\xFF").is_err());
        let flaw = notifications(TextFormat::Json)
            .parse(br#"{"text":"secret"}"#)
            .unwrap_err()
            .to_string();
        assert!(flaw.contains("--format text") && !flaw.contains("secret"), "{flaw}");
    }
}
