//! The part of `DynamoDB` that takes batches and shows what it has.

mod batch;
mod key;
mod number;
mod options;
mod read;
mod request;
mod table;
mod value;

use std::sync::Arc;

use serde_json::{Value, json};

use super::Inner;
use super::admission::Throttle;
use super::journal::Heard;
use super::wire::{Outcome, Refusal, unknown_operation};

pub use self::key::KeyType;
pub use self::options::TableOptions;
pub use self::table::Table;

pub(crate) fn operate(simulator: &Arc<Inner>, operation: &str, body: Value, heard: &Heard) -> Outcome {
    match operation {
        "BatchWriteItem" => batch::write(simulator, body, heard),
        "DescribeTable" => read::describe(simulator, &body).into(),
        "GetItem" => read::get(simulator, &body).into(),
        "Scan" => read::scan(simulator, &body).into(),
        _ => unknown_operation().into(),
    }
}

/// The answer when nothing of a call could be processed.
pub(crate) fn throughput_exceeded() -> Refusal {
    Refusal::new(
        "ProvisionedThroughputExceededException",
        "The level of configured provisioned throughput for the table was exceeded. Consider increasing your \
         provisioning level with the UpdateTable API.",
    )
}

/// The same, with AWS's reason and the table it holds for.
fn throughput_exceeded_at(table: &Table, throttle: Throttle) -> Refusal {
    let reason = throttle.reason();
    throughput_exceeded().with(
        "ThrottlingReasons",
        json!([{"reason": reason, "resource": table.arn()}]),
    )
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new("com.amazon.coral.validate#ValidationException", message)
}

/// The table that a request names, by its name or its ARN.
fn find_table(simulator: &Inner, name: &str) -> Result<Table, Refusal> {
    let short = name
        .strip_prefix("arn:")
        .and_then(|arn| arn.split_once(":table/"))
        .map_or(name, |(_, name)| name);
    simulator
        .find_table(short)
        .ok_or_else(|| Refusal::new("ResourceNotFoundException", "Requested resource not found"))
}

fn named_table(simulator: &Inner, body: &Value) -> Result<Table, Refusal> {
    let name = body["TableName"]
        .as_str()
        .ok_or_else(|| invalid("The parameter 'TableName' is required but was not present in the request"))?;
    find_table(simulator, name)
}
