//! `ReceiveMessage`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep_until};

use super::digest::{of_attributes, of_body};
use super::queue::{Queue, Queues};
use super::receipts::{LONGEST_VISIBILITY, handle};
use super::refusals::invalid_value;
use super::request::queue_of;
use super::send::sequence_number;
use super::store::StoredMessage;
use crate::journal::AnswerReceipt;
use crate::wire::{OperationOutcome, Refusal};

/// Seconds that a call may wait for messages.
const LONGEST_WAIT: u64 = 20;

pub(super) async fn receive(
    queues: &Queues,
    body: &Value,
    answered: &AnswerReceipt,
) -> Result<OperationOutcome, Refusal> {
    let queue = queue_of(queues, body)?;
    let call = queue.with_consumers(|gate| gate.call(answered));
    let (most, visibility, wait) = requested(&queue, body).inspect_err(|_| {
        queue.with_consumers(|gate| gate.statistics.refused_calls += 1);
    })?;
    if let Some(applied) = call.fault.replaces_answer() {
        if applied {
            // Hidden from others, although its receiver does not learn of it.
            take(queues, &queue, (most, visibility), body);
        }
        queue.with_consumers(|gate| gate.count_failed_call(&call.fault, 0));
        return Ok(OperationOutcome::Fault(call.fault));
    }
    let deadline = Instant::now() + wait;
    loop {
        let arrival = queue.arrivals().notified();
        let (messages, due) = take(queues, &queue, (most, visibility), body);
        if !messages.is_empty() {
            return Ok(OperationOutcome::Success(json!({"Messages": messages})));
        }
        if Instant::now() >= deadline {
            return Ok(OperationOutcome::Success(json!({})));
        }
        let next = due.map_or(deadline, |due| due.min(deadline));
        tokio::select! {
            () = arrival => {}
            () = sleep_until(next) => {}
        }
    }
}

/// How many messages a call asks for at most, for how long it hides them, and for how long it waits for them.
fn requested(queue: &Queue, body: &Value) -> Result<(usize, Duration, Duration), Refusal> {
    let most = number(body, "MaxNumberOfMessages", 1, 10)?.unwrap_or(1);
    let visibility = number(body, "VisibilityTimeout", 0, LONGEST_VISIBILITY)?;
    let wait = number(body, "WaitTimeSeconds", 0, LONGEST_WAIT)?.unwrap_or(0);
    Ok((
        usize::try_from(most).unwrap_or(1),
        visibility.map_or(queue.options().visibility_timeout, Duration::from_secs),
        Duration::from_secs(wait),
    ))
}

fn take(
    queues: &Queues,
    queue: &Queue,
    (most, visibility): (usize, Duration),
    body: &Value,
) -> (Vec<Value>, Option<Instant>) {
    let options = queue.options();
    let others = options
        .dead_letter_queue
        .as_deref()
        .filter(|name| *name != queue.name());
    let dead_letters = others.and_then(|name| queues.find(name));
    let limit = options.maximum_receives.filter(|_| dead_letters.is_some());
    let mut state = queue.state();
    let store = &mut state.store;
    let (mut messages, mut dead) = (Vec::new(), Vec::new());
    // Once: a call gets no message twice, even with a visibility timeout of 0.
    let now = Instant::now();
    store.settle(now);
    while messages.len() < most {
        let numbers = store.take(now, most - messages.len(), visibility);
        if numbers.is_empty() {
            break;
        }
        for number in numbers {
            let Some(message) = store.get(number) else { continue };
            if limit.is_some_and(|limit| message.receives > limit) {
                dead.extend(store.remove(number).map(|message| (number, message)));
            } else {
                messages.push(show(queue, number, message, body));
            }
        }
    }
    let due = store.next_due();
    // Two queues may have the dead letters of each other.
    drop(state);
    if let Some(dead_letters) = dead_letters {
        for (number, mut message) in dead {
            // It was not received this time. Whether the count begins again is not documented.
            message.receives -= 1;
            dead_letters.add_dead_letter(queue.message_id(number), message, &queue.arn());
        }
    }
    (messages, due)
}

fn show(queue: &Queue, number: u64, message: &StoredMessage, body: &Value) -> Value {
    let mut shown = json!({
        "MessageId": message.first_id.as_deref().map_or_else(|| queue.message_id(number), str::to_owned),
        "ReceiptHandle": handle(number, message.receives),
        "MD5OfBody": of_body(&message.body),
        "Body": message.body,
    });
    let mut requested = requested_names(body, "MessageAttributeNames");
    // Not documented, but as `All`. System attributes have no such name.
    if requested.contains(&"*") {
        requested = vec!["All"];
    }
    let attributes: Map<String, Value> = message
        .attributes
        .as_deref()
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(name, _)| is_requested(&requested, name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if !attributes.is_empty() {
        shown["MD5OfMessageAttributes"] = json!(of_attributes(&attributes));
        shown["MessageAttributes"] = Value::Object(attributes);
    }
    let mut requested = requested_names(body, "MessageSystemAttributeNames");
    requested.extend(requested_names(body, "AttributeNames"));
    let system: Map<String, Value> = system_attributes(queue, number, message)
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .filter(|(name, _)| is_requested(&requested, name))
        .map(|(name, value)| (name.to_owned(), Value::String(value)))
        .collect();
    if !system.is_empty() {
        shown["Attributes"] = Value::Object(system);
    }
    shown
}

fn system_attributes(queue: &Queue, number: u64, message: &StoredMessage) -> [(&'static str, Option<String>); 7] {
    [
        ("SentTimestamp", Some(milliseconds(message.sent_at).to_string())),
        ("ApproximateReceiveCount", Some(message.receives.to_string())),
        (
            "DeadLetterQueueSourceArn",
            message.dead_letter_of.as_deref().map(str::to_owned),
        ),
        ("MessageGroupId", message.group.as_deref().map(str::to_owned)),
        (
            "MessageDeduplicationId",
            message.deduplication_id.as_deref().map(str::to_owned),
        ),
        ("AWSTraceHeader", message.trace.as_deref().map(str::to_owned)),
        ("SequenceNumber", queue.is_fifo().then(|| sequence_number(number))),
    ]
}

/// The time of the system's clock for a time of tokio's, which may be paused.
fn milliseconds(at: Instant) -> u128 {
    let age = Instant::now().saturating_duration_since(at);
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since_epoch.saturating_sub(age).as_millis()
}

fn requested_names<'a>(body: &'a Value, member: &str) -> Vec<&'a str> {
    let names = body[member].as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// Whether an attribute is requested: by its name, by `All`, or by a prefix such as `order.*`.
fn is_requested(requested: &[&str], name: &str) -> bool {
    requested.iter().any(|requested| match requested.strip_suffix(".*") {
        Some(prefix) => prefix.is_empty() || name.starts_with(prefix),
        None => *requested == "All" || *requested == name,
    })
}

fn number(body: &Value, parameter: &str, low: u64, high: u64) -> Result<Option<u64>, Refusal> {
    match &body[parameter] {
        Value::Null => Ok(None),
        value => match value.as_u64().filter(|value| (low..=high).contains(value)) {
            Some(value) => Ok(Some(value)),
            None => Err(invalid_value(format!(
                "Value {value} for parameter {parameter} is invalid. Reason: Must be between {low} and {high}, if provided."
            ))),
        },
    }
}
