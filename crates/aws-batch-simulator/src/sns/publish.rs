//! `PublishBatch`.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, json};

use super::topic::{Topic, Topics};
use crate::intake::{AnswersById, Entry, EntryResult, ErrorText, acknowledged_by_id, failure_of_never_sent};
use crate::journal::AnswerReceipt;
use crate::message::{LONGEST_ID, LONGEST_NAME, id_of_content, is_id, is_name, size_of_attributes};
use crate::wire::{OperationOutcome, Refusal};

/// Messages in a call at most. From the API reference of `PublishBatch`.
const MOST_MESSAGES: usize = 10;
/// The error of throttled messages and calls.
const THROTTLED: ErrorText = ("Throttled", "Rate exceeded");

pub(super) fn publish(topics: &Topics, mut body: Value, answered: &AnswerReceipt) -> Result<OperationOutcome, Refusal> {
    let topic = topics.of_request(&body)?;
    let call = topic.intake().call(answered);
    let messages = check(&topic, body["PublishBatchRequestEntries"].take());
    let answer = topic
        .intake()
        .answer(&call, messages, acknowledged_by_id, |messages, results| {
            if results.iter().all(|result| matches!(result, EntryResult::Throttled)) {
                topic.intake().count_throttled_call();
                return throttled().into();
            }
            let mut answers = AnswersById::default();
            for (message, result) in messages.iter().zip(results) {
                let id = message.json["Id"].as_str().unwrap_or_default();
                answers.add(id, result, THROTTLED, |number| accepted(&topic, id, number));
            }
            answers.add_of_fault(&call.fault, |id| [accepted(&topic, id, 0), failure_of_never_sent(id)]);
            let answer = json!({"Successful": {"member": answers.successful}, "Failed": {"member": answers.failed}});
            OperationOutcome::Success(answer)
        });
    Ok(answer)
}

/// The answer to a message that was accepted with this number.
fn accepted(topic: &Topic, id: &str, number: u64) -> Value {
    let mut accepted = json!({"Id": id, "MessageId": format!("00000000-0000-4000-b000-{number:012x}")});
    if topic.is_fifo() {
        accepted["SequenceNumber"] = json!(format!("{:020}", 10_000_000_000_000_000_000 + number));
    }
    accepted
}

/// The error of a call in which no message was accepted.
pub(super) fn throttled() -> Refusal {
    Refusal::new(THROTTLED.0, THROTTLED.1).status(429)
}

/// Refuses the whole call, or decides for each message whether it alone fails.
fn check(topic: &Topic, entries: Value) -> Result<Vec<Entry>, Refusal> {
    let Value::Array(entries) = entries else {
        return Err(Refusal::new(
            "EmptyBatchRequest",
            "The batch request doesn't contain any entries.",
        ));
    };
    if entries.len() > MOST_MESSAGES {
        return Err(Refusal::new(
            "TooManyEntriesInBatchRequest",
            "The batch request contains more entries than permissible.",
        ));
    }
    let mut ids = HashSet::new();
    for entry in &entries {
        let id = entry["Id"].as_str().unwrap_or_default();
        if !is_id(id) {
            return Err(Refusal::new("InvalidBatchEntryId", problem_of_id(id)));
        }
        if !ids.insert(id) {
            let message = "Two or more batch entries in the request have the same Id.";
            return Err(Refusal::new("BatchEntryIdsNotDistinct", message));
        }
    }
    // Whatever the topic is.
    for entry in &entries {
        check_structure(entry)?;
        if entry["Subject"] == "" {
            return Err(invalid("Invalid parameter: Subject"));
        }
    }
    entries.iter().try_for_each(|entry| check_order(topic, entry))?;
    if entries.iter().map(size_of).sum::<usize>() > topic.options().largest_message {
        let message = "The length of all the messages put together is more than the limit.";
        return Err(Refusal::new("BatchRequestTooLong", message));
    }
    Ok(entries.into_iter().map(|message| entry(topic, message)).collect())
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

/// In the words that LocalStack has recorded.
fn problem_of_id(id: &str) -> String {
    if id.len() > LONGEST_ID {
        format!("The Id of a batch entry in the batch request is too long: {id}")
    } else {
        format!("The Id of a batch entry in the batch request contains an impermissible character: {id}")
    }
}

/// A message with the structure `json` is an object with a text for each protocol, and one for all others.
fn check_structure(entry: &Value) -> Result<(), Refusal> {
    if entry["MessageStructure"] != "json" {
        return Ok(());
    }
    let message = entry["Message"].as_str().unwrap_or_default();
    let Ok(message) = serde_json::from_str::<Value>(message) else {
        return Err(invalid(
            "Invalid parameter: Message Structure - JSON message body failed to parse",
        ));
    };
    if !message["default"].is_string() {
        return Err(invalid(
            "Invalid parameter: Message Structure - No default entry in JSON message body",
        ));
    }
    Ok(())
}

fn entry(topic: &Topic, message: Value) -> Entry {
    let given = message["MessageDeduplicationId"].as_str().map(str::to_owned);
    let content = message["Message"].as_str().unwrap_or_default();
    let deduplication_id = topic.is_fifo().then(|| given.unwrap_or_else(|| id_of_content(content)));
    let bytes = size_of(&message);
    Entry {
        key: message["MessageGroupId"].as_str().unwrap_or_default().to_owned(),
        deduplication_id,
        failure: failure(topic, &message).err(),
        ..Entry::new(message, bytes)
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
        if !is_name(name) {
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

/// The size of a message: its text and subject, and its attributes.
fn size_of(message: &Value) -> usize {
    let text = |value: &Value| value.as_str().map_or(0, str::len);
    text(&message["Message"]) + text(&message["Subject"]) + size_of_attributes(&message["MessageAttributes"])
}

fn invalid(message: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::new("InvalidParameter", message)
}
