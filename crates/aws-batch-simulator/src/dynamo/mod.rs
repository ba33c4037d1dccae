//! The part of `DynamoDB` that writes and reads items, alone and in batches, and describes and reads tables.

mod actions;
mod batch;
mod cancellation;
#[cfg(test)]
mod captured;
mod change;
mod consumed;
mod decision;
mod describe;
mod evaluation;
mod expressions;
mod get;
mod index;
mod items;
mod key;
mod number;
mod options;
mod query;
mod reading;
#[cfg(test)]
mod recorded;
mod request;
mod scan;
mod single;
mod stored;
mod table;
mod tables;
mod throttling;
mod tokens;
mod transaction;
mod value;
mod vector_index;
mod wording;

use serde_json::Value;

use self::change::ChangeKind;
pub use self::index::IndexOptions;
pub use self::key::KeyType;
pub use self::options::TableOptions;
pub use self::table::Table;
use self::tables::Tables;
pub(crate) use self::tokens::Tokens;
pub use self::value::item_size;
pub use self::vector_index::VectorIndexOptions;
use crate::journal::AnswerReceipt;
use crate::wire::{Api, OperationOutcome, Protocol, Refusal};

pub(crate) const API: Api = Api {
    protocol: Protocol::Json10,
    namespace: "com.amazonaws.dynamodb.v20120810#",
    has_checksums: true,
    has_query_errors: false,
    throttled: throttling::throughput_exceeded,
};

pub(crate) fn operate(
    tables: &Tables,
    tokens: &Tokens,
    operation: &str,
    mut body: Value,
    answered: &AnswerReceipt,
) -> OperationOutcome {
    match operation {
        "BatchGetItem" => get::get(tables, &mut body, answered).into(),
        "BatchWriteItem" => batch::write(tables, body, answered).into(),
        "DeleteItem" => single::write(tables, ChangeKind::Delete, body, answered).into(),
        "DescribeTable" => describe::describe(tables, &body).into(),
        "GetItem" => get::get_item(tables, &body).into(),
        "PutItem" => single::write(tables, ChangeKind::Put, body, answered).into(),
        "Query" => query::query(tables, &body, answered).into(),
        "Scan" => scan::scan(tables, &body, answered).into(),
        "TransactWriteItems" => transaction::write(tables, tokens, body, answered).into(),
        "UpdateItem" => single::write(tables, ChangeKind::Update, body, answered).into(),
        _ => Refusal::unknown_operation().into(),
    }
}
