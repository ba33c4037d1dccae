//! Messages of a queue with the metadata of the queue, as programs write them.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};

pub(super) const RECEIVED: &str = "these are messages as ReceiveMessage returns them: `batch-deliver send --format json` sends their bodies and attributes";

pub(super) const EVENT: &str = "this is an event of Lambda with messages, not a message: `jq -c '.Records[] | {body, group_id: \
                                .attributes.MessageGroupId, attributes: (.messageAttributes | map_values({type: .dataType, value: \
                                (.stringValue // .binaryValue)}))}' FILE` makes lines for --format json";

const RECORD: &str = "this is a message in an event of Lambda: `jq -c '{body, group_id: .attributes.MessageGroupId, attributes: \
                      (.messageAttributes | map_values({type: .dataType, value: (.stringValue // .binaryValue)}))}' FILE` makes lines for \
                      --format json, and `jq -c '{body: .}'` such as send them as they are";

const OF_RUBY: &str = "this is a message as shoryuken and the SDK for Ruby write it: `jq -c '{body: (.message_body // .body), group_id: \
                       (.message_group_id // .attributes.MessageGroupId), dedup_id: .message_deduplication_id, attributes: \
                       ((.message_attributes // {}) | map_values({type: .data_type, value: (.string_value // .binary_value)}))}' FILE` makes \
                       lines for --format json, and `jq -c '{body: .}'` such as send them as they are";

/// Members of the lines that shoryuken writes.
const RUBY_MEMBERS: [&str; 6] = [
    "attributes",
    "id",
    "message_attributes",
    "message_body",
    "message_deduplication_id",
    "message_group_id",
];

/// What to do about an object with these members that is a message with the metadata of its queue; `None` if it is not.
pub(super) fn dump(names: &[&str]) -> Option<&'static str> {
    let has = |name: &str| names.contains(&name);
    if has("body") && has("receiptHandle") {
        return Some(RECORD);
    }
    let is_of_shoryuken = has("message_body") && has("id") && names.iter().all(|name| RUBY_MEMBERS.contains(name));
    (is_of_shoryuken || has("body") && has("receipt_handle")).then_some(OF_RUBY)
}

/// What to do about a line that is one or several messages with the metadata of their queue. It may be longer than what is looked at.
pub(super) fn of_line(line: &[u8]) -> Option<&'static str> {
    let names = names(line);
    let has = |name: &str| names.iter().any(|other| other == name);
    if has("Body") && has("ReceiptHandle") {
        return Some(RECEIVED);
    }
    let records = line
        .strip_prefix(b"{")
        .map(<[u8]>::trim_ascii_start)
        .and_then(|line| line.strip_prefix(b"\"Records\""));
    let records = records
        .map(<[u8]>::trim_ascii_start)
        .and_then(|line| line.strip_prefix(b":"));
    if records.is_some_and(is_event_of_messages) {
        return Some(EVENT);
    }
    dump(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Whether the first of these records is a message. Those of other services may be the content of one.
pub(super) fn is_event_of_messages(records: &[u8]) -> bool {
    let first = records.trim_ascii_start().strip_prefix(b"[").unwrap_or_default();
    let names = names(first.trim_ascii_start());
    let has = |name: &str| names.iter().any(|other| other == name);
    has("body") && has("receiptHandle")
}

/// The names of the members with which this object begins.
fn names(object: &[u8]) -> Vec<String> {
    let mut names = Names::default();
    // An object that is cut or wrong still has the names before that place.
    let _ = serde_json::Deserializer::from_slice(object).deserialize_map(&mut names);
    names.0
}

/// Names of the members of an object.
#[derive(Default)]
struct Names(Vec<String>);

impl<'de> Visitor<'de> for &mut Names {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<(), M::Error> {
        while let Some(name) = members.next_key::<String>()? {
            self.0.push(name);
            members.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_recognized_with_what_a_queue_says_of_them_also_if_they_are_cut() {
        let long = format!(
            "{{\"messageId\":\"m\",\"receiptHandle\":\"r\",\"body\":\"{}",
            "b".repeat(9_000)
        );
        for (line, words) in [
            (r#"{"ReceiptHandle":"r","Body":"b"}"#.to_owned(), RECEIVED),
            (long.clone(), RECORD),
            (format!("{{ \"Records\" : [ {long}"), EVENT),
            (
                r#"{"attributes":{},"message_attributes":{},"id":"m","message_body":"b"}"#.to_owned(),
                OF_RUBY,
            ),
            (
                r#"{"id":"m","message_body":"b","message_group_id":"g"}"#.to_owned(),
                OF_RUBY,
            ),
            (r#"{"receipt_handle":"r","body":"b"}"#.to_owned(), OF_RUBY),
        ] {
            assert_eq!(of_line(line.as_bytes()), Some(words), "{line}");
        }
        for line in [
            r#"{"Records":[{"eventSource":"aws:s3","s3":{}}]}"#,
            r#"{"Records":[]}"#,
            r#"{"body":"b","attributes":{}}"#,
            r#"{"message_body":"b"}"#,
            r#"{"id":1,"message_body":"b","from":"c"}"#,
            r#"[{"receiptHandle":"r","body":"b"}]"#,
            "body receiptHandle",
        ] {
            assert_eq!(of_line(line.as_bytes()), None, "{line}");
        }
    }
}
