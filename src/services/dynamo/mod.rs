//! DynamoDB: writes to one table or several by `BatchWriteItem`, single writes with conditions and updates, transactions, and
//! reads from one table by `BatchGetItem`. Whole tables are read by [`sources`](crate::sources).

mod assignments;
mod attempts;
mod body;
mod calls;
mod cancellation;
mod check;
mod correlate;
mod describe;
mod equality;
mod expression;
mod index_keys;
mod item_calls;
mod item_write;
mod key;
#[cfg(not(feature = "vector-indexes"))]
mod no_vectors;
mod number;
mod page;
mod pages;
mod reads;
mod size;
#[cfg(feature = "spool")]
mod sorted_body;
mod table;
mod tables;
#[cfg(test)]
mod testing;
mod throttling;
mod throughput;
mod transaction;
mod transactions;
#[cfg(feature = "vector-indexes")]
mod unindexed;
#[cfg(feature = "vector-indexes")]
mod vectors;
mod writes;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};

#[cfg(not(feature = "vector-indexes"))]
use no_vectors as vectors;

use crate::debug::debug_fields;

pub use attempts::FailedCondition;
pub use item_write::ItemWrite;
pub(crate) use page::{Page, PageRead, PageRequest};
pub(crate) use pages::Pages;
pub use reads::{DynamoReads, MAX_ANSWER_BYTES, MAX_KEYS};
pub use size::item_size;
pub use table::{DynamoTable, MAX_BODY_BYTES, MAX_ITEM_BYTES, MAX_REQUESTS};
pub use tables::DynamoTables;
pub use transaction::{MAX_ACTIONS, MAX_TRANSACTION_BYTES, Transaction};
pub use transactions::DynamoTransactions;
#[cfg(feature = "vector-indexes")]
pub use vectors::VectorFigures;
pub use writes::DynamoWrites;

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

type Attributes = HashMap<String, AttributeValue>;

/// A key whose item is read, and the item once it was read. A clone shares the item.
#[derive(Clone)]
pub struct KeyRead {
    key: Attributes,
    item: Arc<Mutex<Option<Attributes>>>,
}

impl KeyRead {
    /// Reads the item with this primary key: its partition key, and the sort key if the table has one.
    pub fn new(key: Attributes) -> Self {
        Self {
            key,
            item: Arc::default(),
        }
    }

    /// The primary key.
    pub fn key(&self) -> &Attributes {
        &self.key
    }

    /// Takes the item, if it was read. If the read was delivered and there is none, the table has no item with this key.
    pub fn take_item(&self) -> Option<Attributes> {
        self.item.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put_item(&self, item: Attributes) {
        *self.item.lock().unwrap_or_else(PoisonError::into_inner) = Some(item);
    }
}

// Without the key, which is content of the entry.
debug_fields!(KeyRead);
