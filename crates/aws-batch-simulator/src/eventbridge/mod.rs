//! The part of EventBridge that accepts events: `PutEvents`, and `DescribeEventBus`.

mod bus;
mod options;
mod put;
mod request;

use std::sync::Arc;

use serde_json::{Value, json};

use super::Inner;
use super::journal::Heard;
use super::wire::{Outcome, Refusal, unknown_operation};

pub use self::bus::EventBus;
pub use self::options::EventBusOptions;

/// The bus of events and requests that do not name one.
const DEFAULT: &str = "default";

pub(crate) fn operate(simulator: &Arc<Inner>, operation: &str, body: Value, heard: &Heard) -> Outcome {
    match operation {
        "PutEvents" => put::put(simulator, body, heard),
        "DescribeEventBus" => describe(simulator, &body).into(),
        _ => unknown_operation().into(),
    }
}

/// The answer to a call that is throttled as a whole.
pub(crate) fn throttled() -> Refusal {
    Refusal::new(THROTTLED.0, THROTTLED.1)
}

/// Code and message of throttled events and calls.
const THROTTLED: (&str, &str) = ("ThrottlingException", "Rate exceeded");

fn describe(simulator: &Inner, body: &Value) -> Result<Value, Refusal> {
    let name = short(body["Name"].as_str().unwrap_or(DEFAULT));
    let bus = simulator
        .buses
        .find(name)
        .ok_or_else(|| Refusal::new("ResourceNotFoundException", format!("Event bus {name} does not exist.")))?;
    Ok(json!({"Name": bus.name(), "Arn": bus.arn()}))
}

/// The name in an ARN, or a name as it is.
fn short(name: &str) -> &str {
    name.rsplit_once(":event-bus/").map_or(name, |(_, name)| name)
}
