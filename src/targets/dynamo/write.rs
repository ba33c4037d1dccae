//! A write, and the table that it is for.

use aws_sdk_dynamodb::types::WriteRequest;

/// A put or a delete, and the table that it is for.
#[derive(Debug, Clone, PartialEq)]
pub struct TableWrite {
    /// The table's name or ARN, spelled as the delivery was told.
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
