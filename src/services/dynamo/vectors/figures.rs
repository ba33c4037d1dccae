//! What the vector indexes of a table make of its items.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::warn;

use super::super::calls::short_name;
use crate::events::UNINDEXED;
use crate::log_limit::LogLimit;

/// What the vector indexes of a table make of the items that were checked so far, by all clones of the target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VectorFigures {
    /// Items with a vector that are written, and that an index silently leaves out, because they lack its partition key.
    pub unindexed: u64,
    /// Bytes that DynamoDB bills for writing the items into the vector indexes, its `VectorWriteRequestBytes`, if each item is
    /// written once and was not there before: 4 bytes for each dimension and the projected attributes, 1,024 at least.
    pub write_bytes: u64,
}

/// The counts, shared by the clones of a target.
#[derive(Debug, Clone, Default)]
pub(in crate::services::dynamo) struct VectorCounts {
    pub(super) refuses_unindexed: bool,
    unindexed: Arc<AtomicU64>,
    write_bytes: Arc<AtomicU64>,
    warnings: Arc<Mutex<LogLimit>>,
}

impl VectorCounts {
    /// Whether an item that an index would leave out is refused.
    pub(in crate::services::dynamo) fn set_refuses(&mut self, refuses: bool) {
        self.refuses_unindexed = refuses;
    }

    /// Counts the bytes of an item in the indexes that it is in.
    pub(super) fn add(&self, bytes: usize) {
        self.write_bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(in crate::services::dynamo) fn figures(&self) -> VectorFigures {
        VectorFigures {
            unindexed: self.unindexed.load(Relaxed),
            write_bytes: self.write_bytes.load(Relaxed),
        }
    }

    /// Counts an item that an index leaves out, and warns about it.
    pub(super) fn unindexed(&self, table: &str, index: &str, key: &str) {
        let entries = self.unindexed.fetch_add(1, Relaxed) + 1;
        if self.warnings.lock().unwrap_or_else(PoisonError::into_inner).permits() {
            warn!(
                target: UNINDEXED,
                destination = format!("dynamodb/{}", short_name(table)),
                index,
                key,
                entries,
                "items with a vector lack the partition key of the vector index: they are written, but not in the index"
            );
        }
    }
}
