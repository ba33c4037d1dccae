//! `DeleteMessageBatch` and `ChangeMessageVisibilityBatch`, whose entries have receipt handles.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::queue::{Queue, QueueState, Queues};
use super::request::{check_entries, queue_of};
use super::store::Store;
use crate::admission::{Demand, Place};
use crate::calls::{Cost, Verdict};
use crate::fault::InjectedFault;
use crate::journal::AnswerReceipt;
use crate::wire::{OperationOutcome, Refusal};

/// Seconds that a received message may be hidden: twelve hours.
pub(super) const LONGEST_VISIBILITY: u64 = 43_200;

/// Why an entry fails by itself: a code and a message.
type EntryFailure = (&'static str, &'static str);

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
            return Err((
                "InvalidParameterValue",
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
        let timeout = timeout.filter(|timeout| *timeout <= LONGEST_VISIBILITY).ok_or((
            "InvalidParameterValue",
            "The visibility timeout must be between 0 and 43200 seconds.",
        ))?;
        let (number, receives) = read_handle(&entry["ReceiptHandle"]).ok_or(INVALID_HANDLE)?;
        let latest = store.get(number).filter(|message| message.receives == receives);
        let received_at = latest.and_then(|message| message.received_at);
        let until = now + Duration::from_secs(timeout);
        if received_at.is_some_and(|at| until > at + Duration::from_secs(LONGEST_VISIBILITY)) {
            return Err((
                "InvalidParameterValue",
                "Total VisibilityTimeout for the message is beyond the limit [43200 seconds].",
            ));
        }
        if latest.is_none() {
            return Err((
                "InvalidParameterValue",
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

const INVALID_HANDLE: EntryFailure = ("ReceiptHandleIsInvalid", "The input receipt handle is invalid.");

/// Counts the call and applies it to the messages of the entries, except for those that fail by themselves or by a fault. `check` finds
/// what there is to do for an entry, or why it fails.
fn answer<T>(
    queue: &Queue,
    entries: Result<Vec<Value>, Refusal>,
    answered: &AnswerReceipt,
    check: impl Fn(&Store, &Value) -> Result<T, EntryFailure>,
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
    let (mut successful, mut failed, mut good) = (Vec::new(), Vec::new(), Vec::new());
    for entry in &entries {
        match check(store, entry) {
            Ok(to_do) => good.push((&entry["Id"], to_do)),
            Err((code, message)) => failed.push(failure(&entry["Id"], code, true, message)),
        }
    }
    consumers.count_refused_entries(failed.len());
    let cost = Cost {
        demand: Demand::new(Place::default(), 1.0),
        is_hot: false,
    };
    let verdicts = consumers.decide(&call, &vec![cost; good.len()]);
    for ((id, to_do), verdict) in good.into_iter().zip(verdicts) {
        if verdict.is_applied() {
            act(store, to_do);
        }
        match verdict {
            Verdict::Accepted => successful.push(json!({"Id": id})),
            Verdict::Throttled(_) => failed.push(failure(id, "RequestThrottled", true, "Rate exceeded")),
            Verdict::Failed { code, sender_fault } => {
                failed.push(failure(id, &code, sender_fault, "Simulated failure"));
            }
            // Only tables have conditions and transactions.
            Verdict::Omitted { .. } | Verdict::ConditionFailed | Verdict::Canceled => {}
        }
    }
    if replaced.is_some() {
        consumers.count_failed_call(&call.fault, 0);
        return Ok(OperationOutcome::Fault(call.fault));
    }
    match call.fault {
        InjectedFault::Repeated(_) => failed.extend_from_within(..),
        InjectedFault::Unknown(count) => {
            for number in 0..count {
                let id = json!(format!("never-sent-{number}"));
                failed.push(failure(&id, "InternalError", false, "Simulated failure"));
                successful.push(json!({"Id": id}));
            }
        }
        _ => {}
    }
    Ok(OperationOutcome::Success(
        json!({"Successful": successful, "Failed": failed}),
    ))
}

fn failure(id: &Value, code: &str, sender_fault: bool, message: &str) -> Value {
    json!({"Id": id, "Code": code, "SenderFault": sender_fault, "Message": message})
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
