//! Undelivered entries whose receipts were dropped.

use std::sync::{Arc, PoisonError};

use crate::report::Undelivered;
use crate::sync::Mutex;

/// Undelivered entries that were handed back to receipts, which were dropped before they were asked. A clone is the same.
#[derive(Debug)]
pub(super) struct Unclaimed<E>(Arc<Mutex<Vec<Undelivered<E>>>>);

impl<E> Clone for Unclaimed<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E> Default for Unclaimed<E> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<E> Unclaimed<E> {
    pub(super) fn push(&self, undelivered: Undelivered<E>) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push(undelivered);
    }

    pub(super) fn take(&self) -> Vec<Undelivered<E>> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
