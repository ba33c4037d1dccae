//! `DeleteMessageBatch` and `ChangeMessageVisibilityBatch`, whose entries have receipt handles.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::queue::Queues;
use super::request::{check_entries, queue_of};
use crate::wire::Refusal;

/// Seconds that a received message may be hidden: twelve hours.
pub(super) const LONGEST_VISIBILITY: u64 = 43_200;

pub(super) fn delete(queues: &Queues, body: &Value) -> Result<Value, Refusal> {
    let queue = queue_of(queues, body)?;
    let entries = check_entries("DeleteMessageBatchRequestEntry", body["Entries"].clone())?;
    let mut successful = Vec::new();
    let mut failed = Vec::new();
    let mut state = queue.state();
    let store = &mut state.store;
    store.settle(Instant::now());
    for entry in entries {
        let mut fail = |code: &str, message: &str| {
            failed.push(json!({"Id": entry["Id"], "Code": code, "SenderFault": true, "Message": message}));
        };
        let Some((number, receives)) = read_handle(&entry["ReceiptHandle"]) else {
            fail("ReceiptHandleIsInvalid", "The input receipt handle is invalid.");
            continue;
        };
        let message = store.get(number);
        if queue.is_fifo() && message.is_some() && !store.is_held(number, receives) {
            fail(
                "InvalidParameterValue",
                "Value for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
            );
            continue;
        }
        // A standard queue answers an older receipt handle with success, but deletes nothing.
        if message.is_some_and(|message| message.receives == receives) {
            store.remove(number);
        }
        successful.push(json!({"Id": entry["Id"]}));
    }
    Ok(json!({"Successful": successful, "Failed": failed}))
}

pub(super) fn change_visibility(queues: &Queues, body: &Value) -> Result<Value, Refusal> {
    let queue = queue_of(queues, body)?;
    let entries = check_entries("ChangeMessageVisibilityBatchRequestEntry", body["Entries"].clone())?;
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    let now = Instant::now();
    let mut state = queue.state();
    let store = &mut state.store;
    store.settle(now);
    for entry in entries {
        let mut fail = |code: &str, message: &str| {
            failed.push(json!({"Id": entry["Id"], "Code": code, "SenderFault": true, "Message": message}));
        };
        let timeout = entry["VisibilityTimeout"].as_u64();
        let Some(timeout) = timeout.filter(|timeout| *timeout <= LONGEST_VISIBILITY) else {
            fail(
                "InvalidParameterValue",
                "The visibility timeout must be between 0 and 43200 seconds.",
            );
            continue;
        };
        let Some((number, receives)) = read_handle(&entry["ReceiptHandle"]) else {
            fail("ReceiptHandleIsInvalid", "The input receipt handle is invalid.");
            continue;
        };
        let is_latest = store.get(number).is_some_and(|message| message.receives == receives);
        if is_latest && store.hide(number, now + Duration::from_secs(timeout)) {
            successful.push(json!({"Id": entry["Id"]}));
        } else {
            fail("MessageNotInflight", "The message is not in flight.");
        }
    }
    store.settle(now);
    drop(state);
    queue.arrivals().notify_waiters();
    Ok(json!({"Successful": successful, "Failed": failed}))
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
