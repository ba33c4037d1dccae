//! How a table is made.

use super::key::{KeyType, Schema};
use crate::simulator::bucket::Capacity;

/// How a table is made.
///
/// # Default
/// No sort key, unlimited capacity, items are kept.
#[derive(Debug, Clone)]
pub struct TableOptions {
    pub(super) schema: Schema,
    pub(super) capacity: Capacity,
    pub(super) is_forgetful: bool,
}

impl TableOptions {
    /// A table with this partition key.
    pub fn key(name: impl Into<String>, kind: KeyType) -> Self {
        Self {
            schema: Schema {
                partition: (name.into(), kind),
                sort: None,
            },
            capacity: Capacity::unlimited(),
            is_forgetful: false,
        }
    }

    /// And this sort key.
    #[must_use]
    pub fn sort_key(mut self, name: impl Into<String>, kind: KeyType) -> Self {
        self.schema.sort = Some((name.into(), kind));
        self
    }

    /// Write units a second.
    #[must_use]
    pub fn capacity(mut self, capacity: impl Into<Capacity>) -> Self {
        self.capacity = capacity.into();
        self
    }

    /// Items are counted and forgotten, so that any number of them takes no memory.
    #[must_use]
    pub fn forgetful(mut self) -> Self {
        self.is_forgetful = true;
        self
    }
}
