//! The part of `DynamoDB` that writes and reads batches, and describes and reads tables.

mod batch;
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

use serde_json::Value;

pub use self::index::IndexOptions;
pub use self::key::KeyType;
pub use self::options::TableOptions;
pub use self::table::Table;
use self::table::Tables;
use crate::journal::Answered;
use crate::wire::{Api, Outcome, Protocol, Refusal};

pub(crate) const API: Api = Api {
    protocol: Protocol::Json10,
    namespace: "com.amazonaws.dynamodb.v20120810#",
    has_checksums: true,
    has_query_errors: false,
    throttled: throttling::throughput_exceeded,
};

pub(crate) fn operate(tables: &Tables, operation: &str, mut body: Value, answered: &Answered) -> Outcome {
    match operation {
        "BatchGetItem" => get::get(tables, &mut body).into(),
        "BatchWriteItem" => batch::write(tables, body, answered).into(),
        "DescribeTable" => describe::describe(tables, &body).into(),
        "GetItem" => read::get(tables, &body).into(),
        "Scan" => read::scan(tables, &body).into(),
        _ => Refusal::unknown_operation().into(),
    }
}
