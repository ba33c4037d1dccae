//! Checks requests as SQS does.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::Value;

use super::attributes::{self, is_allowed};
use super::digest::{of_attributes, of_body};
use super::queue::{Queue, Queues, SendEntry};
use super::refusals::{error, invalid_value, missing};
use crate::message::{LONGEST_NAME, id_of_content, is_id, is_name, size_of_attributes};
use crate::wire::Refusal;

/// Entries in one call at most.
const MOST_ENTRIES: usize = 10;
/// Bytes of all messages of a call at most.
const LARGEST_BATCH: usize = 1_048_576;
/// Seconds that a message may be delayed.
const LONGEST_DELAY: u64 = 900;

/// The queue that a request names by its URL.
pub(super) fn queue_of(queues: &Queues, body: &Value) -> Result<Queue, Refusal> {
    let url = body["QueueUrl"].as_str().ok_or_else(|| missing("QueueUrl"))?;
    queue_named(queues, url.rsplit('/').next().unwrap_or_default())
}

pub(super) fn queue_named(queues: &Queues, name: &str) -> Result<Queue, Refusal> {
    queues.find(name).ok_or_else(|| {
        error(
            "QueueDoesNotExist",
            "AWS.SimpleQueueService.NonExistentQueue",
            "The specified queue does not exist.",
        )
    })
}

/// Refuses the whole call, or decides for each message whether it alone fails.
pub(super) fn check(queue: &Queue, entries: Value) -> Result<Vec<SendEntry>, Refusal> {
    let entries = check_entries("SendMessageBatchRequestEntry", "MessageBody", entries)?;
    check_types(&entries)?;
    if queue.is_fifo() {
        for entry in &entries {
            if entry["MessageGroupId"].as_str().is_none_or(str::is_empty) {
                // Not `MissingParameter`, as recorded by LocalStack.
                return Err(invalid_value("The request must contain the parameter MessageGroupId."));
            }
            if entry["MessageDeduplicationId"].is_null() && !queue.options().deduplicates_by_content {
                return Err(invalid_value(
                    "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided \
                     explicitly",
                ));
            }
        }
    }
    let size: usize = entries.iter().map(size_of).sum();
    if size > LARGEST_BATCH {
        return Err(error(
            "BatchRequestTooLong",
            "AWS.SimpleQueueService.BatchRequestTooLong",
            format!("Batch requests cannot be longer than {LARGEST_BATCH} bytes. You have sent {size} bytes."),
        ));
    }
    Ok(entries.into_iter().map(|entry| check_entry(queue, entry)).collect())
}

/// The rules that all batch calls share. `required` is the member that each entry needs in addition to its id.
pub(super) fn check_entries(kind: &str, required: &str, entries: Value) -> Result<Vec<Value>, Refusal> {
    let entries = match entries {
        Value::Array(entries) if !entries.is_empty() => entries,
        _ => {
            return Err(error(
                "EmptyBatchRequest",
                "AWS.SimpleQueueService.EmptyBatchRequest",
                format!("There should be at least one {kind} in the request."),
            ));
        }
    };
    if entries.len() > MOST_ENTRIES {
        return Err(error(
            "TooManyEntriesInBatchRequest",
            "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
            format!(
                "Maximum number of entries per request are {MOST_ENTRIES}. You have sent {}.",
                entries.len()
            ),
        ));
    }
    let mut ids = HashSet::new();
    for (number, entry) in (1..).zip(&entries) {
        let missing = |member: &str| missing(&format!("{kind}.{number}.{member}"));
        let id = entry["Id"].as_str().ok_or_else(|| missing("Id"))?;
        if !entry[required].is_string() {
            return Err(missing(required));
        }
        if !is_id(id) {
            return Err(error(
                "InvalidBatchEntryId",
                "AWS.SimpleQueueService.InvalidBatchEntryId",
                "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most \
                 80 letters long.",
            ));
        }
        if !ids.insert(id) {
            return Err(error(
                "BatchEntryIdsNotDistinct",
                "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
                format!("Id {id} repeated."),
            ));
        }
    }
    Ok(entries)
}

/// Attributes need a type. Without one the whole call is refused, as for every member that the model requires.
fn check_types(entries: &[Value]) -> Result<(), Refusal> {
    let of_entry = |entry: &Value| {
        let kinds = ["MessageAttributes", "MessageSystemAttributes"].map(|member| entry[member].as_object());
        let mut attributes = kinds.into_iter().flatten().flatten();
        attributes.any(|(_, attribute)| !attribute["DataType"].is_string())
    };
    if entries.iter().any(of_entry) {
        return Err(missing("DataType"));
    }
    Ok(())
}

