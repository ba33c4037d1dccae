//! Undelivered entries whose receipts were dropped.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use crate::events::UNCLAIMED;
use crate::report::{Causes, Undelivered};
use crate::sync::Mutex;

/// The shortest time between two warnings.
const QUIET: Duration = Duration::from_mins(1);

/// Undelivered entries whose receipts were dropped. A clone is the same.
///
/// A producer may run for months, so without a handler that takes them only the first ones are kept until the close, and the
/// others are counted.
#[derive(Debug)]
pub(super) struct Unclaimed<E>(Arc<Shared<E>>);

#[derive(Debug)]
struct Shared<E> {
    destination: String,
    /// How many are kept; `None` if a handler takes them all.
    most: Option<usize>,
    state: Mutex<State<E>>,
}

#[derive(Debug)]
struct State<E> {
    kept: Vec<Undelivered<E>>,
    /// The causes of the others.
    others: Causes,
    warned: Option<Instant>,
    /// Entries since the last warning.
    unwarned: u64,
}

/// What was handed back and not claimed.
pub(super) struct Taken<E> {
    pub(super) kept: Vec<Undelivered<E>>,
    /// The causes of those that were only counted.
    pub(super) others: Causes,
}

impl<E> Clone for Unclaimed<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E> Unclaimed<E> {
    /// None so far, of a producer to this destination. A handler takes all of them, or `most` are kept.
    pub(super) fn of(destination: String, most: Option<usize>) -> Self {
        Self(Arc::new(Shared {
            destination,
            most,
            state: Mutex::new(State {
                kept: Vec::new(),
                others: Causes::default(),
                warned: None,
                unwarned: 0,
            }),
        }))
    }

    /// Keeps or counts an entry. Returns it if a handler takes it.
    pub(super) fn offer(&self, undelivered: Undelivered<E>) -> Option<Undelivered<E>> {
        if self.0.most.is_none() {
            return Some(undelivered);
        }
        self.push(undelivered);
        None
    }

    /// Keeps or counts an entry.
    pub(super) fn push(&self, undelivered: Undelivered<E>) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        state.unwarned += 1;
        let is_quiet = state.warned.is_some_and(|warned| now - warned < QUIET);
        let warning = (!is_quiet).then(|| (std::mem::take(&mut state.unwarned), undelivered.cause.to_string()));
        if warning.is_some() {
            state.warned = Some(now);
        }
        if self.0.most.is_none_or(|most| state.kept.len() < most) {
            state.kept.push(undelivered);
        } else {
            state.others.add(&undelivered.cause);
        }
        drop(state);
        if let Some((entries, cause)) = warning {
            let destination = &*self.0.destination;
            warn!(target: UNCLAIMED, destination, entries, cause, "an entry was not delivered, and its receipt was dropped");
        }
    }

    pub(super) fn take(&self) -> Taken<E> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        Taken {
            kept: std::mem::take(&mut state.kept),
            others: std::mem::take(&mut state.others),
        }
    }
}
