//! A key whose item is read.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::types::AttributeValue;

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

    /// The primary key, without a clone.
    pub fn into_key(self) -> Attributes {
        self.key
    }

    /// Takes the item, if it was read. If the read was delivered and there is none, the table has no item with this key.
    pub fn take_item(&self) -> Option<Attributes> {
        self.item.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn put_item(&self, item: Attributes) {
        *self.item.lock().unwrap_or_else(PoisonError::into_inner) = Some(item);
    }
}

/// Without the key, which is content of the entry.
impl fmt::Debug for KeyRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRead").finish_non_exhaustive()
    }
}
