//! Checks messages as SNS does.

use std::collections::HashSet;

use serde_json::Value;

use super::invalid;
use super::topic::Topic;
use crate::digest::{bytes_of, of_content};
use crate::intake::Arrival;
use crate::wire::Refusal;

/// Messages in a call at most. From the API reference of `PublishBatch`, as all of these.
const MOST_MESSAGES: usize = 10;
/// Characters of an entry's id at most.
const LONGEST_ID: usize = 80;
/// Characters of a group's or a deduplication id.
const LONGEST_NAME: usize = 128;

/// Refuses the whole call, or decides for each message whether it alone fails.
pub(super) fn check(topic: &Topic, entries: Value) -> Result<Vec<Arrival>, Refusal> {
    let Value::Array(entries) = entries else {
        return Err(Refusal::new(
            "EmptyBatchRequest",
            "The batch request doesn't contain any entries.",
        ));
    };
    if entries.len() > MOST_MESSAGES {
        return Err(Refusal::new(
            "TooManyEntriesInBatchRequest",
            "The batch request contains more entries than permissible (more than 10).",
        ));
    }
    let mut ids = HashSet::new();
    for entry in &entries {
        let id = entry["Id"].as_str().unwrap_or_default();
        let is_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if id.is_empty() || id.len() > LONGEST_ID || !id.bytes().all(is_id) {
            let message = "The Id of a batch entry in a batch request doesn't abide by the specification.";
            return Err(Refusal::new("InvalidBatchEntryId", message));
        }
        if !ids.insert(id) {
            let message = "Two or more batch entries in the request have the same Id.";
            return Err(Refusal::new("BatchEntryIdsNotDistinct", message));
        }
        check_order(topic, entry)?;
    }
    if entries.iter().map(size_of).sum::<usize>() > topic.options().largest_message {
        let message = "The length of all the batch messages put together is more than the limit.";
        return Err(Refusal::new("BatchRequestTooLong", message));
    }
    Ok(entries.into_iter().map(|entry| arrival(topic, entry)).collect())
}

/// Checks what a FIFO topic requires of each message.
fn check_order(topic: &Topic, entry: &Value) -> Result<(), Refusal> {
    if !topic.is_fifo() {
        return Ok(());
    }
    if entry["MessageGroupId"].as_str().is_none_or(str::is_empty) {
        return Err(invalid(
            "Invalid parameter: The MessageGroupId parameter is required for FIFO topics",
        ));
    }
    if entry["MessageDeduplicationId"].is_null() && !topic.options().deduplicates_by_content {
        return Err(invalid(
            "Invalid parameter: The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId \
             provided explicitly",
        ));
    }
    Ok(())
}

fn arrival(topic: &Topic, entry: Value) -> Arrival {
    let given = entry["MessageDeduplicationId"].as_str().map(str::to_owned);
    let message = entry["Message"].as_str().unwrap_or_default();
    let deduplication_id = topic.is_fifo().then(|| given.unwrap_or_else(|| of_content(message)));
    let bytes = size_of(&entry);
    Arrival {
        key: entry["MessageGroupId"].as_str().unwrap_or_default().to_owned(),
        deduplication_id,
        failure: failure(topic, &entry).err(),
        ..Arrival::new(entry, bytes)
    }
}

fn failure(topic: &Topic, entry: &Value) -> Result<(), Refusal> {
    if entry["Message"].as_str().is_none_or(str::is_empty) {
        return Err(invalid("Invalid parameter: Empty message"));
    }
    for parameter in ["MessageGroupId", "MessageDeduplicationId"] {
        let Some(name) = entry[parameter].as_str() else {
            continue;
        };
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(invalid(format!(
                "Invalid parameter: {parameter} can only include alphanumeric and punctuation characters. 1 to {LONGEST_NAME} in \
                 length"
            )));
        }
    }
    if !topic.is_fifo() && !entry["MessageDeduplicationId"].is_null() {
        return Err(invalid(
            "Invalid parameter: The request includes MessageDeduplicationId parameter that is not valid for this topic type",
        ));
    }
    if topic.intake().poison.holds(entry) {
        return Err(invalid("The simulator is set to refuse this message."));
    }
    Ok(())
}

/// The size of a message: its text and subject, and the name, type and value of each attribute.
fn size_of(entry: &Value) -> usize {
    let text = |value: &Value| value.as_str().map_or(0, str::len);
    let attributes = entry["MessageAttributes"].as_object().into_iter().flatten();
    let attributes = attributes.map(|(name, value)| {
        let binary = bytes_of(&value["BinaryValue"]).len();
        name.len() + text(&value["DataType"]) + text(&value["StringValue"]) + binary
    });
    text(&entry["Message"]) + text(&entry["Subject"]) + attributes.sum::<usize>()
}
