//! Messages of a queue, one on each line.

use std::collections::BTreeMap;
use std::io::{self, Read};

use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::attribute::{Attribute, ReadAttributes, Value, attributes, shortened, text, unreadable, utf8};
use super::group::Groups;
use super::trace::traced;
use crate::format::container::Container;
use crate::format::document::Members;
use crate::format::dumps::{EVENT, dump, is_event_of_messages};
use crate::format::line_records::{LineParser, LineRecords};
use crate::format::text::{lines_of_text, refusal};
use crate::source::{Flaw, Format, Records};

/// Messages, each a line of text or a JSON object.
pub(crate) struct Messages {
    pub(crate) is_json: bool,
    pub(crate) keeps_text: bool,
    pub(crate) groups: Groups,
}

impl Messages {
    fn records(
        &self,
        input: Box<dyn Read + Send>,
        members: impl Fn(Container) -> Option<Members>,
    ) -> io::Result<Box<dyn Records<SendMessageBatchRequestEntry>>> {
        let parse = MessageLine {
            is_json: self.is_json,
            groups: self.groups.clone(),
        };
        Ok(Box::new(if self.is_json {
            LineRecords::objects(input, members, |_| false, parse, self.keeps_text)?
        } else {
            LineRecords::new(input, parse, self.keeps_text)
        }))
    }
}

impl Format<SendMessageBatchRequestEntry> for Messages {
    fn open(&self, input: Box<dyn Read + Send>, _: &str) -> io::Result<Box<dyn Records<SendMessageBatchRequestEntry>>> {
        let input = if self.is_json { input } else { lines_of_text(input)? };
        self.records(input, |container| {
            container.members(None).filter(|_| container == Container::Messages)
        })
    }

    /// The lines of a part, which does not begin a document.
    fn open_part(
        &self,
        part: Box<dyn Read + Send>,
        _: &str,
    ) -> io::Result<Box<dyn Records<SendMessageBatchRequestEntry>>> {
        self.records(part, |_| None)
    }

    fn can_be_cut(&self, start: &[u8], _: &str) -> bool {
        refusal(start).is_none()
    }
}

struct MessageLine {
    is_json: bool,
    groups: Groups,
}

impl LineParser<SendMessageBatchRequestEntry> for MessageLine {
    fn parse(&mut self, line: &[u8]) -> Result<SendMessageBatchRequestEntry, Flaw> {
        let mut message = if self.is_json { of_json(line)? } else { of_text(line)? };
        self.groups.complete(&mut message.message_group_id)?;
        Ok(message)
    }
}

/// The line is the body.
fn of_text(line: &[u8]) -> Result<SendMessageBatchRequestEntry, Flaw> {
    built(SendMessageBatchRequestEntry::builder().message_body(utf8(line)?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageFields<'a> {
    #[serde(borrow)]
    body: &'a RawValue,
    #[serde(default, borrow)]
    attributes: ReadAttributes<'a>,
    group_id: Option<String>,
    dedup_id: Option<String>,
    delay: Option<i32>,
    trace_header: Option<String>,
}

/// A message as `ReceiveMessage` returns it, or as `SendMessageBatch` takes it. What belongs to its time in a queue is left out.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MessageEnvelope<'a> {
    #[serde(borrow, alias = "MessageBody")]
    body: &'a RawValue,
    #[serde(default, borrow)]
    message_attributes: Option<ReadAttributes<'a>>,
    #[serde(default)]
    attributes: QueueAttributes,
    message_group_id: Option<String>,
    message_deduplication_id: Option<String>,
    delay_seconds: Option<i32>,
    message_system_attributes: Option<SystemAttributes>,
}

/// The only attribute that is sent for a queue.
#[derive(Deserialize)]
struct SystemAttributes {
    #[serde(rename = "AWSTraceHeader")]
    trace_header: Option<SystemAttribute>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SystemAttribute {
    string_value: Option<String>,
}

/// The attributes that a queue gives to a message.
#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase")]
struct QueueAttributes {
    message_group_id: Option<String>,
    message_deduplication_id: Option<String>,
    #[serde(rename = "AWSTraceHeader")]
    trace_header: Option<String>,
}

impl<'a> From<MessageEnvelope<'a>> for MessageFields<'a> {
    fn from(message: MessageEnvelope<'a>) -> Self {
        let of_queue = message.attributes;
        let sent = message.message_system_attributes;
        Self {
            body: message.body,
            attributes: message.message_attributes.unwrap_or_default(),
            group_id: message.message_group_id.or(of_queue.message_group_id),
            dedup_id: message.message_deduplication_id.or(of_queue.message_deduplication_id),
            delay: message.delay_seconds,
            trace_header: sent
                .and_then(|sent| sent.trace_header?.string_value)
                .or(of_queue.trace_header),
        }
    }
}

/// The line is a JSON object with the body and its other parts.
fn of_json(line: &[u8]) -> Result<SendMessageBatchRequestEntry, Flaw> {
    let fields = serde_json::from_slice::<MessageFields<'_>>(line).or_else(|error| {
        let received = serde_json::from_slice::<MessageEnvelope<'_>>(line);
        received
            .map(MessageFields::from)
            .map_err(|_| match serde_json::from_slice(line) {
                Ok(members) => at_fault(&members),
                Err(_) => unreadable(&error, line, DATA, SYNTAX),
            })
    })?;
    if let Some((name, _)) = fields
        .attributes
        .0
        .iter()
        .find(|(name, value)| is_of_queue(name, value))
    {
        return Err(Flaw::new(format!("{} {OF_QUEUE}", shortened(name))));
    }
    let message = SendMessageBatchRequestEntry::builder()
        .message_body(text(fields.body)?)
        .set_message_attributes(attributes(fields.attributes, attribute)?)
        .set_message_group_id(fields.group_id)
        .set_message_deduplication_id(fields.dedup_id)
        .set_delay_seconds(fields.delay)
        .set_message_system_attributes(traced(fields.trace_header.as_deref()).map_err(|_| Flaw::new(MEMBERS))?);
    built(message)
}