fn check_entry(queue: &Queue, entry: Value) -> SendEntry {
    let failure = find_failure(queue, &entry).err();
    let body = entry["MessageBody"].as_str().unwrap_or_default();
    let digest_of = |member: &str| {
        let attributes = entry[member].as_object();
        attributes
            .filter(|attributes| !attributes.is_empty())
            .map(of_attributes)
    };
    let deduplication_id = match entry["MessageDeduplicationId"].as_str() {
        Some(id) => Some(id.to_owned()),
        None => queue.is_fifo().then(|| id_of_content(body)),
    };
    SendEntry {
        id: entry["Id"].as_str().unwrap_or_default().to_owned(),
        body_digest: of_body(body),
        attributes_digest: digest_of("MessageAttributes"),
        system_attributes_digest: digest_of("MessageSystemAttributes"),
        deduplication_id,
        delay: delay_of(queue, &entry["DelaySeconds"]),
        failure,
        json: entry,
    }
}

fn find_failure(queue: &Queue, entry: &Value) -> Result<(), Refusal> {
    let body = entry["MessageBody"].as_str().unwrap_or_default();
    if body.is_empty() {
        return Err(missing("MessageBody"));
    }
    if !body.chars().all(is_allowed) {
        return Err(Refusal::new(
            "InvalidMessageContents",
            "Invalid characters were found in a message body. The set of allowed characters is #x9 | #xA | #xD | #x20 \
             to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
        ));
    }
    let largest = queue.options().largest_message;
    if size_of(entry) > largest {
        return Err(invalid_value(format!(
            "One or more parameters cannot be validated. Reason: Message must be shorter than {largest} bytes."
        )));
    }
    check_delay(queue, &entry["DelaySeconds"])?;
    check_name("MessageGroupId", &entry["MessageGroupId"])?;
    check_name("MessageDeduplicationId", &entry["MessageDeduplicationId"])?;
    if !queue.is_fifo() && !entry["MessageDeduplicationId"].is_null() {
        return Err(invalid_value(
            "Value for parameter MessageDeduplicationId is invalid. Reason: The request includes a parameter that is \
             not valid for this queue type.",
        ));
    }
    if let Some(attributes) = entry["MessageAttributes"].as_object() {
        attributes::check(attributes)?;
    }
    if let Some(attributes) = entry["MessageSystemAttributes"].as_object() {
        attributes::check_system(attributes)?;
    }
    if queue.poisons(entry) {
        return Err(Refusal::new(
            "InvalidMessageContents",
            "The simulator is set to refuse this message.",
        ));
    }
    Ok(())
}

/// The delay of a message. A FIFO queue has one for all of its messages: the only value that it takes, 0, asks for it.
fn delay_of(queue: &Queue, delay: &Value) -> Option<Duration> {
    let seconds = delay.as_u64().filter(|seconds| *seconds > 0 || !queue.is_fifo());
    seconds.map(Duration::from_secs)
}

fn check_delay(queue: &Queue, delay: &Value) -> Result<(), Refusal> {
    if delay.is_null() {
        return Ok(());
    }
    let reason = if delay.as_u64().is_none_or(|seconds| seconds > LONGEST_DELAY) {
        "DelaySeconds must be >= 0 and <= 900."
    } else if queue.is_fifo() && delay != 0 {
        "The request include parameter that is not valid for this queue type."
    } else {
        return Ok(());
    };
    Err(invalid_value(format!(
        "Value {delay} for parameter DelaySeconds is invalid. Reason: {reason}"
    )))
}

fn check_name(parameter: &str, name: &Value) -> Result<(), Refusal> {
    match name.as_str() {
        Some(name) if !is_name(name) => Err(invalid_value(format!(
            "Value for parameter {parameter} is invalid. Reason: {parameter} can only include alphanumeric and \
             punctuation characters. 1 to {LONGEST_NAME} in length."
        ))),
        _ => Ok(()),
    }
}

/// The size of a message: its body and its attributes.
fn size_of(entry: &Value) -> usize {
    entry["MessageBody"].as_str().map_or(0, str::len) + size_of_attributes(&entry["MessageAttributes"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_refused_for_a_member_that_is_missing() {
        let code = |refused: Result<(), Refusal>| refused.unwrap_err().short_code().to_owned();
        for entry in [json!({"MessageBody": "a"}), json!({"Id": "a"})] {
            let entries = json!([{"Id": "b", "MessageBody": "b"}, entry]);
            let checked = check_entries("SendMessageBatchRequestEntry", "MessageBody", entries);
            let refusal = checked.unwrap_err();
            assert_eq!(refusal.short_code(), "MissingParameter");
            assert!(
                refusal.message().contains("SendMessageBatchRequestEntry.2."),
                "{refusal:?}"
            );
        }
        let untyped = json!({"MessageAttributes": {"a": {"StringValue": "a"}}});
        assert_eq!(code(check_types(&[untyped])), "MissingParameter");
        let typed = json!({"MessageAttributes": {"a": {"DataType": "String"}}});
        assert_eq!(check_types(&[typed]), Ok(()));
    }
}
