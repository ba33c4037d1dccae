//! `DeleteMessageBatch` and `ChangeMessageVisibilityBatch`, whose entries have receipt handles.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::queue::{Queue, QueueState, Queues};
use super::refusals::invalid_value;
use super::request::{check_entries, queue_of};
use super::send::THROTTLED;
use super::store::Store;
use crate::admission::{Demand, Place};
use crate::calls::Cost;
use crate::intake::{AnswersById, EntryResult, failure_of_never_sent};
use crate::journal::AnswerReceipt;
use crate::wire::{OperationOutcome, Refusal};

/// Seconds that a received message may be hidden: twelve hours.
pub(super) const LONGEST_VISIBILITY: u64 = 43_200;

pub(super) fn delete(queues: &Queues, body: &Value, answered: &AnswerReceipt) -> Result<OperationOutcome, Refusal> {
    let queue = queue_of(queues, body)?;
    let entries = check_entries(
        "DeleteMessageBatchRequestEntry",
        "ReceiptHandle",
        body["Entries"].clone(),
    );
    let is_fifo = queue.is_fifo();
    let check = |store: &Store, entry: &Value| {
        let (number, receives) = read_handle(&entry["ReceiptHandle"]).ok_or(INVALID_HANDLE)?;
        let message = store.get(number);
        if is_fifo && message.is_some() && !store.is_held(number, receives) {
            return Err(invalid_value(
                "Value for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
            ));
        }
        // A standard queue answers an older receipt handle with success, but deletes nothing.
        Ok(message.filter(|message| message.receives == receives).map(|_| number))
    };
    let delete = |store: &mut Store, number: Option<u64>| {
        if let Some(number) = number {
            store.remove(number);
        }
    };
    let outcome = answer(&queue, entries, answered, check, delete)?;
    // The next messages of a group may be received.
    queue.arrivals().notify_waiters();
    Ok(outcome)
}

pub(super) fn change_visibility(
    queues: &Queues,
    body: &Value,
    answered: &AnswerReceipt,
) -> Result<OperationOutcome, Refusal> {
    let queue = queue_of(queues, body)?;
    let entries = check_entries(
        "ChangeMessageVisibilityBatchRequestEntry",
        "ReceiptHandle",
        body["Entries"].clone(),
    );
    let now = Instant::now();
    let check = |store: &Store, entry: &Value| {
        let timeout = entry["VisibilityTimeout"].as_u64();
        let timeout = timeout
            .filter(|timeout| *timeout <= LONGEST_VISIBILITY)
            .ok_or_else(|| invalid_value("The visibility timeout must be between 0 and 43200 seconds."))?;
        let (number, receives) = read_handle(&entry["ReceiptHandle"]).ok_or(INVALID_HANDLE)?;
        let latest = store.get(number).filter(|message| message.receives == receives);
        let received_at = latest.and_then(|message| message.received_at);
        let until = now + Duration::from_secs(timeout);
        if received_at.is_some_and(|at| until > at + Duration::from_secs(LONGEST_VISIBILITY)) {
            return Err(invalid_value(
                "Total VisibilityTimeout for the message is beyond the limit [43200 seconds].",
            ));
        }
        if latest.is_none() {
            return Err(invalid_value(
                "Value for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility \
                 timeout change.",
            ));
        }
        Ok((number, until))
    };
    // A message that is visible again stays so, and the answer is a success.
    let hide = |store: &mut Store, (number, until)| store.hide(number, until);
    let outcome = answer(&queue, entries, answered, check, hide)?;
    queue.state().store.settle(now);
    queue.arrivals().notify_waiters();
    Ok(outcome)
}

const INVALID_HANDLE: Refusal = Refusal::of(400, "ReceiptHandleIsInvalid", "The input receipt handle is invalid.");

/// Counts the call and applies it to the messages of the entries, except for those that fail by themselves or by a fault. `check` finds
/// what there is to do for an entry, or why it fails.
fn answer<T>(
    queue: &Queue,
    entries: Result<Vec<Value>, Refusal>,
    answered: &AnswerReceipt,
    check: impl Fn(&Store, &Value) -> Result<T, Refusal>,
    act: impl Fn(&mut Store, T),
) -> Result<OperationOutcome, Refusal> {
    let mut state = queue.state();
    let QueueState { consumers, store, .. } = &mut *state;
    let call = consumers.call(answered);
    let entries = entries.inspect_err(|_| consumers.statistics.refused_calls += 1)?;
    let replaced = call.fault.replaces_answer();
    if replaced == Some(false) {
        consumers.count_failed_call(&call.fault, entries.len());
        return Ok(OperationOutcome::Fault(call.fault));
    }
    store.settle(Instant::now());
    let (mut answers, mut good) = (AnswersById::default(), Vec::new());
    for entry in &entries {
        let id = entry["Id"].as_str().unwrap_or_default();
        match check(store, entry) {
            Ok(to_do) => good.push((id, to_do)),
            Err(refusal) => answers.refuse(id, &refusal),
        }
    }
    consumers.count_refused_entries(answers.failed.len());
    let cost = Cost {
        demand: Demand::new(Place::default(), 1.0),
        is_hot: false,
    };
    let verdicts = consumers.decide(&call, &vec![cost; good.len()]);
    for ((id, to_do), verdict) in good.into_iter().zip(verdicts) {
        if verdict.is_applied() {
            act(store, to_do);
        }
        answers.add(id, EntryResult::of(verdict, 0), THROTTLED, |_| json!({"Id": id}));
    }
    if replaced.is_some() {
        consumers.count_failed_call(&call.fault, 0);
        return Ok(OperationOutcome::Fault(call.fault));
    }
    answers.add_of_fault(&call.fault, |id| [json!({"Id": id}), failure_of_never_sent(id)]);
    let answer = json!({"Successful": answers.successful, "Failed": answers.failed});
    Ok(OperationOutcome::Success(answer))
}

/// The handle of a message that has been received this often.
pub(super) fn handle(number: u64, receives: u32) -> String {
    URL_SAFE.encode(format!("{number}:{receives}"))
}

/// The number of the message, and how often it had been received when it got this handle.
fn read_handle(handle: &Value) -> Option<(u64, u32)> {
    let text = String::from_utf8(URL_SAFE.decode(handle.as_str()?).ok()?).ok()?;
    let (number, receives) = text.split_once(':')?;
    Some((number.parse().ok()?, receives.parse().ok()?))
}