/// What a queue says about a message, which is not to be sent as an attribute of the message itself.
const TOLD: [&str; 3] = [
    "ApproximateFirstReceiveTimestamp",
    "ApproximateReceiveCount",
    "SentTimestamp",
];

/// Whether this is one of them, as the SDKs return it.
fn is_of_queue(name: &str, value: &RawValue) -> bool {
    let digits = value.get().trim_matches('"');
    TOLD.contains(&name) && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

const OF_QUEUE: &str = "is what a queue says of a message, and would be sent as an attribute of the message: leave `attributes` out, \
                        or write {\"type\":\"String\",\"value\":\"…\"} if the message has such an attribute";

/// What is wrong with an object that is not a message, by the name of a member and never by its value.
fn at_fault(members: &BTreeMap<String, &RawValue>) -> Flaw {
    let is_enveloped = members.contains_key("Body") || members.contains_key("MessageBody");
    let has_body = members.contains_key("body");
    if let Some(words) = dump(&members.keys().map(String::as_str).collect::<Vec<_>>()) {
        return Flaw::new(words);
    }
    if members
        .get("Records")
        .is_some_and(|records| is_event_of_messages(records.get().as_bytes()))
    {
        return Flaw::new(EVENT);
    }
    for (name, value) in members {
        if ["body", "Body", "MessageBody"].contains(&&**name) || is_good(is_enveloped, name, value) {
            continue;
        }
        let wanted = match &**name {
            "group_id" | "dedup_id" | "trace_header" | "MessageGroupId" | "MessageDeduplicationId" => "a string",
            "delay" | "DelaySeconds" => "a whole number of seconds",
            "attributes" | "MessageAttributes" => "an object, with each name once",
            "Attributes" => "an object, whose members are strings",
            "MessageSystemAttributes" => "an object, whose `AWSTraceHeader` has a string as its `StringValue`",
            _ if has_body => return Flaw::new(format!("{} is not known: {MEMBERS}", shortened(name))),
            // Of an object that is not a message, the names may be content.
            _ => continue,
        };
        return Flaw::new(format!("{} has to be {wanted}", shortened(name)));
    }
    if is_enveloped || has_body {
        return Flaw::new(MEMBERS);
    }
    Flaw::new(format!(
        "there is no `body`: {MEMBERS}; if each line is the text of a message, use --format text"
    ))
}

/// Whether a message may have this member next to its body.
fn is_good(is_enveloped: bool, name: &str, value: &RawValue) -> bool {
    let body = if is_enveloped { "Body" } else { "body" };
    let message = format!("{{\"{body}\":\"\",{}:{}}}", serde_json::Value::from(name), value.get());
    if is_enveloped {
        serde_json::from_str::<MessageEnvelope<'_>>(&message).is_ok()
    } else {
        serde_json::from_str::<MessageFields<'_>>(&message).is_ok()
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

const MEMBERS: &str = "a message is a JSON object with `body` and optionally `attributes`, `group_id`, `dedup_id`, `delay` (seconds) and \
                       `trace_header`, each of them once";

const DATA: &str = "a message is a JSON object with `body`: if each line is the text of a message, use --format text";

const SYNTAX: &str = "this is not JSON: if each line is the text of a message, use --format text";

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::MessageSystemAttributeNameForSends;

    use super::*;

    fn read(line: &str) -> Result<SendMessageBatchRequestEntry, Flaw> {
        of_json(line.as_bytes())
    }

    #[test]
    fn a_line_of_text_is_the_body() {
        let message = of_text("größe {\"a\":1}".as_bytes()).unwrap();
        assert_eq!(message.message_body(), "größe {\"a\":1}");
        assert_eq!(of_text(b"ab\xFFc").unwrap_err().column, Some(3));
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
    fn messages_that_were_received_or_are_to_be_sent_have_their_parts() {
        for line in [
            r#"{"MessageId":"m","ReceiptHandle":"r","MD5OfBody":"x","Body":"b","Attributes":{"MessageGroupId":"g","SentTimestamp":"1"},
                "MessageAttributes":{"kind":{"StringValue":"new","DataType":"String"},"b":{"BinaryValue":"AAE=","DataType":"Binary"}}}"#,
            r#"{"Id":"1","MessageBody":"b","MessageGroupId":"g",
                "MessageAttributes":{"kind":{"DataType":"String","StringValue":"new"},"b":{"DataType":"Binary","BinaryValue":"AAE="}}}"#,
        ] {
            let message = read(line).unwrap();
            assert_eq!((message.message_body(), message.message_group_id()), ("b", Some("g")));
            let attributes = message.message_attributes().unwrap();
            assert_eq!(attributes["kind"].string_value(), Some("new"));
            assert_eq!(attributes["b"].binary_value().unwrap().as_ref(), [0, 1]);
        }
    }

    #[test]
    fn a_message_keeps_its_trace_in_each_of_its_forms() {
        for line in [
            r#"{"body":"b","trace_header":"Root=1"}"#,
            r#"{"Body":"b","Attributes":{"AWSTraceHeader":"Root=1","SentTimestamp":"1"}}"#,
            r#"{"MessageBody":"b","MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"Root=1"}}}"#,
        ] {
            let message = read(line).unwrap();
            let attributes = message.message_system_attributes().expect(line);
            let trace = &attributes[&MessageSystemAttributeNameForSends::AwsTraceHeader];
            assert_eq!((trace.data_type(), trace.string_value()), ("String", Some("Root=1")));
        }
        for line in [
            r#"{"MessageBody":"b","MessageSystemAttributes":{}}"#,
            r#"{"MessageBody":"b","MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String"}}}"#,
        ] {
            assert_eq!(read(line).unwrap().message_system_attributes(), None);
        }
        let flaw = read(r#"{"MessageBody":"b","MessageSystemAttributes":[]}"#).unwrap_err();
        assert!(flaw.reason.contains("`StringValue`"), "{}", flaw.reason);
        let flaw = read(r#"{"body":"b","trace_header":1}"#).unwrap_err().to_string();
        assert!(flaw.contains("`trace_header` has to be a string"), "{flaw}");
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
        for line in ["\"secret\"", "secret", "[1]", r#"{"secret":true}"#, r#"{"delay":5}"#] {
            let flaw = read(line).unwrap_err().to_string();
            assert!(flaw.contains("--format text") && !flaw.contains("secret"), "{flaw}");
        }
    }

    #[test]
    fn a_message_with_a_wrong_delay_an_unknown_field_or_a_boolean_attribute_is_refused_by_that_name() {
        for (line, words) in [
            (r#"{"body":"a","delay":"secret"}"#, "`delay` has to be a whole number"),
            (r#"{"body":"a","Delay":5}"#, "`Delay` is not known"),
            (
                r#"{"body":"a","attributes":{"a":"secret","b":true}}"#,
                "the attribute `b`: ",
            ),
            (
                r#"{"body":"a","attributes":["secret"]}"#,
                "`attributes` has to be an object",
            ),
            (
                r#"{"body":"a","attributes":{"a":"1","a":"secret"}}"#,
                "`attributes` has to be an object, with each name once",
            ),
            (r#"{"body":"a","group_id":1}"#, "`group_id` has to be a string"),
            (r#"{"body":"a","body":"secret"}"#, "each of them once"),
            (
                r#"{"Body":"a","DelaySeconds":"secret"}"#,
                "`DelaySeconds` has to be a whole number",
            ),
            (
                r#"{"MessageBody":"a","MessageGroupId":5}"#,
                "`MessageGroupId` has to be a string",
            ),
        ] {
            let flaw = read(line).unwrap_err().to_string();
            let is_safe = !flaw.contains("--format text") && !flaw.contains("secret");
            assert!(flaw.contains(words) && is_safe, "{flaw}");
        }
    }
}
