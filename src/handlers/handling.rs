//! The handlers at work for one delivery.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use tracing::warn;

use super::Handlers;
use crate::events::HANDLER;
use crate::fate::Fate;
use crate::report::{Causes, Undelivered};

/// The handlers at work for one delivery.
///
/// A handler that panics is not called again: entries that are not delivered are kept from then on, as without one.
pub(crate) struct Handling<E> {
    handlers: Handlers<E>,
    has_panicked: AtomicBool,
    /// Why the entries were handed back that the handler took.
    causes: Mutex<Causes>,
}

impl<E> Handling<E> {
    /// `None` if there is no handler.
    pub(crate) fn of(handlers: &Handlers<E>) -> Option<Arc<Self>> {
        (!handlers.are_none()).then(|| {
            Arc::new(Self {
                handlers: handlers.clone(),
                has_panicked: AtomicBool::new(false),
                causes: Mutex::default(),
            })
        })
    }

    /// Why the entries were handed back that the handler took.
    pub(crate) fn causes(&self) -> Causes {
        self.causes_so_far().clone()
    }

    /// Tells the good end of an entry.
    pub(super) fn good(&self, position: u64, fate: &Fate) {
        if let Some(delivered) = self.handlers.delivered.as_ref().filter(|_| !self.has_panicked()) {
            let told = catch_unwind(AssertUnwindSafe(|| delivered(position, fate)));
            told.unwrap_or_else(|_| self.panicked("on_delivered"));
        }
    }

    /// Gives the entry to the handler, and waits until that has dealt with it. Returns it if there is none.
    pub(crate) async fn hand_back(&self, undelivered: Undelivered<E>) -> Option<Undelivered<E>> {
        let Some(undelivered_to) = self.handlers.undelivered.as_ref().filter(|_| !self.has_panicked()) else {
            return Some(undelivered);
        };
        self.causes_so_far().add(&undelivered.cause);
        let handled = AssertUnwindSafe(async { undelivered_to(undelivered).await }).catch_unwind();
        handled.await.unwrap_or_else(|_| self.panicked("on_undelivered"));
        None
    }

    fn has_panicked(&self) -> bool {
        self.has_panicked.load(Relaxed)
    }

    fn panicked(&self, handler: &str) {
        if !self.has_panicked.swap(true, Relaxed) {
            warn!(target: HANDLER, handler, "the handler panicked, and is not called again");
        }
    }

    fn causes_so_far(&self) -> MutexGuard<'_, Causes> {
        self.causes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
