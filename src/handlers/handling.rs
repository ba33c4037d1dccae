//! The handlers during one delivery.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, PoisonError};

use futures::{FutureExt, StreamExt, stream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::{HandlerError, Handlers};
use crate::disposition::Disposition;
use crate::engine::Delivered;
use crate::events::HANDLER;
use crate::fault::Fault;
use crate::options::DeliveryOptions;
use crate::report::{Causes, Undelivered};
use crate::sync::{Mutex, MutexGuard};
use crate::time_limit::later;

/// How many undelivered entries of a producer the handler processes at once at the end: as many as calls are in flight by
/// default.
const HANDLED_AT_ONCE: usize = 16;

/// After an early end, calls in flight have a grace period, then the target to clean up, then handlers to finish.
const GRACE_PERIODS: u32 = 3;

const PANICKED: &str = "panicked, and is not called again";
const LATE: &str = "did not finish within its time, and its entries are handed back";

/// The handlers during one delivery.
///
/// An entry stays here until the handler has finished with it. A handler that panics or fails is not called again: later
/// undelivered entries are kept, as without a handler.
pub(crate) struct ActiveHandlers<E> {
    handlers: Handlers<E>,
    /// Also cancelled when the handler of undelivered entries fails.
    options: DeliveryOptions,
    delivered_panicked: AtomicBool,
    undelivered_panicked: Arc<AtomicBool>,
    /// Whether the handler did not finish within its time.
    is_late: AtomicBool,
    /// Why the handler of undelivered entries has failed, if it has.
    failure: OnceLock<Fault>,
    /// When handlers have no time left, once the delivery has ended early.
    limit: watch::Sender<Option<Instant>>,
    /// The causes of the entries that the handler took.
    causes: Mutex<Causes>,
}

impl<E> ActiveHandlers<E> {
    pub(crate) fn of(handlers: &Handlers<E>, options: &DeliveryOptions) -> Arc<Self> {
        let cancellation = options.cancellation.child_token();
        Arc::new(Self {
            handlers: handlers.clone(),
            options: options.clone().cancellation(cancellation),
            delivered_panicked: AtomicBool::new(false),
            undelivered_panicked: Arc::default(),
            is_late: AtomicBool::new(false),
            failure: OnceLock::new(),
            limit: watch::Sender::new(None),
            causes: Mutex::default(),
        })
    }

    /// Whether there is a handler.
    pub(super) fn is_needed(&self) -> bool {
        !self.handlers.are_none()
    }

    /// The options of a delivery that a failure of the handler ends.
    pub(crate) fn options(&self) -> &DeliveryOptions {
        &self.options
    }

    /// A delivery begins; a producer may have several, one after another.
    pub(super) fn begin(&self) {
        self.limit.send_replace(None);
    }

    /// The delivery ends early: the time of handlers is limited from now on.
    pub(crate) fn ends_early(&self) {
        self.limit.send_if_modified(|limit| {
            let is_new = limit.is_none();
            limit.get_or_insert_with(|| {
                let grace = self.options.grace.saturating_mul(GRACE_PERIODS);
                later(Instant::now(), grace)
            });
            is_new
        });
    }

    /// Whether the handler of undelivered entries has panicked, if there is one.
    pub(crate) fn of_undelivered(&self) -> Option<Arc<AtomicBool>> {
        self.handlers
            .take_undelivered()
            .then(|| Arc::clone(&self.undelivered_panicked))
    }

    /// Why the handler of undelivered entries has failed, if it has.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.failure.get().cloned()
    }

    /// Reports that an entry was delivered or superseded, or that its condition does not hold.
    pub(crate) fn resolve(&self, entry: &E, position: u64, disposition: &Disposition) {
        if let Some(delivered) = &self.handlers.delivered
            && !self.delivered_panicked.load(Relaxed)
        {
            let handled = catch_unwind(AssertUnwindSafe(|| delivered(position, entry, disposition)));
            handled.unwrap_or_else(|_| warn_once("on_delivered", PANICKED, &self.delivered_panicked));
        }
    }

    /// Gives the entry to the handler and waits until the handler has finished. Returns the entry if the handler did not
    /// finish it, or was not called.
    pub(crate) async fn hand_back(&self, undelivered: Undelivered<E>) -> Option<Undelivered<E>> {
        let Some(handle) = self.handlers.undelivered.as_ref().filter(|_| self.may_be_called()) else {
            return Some(undelivered);
        };
        let Ok(handling) = catch_unwind(AssertUnwindSafe(|| handle(&undelivered))) else {
            self.panicked();
            return Some(undelivered);
        };
        tokio::select! {
            biased;
            handled = AssertUnwindSafe(handling).catch_unwind() => match handled {
                Ok(Ok(())) => {
                    self.causes_so_far().add(&undelivered.cause);
                    self.options.progress.settle(undelivered.position..undelivered.position + 1);
                    return None;
                }
                Ok(Err(error)) => self.failed(error),
                Err(_) => self.panicked(),
            },
            () = self.out_of_time() => {
                warn_once("on_undelivered", LATE, &self.is_late);
            }
        }
        Some(undelivered)
    }

    /// Gives the entries to the handler. Returns those that it did not finish.
    pub(crate) async fn hand_back_all(&self, undelivered: Vec<Undelivered<E>>) -> Vec<Undelivered<E>> {
        if !self.handlers.take_undelivered() {
            return undelivered;
        }
        let handled = stream::iter(undelivered).map(|undelivered| self.hand_back(undelivered));
        let left = handled.buffer_unordered(HANDLED_AT_ONCE);
        left.filter_map(std::future::ready).collect().await
    }

    fn may_be_called(&self) -> bool {
        let is_over = self.limit.borrow().is_some_and(|limit| limit <= Instant::now());
        !is_over && !self.undelivered_panicked.load(Relaxed) && self.failure.get().is_none()
    }

    /// Completes when handlers have no time left, because the delivery has ended early.
    async fn out_of_time(&self) {
        let mut limits = self.limit.subscribe();
        tokio::select! {
            () = self.options.ended() => self.ends_early(),
            _ = limits.wait_for(Option::is_some) => {}
        }
        let limit = *self.limit.borrow();
        sleep_until(limit.unwrap_or_else(Instant::now)).await;
    }

    /// The delivery ends in order, and keeps what is not handled.
    fn failed(&self, error: HandlerError) {
        warn!(target: HANDLER, handler = "on_undelivered", "the handler failed, and the delivery ends");
        let fault = Fault::new("the handler of undelivered entries failed").caused_by(error);
        self.failure.get_or_init(|| fault);
        self.options.cancellation.cancel();
    }

    fn panicked(&self) {
        warn_once("on_undelivered", PANICKED, &self.undelivered_panicked);
    }

    fn causes_so_far(&self) -> MutexGuard<'_, Causes> {
        self.causes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E> Delivered<E> {
    /// Adds the causes of the entries that the handlers took, and the fault of a handler that failed.
    pub(crate) fn with_handled(mut self, handling: &ActiveHandlers<E>) -> Self {
        self.taken.extend(handling.causes_so_far().clone());
        self.stopped = self.stopped.or_else(|| handling.fault());
        self
    }
}

/// Logs once what has happened to a handler.
fn warn_once(handler: &str, what: &str, has_happened: &AtomicBool) {
    if !has_happened.swap(true, Relaxed) {
        warn!(target: HANDLER, handler, "the handler {what}");
    }
}
