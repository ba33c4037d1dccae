//! When deliveries that share a strategy last logged a warning.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// When each destination was last the subject of a warning.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<HashMap<String, Instant>>);

impl Warnings {
    /// Whether no warning about the destination was logged for `quiet`. If so, a warning counts as logged now.
    pub(crate) fn may_warn(&self, destination: &str, now: Instant, quiet: Duration) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.get(destination).is_some_and(|last| now - *last < quiet) {
            return false;
        }
        last.insert(destination.to_owned(), now);
        true
    }
}
