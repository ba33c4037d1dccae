//! The deliveries of a producer, and their result when all of them are complete.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::warn;

use super::line::Line;
use super::unclaimed::{Taken, Unclaimed};
use crate::contract::BatchTarget;
use crate::delivery::Contents;
use crate::engine::Delivered;
use crate::events::{STOPPED, UNCLAIMED};
use crate::guarded::destination;
use crate::handlers::{Handled, Handling};
use crate::metrics::Metrics;
use crate::options::DeliveryOptions;
use crate::report::{Cause, DeliveryError, Report};
use crate::shutdown;

/// How long the fault that stops every delivery is not logged again.
const QUIET: Duration = Duration::from_mins(1);

/// Delivers all buffered entries, until the queue is closed.
pub(super) async fn deliver<T: BatchTarget, C: Contents<T>>(
    target: Arc<T>,
    conversion: C::Conversion,
    mut line: Line<C::Value>,
    handling: Option<Arc<Handling<C::Value>>>,
    unclaimed: Unclaimed<C::Value>,
    options: DeliveryOptions,
) -> Delivered<C::Value> {
    let started = Instant::now();
    let destination = destination(&*target);
    let mut warned = None;
    let options = handling
        .as_ref()
        .map_or(&options, |handling| handling.options())
        .clone();
    let mut unhandled = Vec::new();
    let mut outcome = {
        let mut input = Handled::new(&mut line, handling.clone());
        C::deliver(Arc::clone(&target), &conversion, &mut input, options.clone()).await
    };
    loop {
        let end = if let Some(fault) = handling.as_ref().and_then(|handling| handling.fault()) {
            Some(Cause::Stopped(fault))
        } else if options.cancellation.is_cancelled() {
            Some(Cause::Cancelled(None))
        } else if options.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            Some(Cause::DeadlineReached(None))
        } else {
            None
        };
        if let Some(cause) = end {
            let handed_back = outcome.report.undelivered;
            unhandled = line.hand_back(&cause, &mut outcome.report).await;
            let more = outcome.report.undelivered - handed_back;
            options.progress.figures().undelivered.fetch_add(more, Relaxed);
            Metrics::of(&destination, None).handed_back(&cause, more);
            break;
        }
        let Some(fault) = &outcome.stopped else {
            break;
        };
        if warned.is_none_or(|warned: Instant| warned.elapsed() >= QUIET) {
            warned = Some(Instant::now());
            let (destination, code, explanation) = (&*destination, fault.code(), fault.explanation());
            warn!(target: STOPPED, destination, code, explanation, "the delivery stopped: the next entry is a new try");
        }
        // The reason of the stop may be resolved when the next entry arrives.
        let mut input = Handled::new(&mut line, handling.clone());
        outcome.add(C::deliver(Arc::clone(&target), &conversion, &mut input, options.clone()).await);
    }
    let Taken { kept, others } = unclaimed.take();
    let forgotten = others.entries();
    outcome.taken = others;
    unhandled.extend(kept);
    outcome.undelivered.extend(match &handling {
        Some(handling) => handling.hand_back_all(unhandled).await,
        None => unhandled,
    });
    let mut outcome = outcome.with_handled(handling.as_deref());
    outcome.report.elapsed = started.elapsed();
    // Entries that were not read were handed back.
    outcome.report.finished = true;
    outcome.log(&destination);
    let entries = outcome.undelivered.len() as u64 + forgotten;
    if entries > 0 {
        warn!(target: UNCLAIMED, destination, entries, "entries were not delivered, and no receipt told it");
    }
    outcome
}

/// The result of a producer, which any of its clones may wait for.
pub(super) struct Completion<E> {
    state: Mutex<State<E>>,
    unclaimed: Unclaimed<E>,
}

enum State<E> {
    Delivering(JoinHandle<Delivered<E>>),
    Ended(Report),
}

impl<E> Completion<E> {
    pub(super) fn of(delivery: JoinHandle<Delivered<E>>, unclaimed: Unclaimed<E>) -> Self {
        Self {
            state: Mutex::new(State::Delivering(delivery)),
            unclaimed,
        }
    }

    pub(super) const fn unclaimed(&self) -> &Unclaimed<E> {
        &self.unclaimed
    }

    /// Waits for the result. The first caller gets the entries whose receipts were dropped, and each later one those whose
    /// receipts were dropped since.
    pub(super) async fn wait(&self) -> Result<Report, DeliveryError<E>> {
        let mut state = self.state.lock().await;
        let mut delivered = match &mut *state {
            State::Ended(report) => Delivered::of(report.clone()),
            State::Delivering(delivery) => match delivery.await {
                Ok(delivered) => delivered,
                Err(failed) => match failed.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    // The task that waits is dropped next.
                    Err(_) if shutdown::is_underway() => pending().await,
                    Err(cancelled) => panic!("the runtime of the producer was shut down: {cancelled}"),
                },
            },
        };
        *state = State::Ended(delivered.report.clone());
        let Taken { kept, others } = self.unclaimed.take();
        delivered.undelivered.extend(kept);
        delivered.taken.extend(others);
        delivered.undelivered.sort_by_key(|undelivered| undelivered.position);
        delivered.into_result()
    }
}
