//! Calls to `DynamoDB` that take capacity.

mod batch;
mod change;
mod consumed;
mod index;
mod key_condition;
mod keys;
mod operation;
mod plan;
mod read;
mod refusals;
mod table;
mod taken;
mod update;
mod write;

use self::operation::Operation;
pub(crate) use self::plan::{TableCall, tables_of};
pub(crate) use self::table::Table;
pub(crate) use self::write::replaced_by;

/// Whether the operation takes capacity.
pub(crate) fn is_limited(operation: &str) -> bool {
    Operation::named(operation).is_some()
}
