//! The operations that take capacity.

/// An operation on tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    BatchWriteItem,
    BatchGetItem,
    TransactWriteItems,
    PutItem,
    UpdateItem,
    DeleteItem,
    GetItem,
    Query,
    Scan,
}

impl Operation {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "BatchWriteItem" => Self::BatchWriteItem,
            "BatchGetItem" => Self::BatchGetItem,
            "TransactWriteItems" => Self::TransactWriteItems,
            "PutItem" => Self::PutItem,
            "UpdateItem" => Self::UpdateItem,
            "DeleteItem" => Self::DeleteItem,
            "GetItem" => Self::GetItem,
            "Query" => Self::Query,
            "Scan" => Self::Scan,
            _ => return None,
        })
    }

    pub(super) fn is_read(self) -> bool {
        matches!(self, Self::BatchGetItem | Self::GetItem | Self::Query | Self::Scan)
    }

    pub(super) fn is_batch(self) -> bool {
        matches!(self, Self::BatchWriteItem | Self::BatchGetItem)
    }

    /// The members with the entries that were not processed, and of a request.
    pub(super) fn unprocessed(self) -> &'static str {
        if self == Self::BatchGetItem {
            "UnprocessedKeys"
        } else {
            "UnprocessedItems"
        }
    }
}
