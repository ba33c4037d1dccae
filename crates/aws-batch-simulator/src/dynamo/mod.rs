//! The part of `DynamoDB` that writes and reads batches, and describes and reads tables.

mod batch;
mod consumed;
mod describe;
mod get;
mod index;
mod items;
mod key;
mod number;
mod options;
mod read;
mod request;
mod table;
mod throttling;
mod value;

use std::sync::Arc;

use serde_json::Value;

use super::Inner;
use super::journal::Heard;
use super::wire::{Outcome, Refusal, unknown_operation};

pub use self::index::IndexOptions;
pub use self::key::KeyType;
pub use self::options::TableOptions;
pub use self::table::Table;
pub(crate) use self::throttling::throughput_exceeded;

pub(crate) fn operate(simulator: &Arc<Inner>, operation: &str, mut body: Value, heard: &Heard) -> Outcome {
    match operation {
        "BatchGetItem" => get::get(simulator, &mut body),
        "BatchWriteItem" => batch::write(simulator, body, heard),
        "DescribeTable" => describe::describe(simulator, &body).into(),
        "GetItem" => read::get(simulator, &body).into(),
        "Scan" => read::scan(simulator, &body).into(),
        _ => unknown_operation().into(),
    }
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
        .tables
        .find(short)
        .ok_or_else(|| Refusal::new("ResourceNotFoundException", "Requested resource not found"))
}

fn named_table(simulator: &Inner, body: &Value) -> Result<Table, Refusal> {
    let name = body["TableName"]
        .as_str()
        .ok_or_else(|| invalid("The parameter 'TableName' is required but was not present in the request"))?;
    find_table(simulator, name)
}
