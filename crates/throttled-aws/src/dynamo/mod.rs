//! Calls to `DynamoDB` that take capacity.

mod batch;
mod consumed;
mod operation;
mod plan;
mod refusals;
mod table;

use self::operation::Operation;
pub(crate) use self::plan::{TableCall, tables_of};
pub(crate) use self::table::Table;

/// Whether the operation takes capacity.
pub(crate) fn is_limited(operation: &str) -> bool {
    Operation::named(operation).is_some()
}
