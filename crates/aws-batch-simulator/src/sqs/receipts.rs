//! `DeleteMessageBatch` and `ChangeMessageVisibilityBatch`, whose entries have receipt handles.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::queue::{Queue, Queues};
use super::request::{check_entries, queue_of};
use super::store::Store;
use crate::admission::{Demand, Place};
use crate::calls::{Cost, Verdict};
use crate::journal::Answered;
use crate::wire::{Outcome, Refusal};

/// Seconds that a received message may be hidden: twelve hours.
pub(super) const LONGEST_VISIBILITY: u64 = 43_200;

pub(super) fn delete(queues: &Queues, body: &Value, answered: &Answered) -> Result<Outcome, Refusal> {
    let queue = queue_of(queues, body)?;
    let entries = check_entries(
        "DeleteMessageBatchRequestEntry",
        "ReceiptHandle",
        body["Entries"].clone(),
    )?;
    let is_fifo = queue.is_fifo();
    let delete = |store: &mut Store, entry: &Value| {
        let (number, receives) = read_handle(&entry["ReceiptHandle"]).ok_or(INVALID_HANDLE)?;
        let message = store.get(number);
        if is_fifo && message.is_some() && !store.is_held(number, receives) {
            return Err((
                "InvalidParameterValue",
                "Value for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
            ));
        }
        // A standard queue answers an older receipt handle with success, but deletes nothing.
        if message.is_some_and(|message| message.receives == receives) {
            store.remove(number);
        }
        Ok(())
    };
    let outcome = apply(&queue, &entries, answered, delete);
    // The next messages of a group may be received.
    queue.arrivals().notify_waiters();
    Ok(outcome)
}

pub(super) fn change_visibility(queues: &Queues, body: &Value, answered: &Answered) -> Result<Outcome, Refusal> {
    let queue = queue_of(queues, body)?;
    let entries = check_entries(
        "ChangeMessageVisibilityBatchRequestEntry",
        "ReceiptHandle",
        body["Entries"].clone(),
    )?;
    let now = Instant::now();
    let change = |store: &mut Store, entry: &Value| {
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
        // A message that is visible again stays so, and the answer is a success.
        store.hide(number, until);
        Ok(())
    };
    let outcome = apply(&queue, &entries, answered, change);
    queue.state().store.settle(now);
    queue.arrivals().notify_waiters();
    Ok(outcome)
}

const INVALID_HANDLE: (&str, &str) = ("ReceiptHandleIsInvalid", "The input receipt handle is invalid.");

/// Applies the call to the messages of the entries, except for those that fail by a fault. `act` returns why an entry fails.
fn apply(
    queue: &Queue,
    entries: &[Value],
    answered: &Answered,
    act: impl Fn(&mut Store, &Value) -> Result<(), (&'static str, &'static str)>,
) -> Outcome {
    let mut state = queue.state();
    let state = &mut *state;
    let call = state.consumers.call(answered);
    let replaced = call.fault.replaces_answer();
    let cost = Cost {
        demand: Demand::new(Place::default(), 1.0),
        is_hot: false,
    };
    let verdicts = match replaced {
        Some(true) => vec![Verdict::Accepted; entries.len()],
        Some(false) => {
            state.consumers.count_failed_call(&call.fault, entries.len());
            return Outcome::Fault(call.fault);
        }
        None => state.consumers.decide(&call, &vec![cost; entries.len()]),
    };
    state.store.settle(Instant::now());
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    let failure = |entry: &Value, code: &str, sender_fault: bool, message: &str| json!({"Id": entry["Id"], "Code": code, "SenderFault": sender_fault, "Message": message});
    for (entry, verdict) in entries.iter().zip(verdicts) {
        let applied = if verdict.is_applied() {
            act(&mut state.store, entry)
        } else {
            Ok(())
        };
        match (verdict, applied) {
            (Verdict::Accepted, Ok(())) => successful.push(json!({"Id": entry["Id"]})),
            (Verdict::Accepted, Err((code, message))) => failed.push(failure(entry, code, true, message)),
            (Verdict::Throttled(_), _) => failed.push(failure(entry, "RequestThrottled", true, "Rate exceeded")),
            (Verdict::Failed { code, sender_fault }, _) => {
                failed.push(failure(entry, &code, sender_fault, "Simulated failure"));
            }
            // Only tables have conditions and transactions.
            (Verdict::Omitted { .. } | Verdict::ConditionFailed | Verdict::Canceled, _) => {}
        }
    }
    if replaced.is_some() {
        state.consumers.count_failed_call(&call.fault, 0);
        return Outcome::Fault(call.fault);
    }
    Outcome::Success(json!({"Successful": successful, "Failed": failed}))
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
