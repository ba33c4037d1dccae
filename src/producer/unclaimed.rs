//! Undelivered entries whose receipts were dropped.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, PoisonError};

use tracing::warn;

use crate::engine::Delivered;
use crate::events::UNCLAIMED;
use crate::log_limit::LogLimit;
use crate::report::{Causes, DeliveryError, Report, Undelivered};
use crate::sync::{Mutex, MutexGuard};

/// Undelivered entries whose receipts were dropped. A clone is the same.
///
/// A producer may run for months, so without a handler that takes them only the first ones are kept until the close, and the
/// others are counted.
#[derive(Debug)]
pub(super) struct UnclaimedEntries<E>(Arc<Shared<E>>);

#[derive(Debug)]
struct Shared<E> {
    destination: String,
    /// How many are kept, unless a handler takes them all.
    most: usize,
    /// Whether the handler has panicked, if there is one.
    handler: OnceLock<Arc<AtomicBool>>,
    /// Whether they are neither kept nor reported.
    are_ignored: AtomicBool,
    state: Mutex<UnclaimedState<E>>,
}

#[derive(Debug)]
struct UnclaimedState<E> {
    kept: Vec<Undelivered<E>>,
    /// The causes of the others.
    others: Causes,
    warnings: LogLimit,
    /// Entries since the last warning.
    unwarned: u64,
    /// The result of the producer, until the first close has it.
    left: Option<Delivered<E>>,
}

impl<E> Clone for UnclaimedEntries<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E> UnclaimedEntries<E> {
    /// None so far, of a producer to this destination; `most` are kept.
    pub(super) fn of(destination: String, most: usize) -> Self {
        Self(Arc::new(Shared {
            destination,
            most,
            handler: OnceLock::new(),
            are_ignored: AtomicBool::new(false),
            state: Mutex::new(UnclaimedState {
                kept: Vec::new(),
                others: Causes::default(),
                warnings: LogLimit::default(),
                unwarned: 0,
                left: None,
            }),
        }))
    }

    /// A handler takes all of them, until it has panicked.
    pub(super) fn leave_to_handler(&self, has_panicked: Arc<AtomicBool>) {
        self.0.handler.get_or_init(|| has_panicked);
    }

    /// Neither keeps nor reports any from now on.
    #[cfg(any(feature = "dynamodb", feature = "sqs"))]
    pub(super) fn ignore(&self) {
        self.0.are_ignored.store(true, Relaxed);
    }

    fn handler_takes_them(&self) -> bool {
        self.0
            .handler
            .get()
            .is_some_and(|has_panicked| !has_panicked.load(Relaxed))
    }

    /// Keeps or counts an entry. Returns it if a handler takes it.
    pub(super) fn offer(&self, undelivered: Undelivered<E>) -> Option<Undelivered<E>> {
        if self.handler_takes_them() {
            return Some(undelivered);
        }
        self.push(undelivered);
        None
    }

    /// Keeps or counts an entry.
    pub(super) fn push(&self, undelivered: Undelivered<E>) {
        if self.0.are_ignored.load(Relaxed) {
            return;
        }
        let mut state = self.state();
        state.unwarned += 1;
        let may_warn = state.warnings.permits();
        let warning = may_warn.then(|| (std::mem::take(&mut state.unwarned), undelivered.cause.to_string()));
        if state.kept.len() < self.0.most || self.handler_takes_them() {
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

    /// What was handed back and not claimed so far, and the causes of those that were only counted.
    pub(super) fn take(&self) -> (Vec<Undelivered<E>>, Causes) {
        let mut state = self.state();
        (std::mem::take(&mut state.kept), std::mem::take(&mut state.others))
    }

    /// Keeps the result of the producer for the first close.
    pub(super) fn leave(&self, outcome: Delivered<E>) {
        self.state().left = Some(outcome);
    }

    /// The result for one who closes the producer, which has this report: the first gets the entries whose receipts were dropped, and
    /// each later one those whose receipts were dropped since.
    pub(super) fn result(&self, report: Report) -> Result<Report, DeliveryError<E>> {
        let left = self.state().left.take();
        let mut outcome = left.unwrap_or_else(|| Delivered::of(report));
        let (kept, others) = self.take();
        outcome.undelivered.extend(kept);
        outcome.taken.extend(others);
        outcome.undelivered.sort_by_key(|undelivered| undelivered.position);
        outcome.into_result()
    }

    fn state(&self) -> MutexGuard<'_, UnclaimedState<E>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
