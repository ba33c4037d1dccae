//! A write, together with its table.

use aws_sdk_dynamodb::types::WriteRequest;

/// A put or a delete, together with its table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableWrite {
    /// The table's name or ARN, in the same spelling as in the delivery.
    pub table: String,
    /// The put or the delete.
    pub request: WriteRequest,
}

impl TableWrite {
    /// A write to this table.
    pub fn new(table: impl Into<String>, request: WriteRequest) -> Self {
        Self {
            table: table.into(),
            request,
        }
    }
}
