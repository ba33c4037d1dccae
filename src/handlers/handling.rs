//! The handlers during one delivery.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};

use futures::FutureExt;
use tracing::warn;

use super::Handlers;
use crate::events::HANDLER;
use crate::fate::Fate;
use crate::report::{Causes, Undelivered};
use crate::sync::{Mutex, MutexGuard};

/// The handlers during one delivery.
///
/// A handler that panics is not called again: later undelivered entries are kept, as without a handler.
pub(crate) struct Handling<E> {
    handlers: Handlers<E>,
    delivered_panicked: AtomicBool,
    undelivered_panicked: AtomicBool,
    /// The causes of the entries that the handler took.
    causes: Mutex<Causes>,
}

impl<E> Handling<E> {
    /// `None` if there is no handler.
    pub(crate) fn of(handlers: &Handlers<E>) -> Option<Arc<Self>> {
        (!handlers.are_none()).then(|| {
            Arc::new(Self {
                handlers: handlers.clone(),
                delivered_panicked: AtomicBool::new(false),
                undelivered_panicked: AtomicBool::new(false),
                causes: Mutex::default(),
            })
        })
    }

    /// The causes of the entries that the handler took.
    pub(crate) fn causes(&self) -> Causes {
        self.causes_so_far().clone()
    }

    /// Reports that an entry was delivered or superseded.
    pub(super) fn resolve(&self, position: u64, fate: &Fate) {
        if let Some(delivered) = &self.handlers.delivered
            && !self.delivered_panicked.load(Relaxed)
        {
            let told = catch_unwind(AssertUnwindSafe(|| delivered(position, fate)));
            told.unwrap_or_else(|_| panicked("on_delivered", &self.delivered_panicked));
        }
    }

    /// Gives the entry to the handler and waits until the handler has finished. Returns the entry if there is no handler,
    /// or if it has panicked before.
    pub(crate) async fn hand_back(&self, undelivered: Undelivered<E>) -> Option<Undelivered<E>> {
        let handler = self.handlers.undelivered.as_ref();
        let Some(give) = handler.filter(|_| !self.undelivered_panicked.load(Relaxed)) else {
            return Some(undelivered);
        };
        self.causes_so_far().add(&undelivered.cause);
        let dealt_with = AssertUnwindSafe(async { give(undelivered).await }).catch_unwind();
        let ended = dealt_with.await;
        ended.unwrap_or_else(|_| panicked("on_undelivered", &self.undelivered_panicked));
        None
    }

    fn causes_so_far(&self) -> MutexGuard<'_, Causes> {
        self.causes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Logs once that a handler has panicked.
fn panicked(handler: &str, has_panicked: &AtomicBool) {
    if !has_panicked.swap(true, Relaxed) {
        warn!(target: HANDLER, handler, "the handler panicked, and is not called again");
    }
}
