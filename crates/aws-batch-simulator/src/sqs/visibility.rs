//! `ChangeMessageVisibilityBatch`.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::named_queue;
use super::receive::{LONGEST_VISIBILITY, read_handle};
use super::request::check_entries;
use crate::Inner;
use crate::wire::Refusal;

pub(super) fn change(simulator: &Inner, body: &Value) -> Result<Value, Refusal> {
    let queue = named_queue(simulator, body)?;
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
