//! The part of EventBridge that accepts events: `PutEvents`, and `DescribeEventBus`.

mod bus;
mod put;

use serde_json::{Value, json};

use self::bus::{Buses, bus_name};
pub use self::bus::{EventBus, EventBusOptions};
use crate::journal::AnswerReceipt;
use crate::wire::{Api, OperationOutcome, Protocol, Refusal};

pub(crate) const API: Api = Api {
    protocol: Protocol::Json11,
    namespace: "",
    has_checksums: false,
    has_query_errors: false,
    throttled: put::throttled,
};

pub(crate) fn operate(buses: &Buses, operation: &str, body: Value, answered: &AnswerReceipt) -> OperationOutcome {
    match operation {
        "PutEvents" => put::put(buses, body, answered),
        "DescribeEventBus" => describe(buses, &body).into(),
        _ => Refusal::unknown_operation().into(),
    }
}

fn describe(buses: &Buses, body: &Value) -> Result<Value, Refusal> {
    let name = bus_name(&body["Name"]);
    let bus = buses
        .find(name)
        .ok_or_else(|| Refusal::new("ResourceNotFoundException", format!("Event bus {name} does not exist.")))?;
    Ok(json!({"Name": bus.name(), "Arn": bus.arn()}))
}
