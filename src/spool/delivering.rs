//! Delivers what is on disk, again and again until the spool is closed.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};
use tracing::warn;

use super::backlog::Backlog;
use super::handle::StoreHandle;
use super::settlement::Settlement;
use crate::contract::BatchTarget;
use crate::delivery::Contents;
use crate::events::STOPPED;
use crate::guarded::destination;
use crate::handlers::{Handlers, Handling};
use crate::options::DeliveryOptions;
use crate::report::Report;

/// How long after a stop the first new delivery begins.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// A missing permission or table may take hours to be there, and a call a minute costs nothing.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How long the fault that stops every delivery is not logged again.
const QUIET: Duration = Duration::from_mins(1);

/// Delivers what is on disk, again and again until the options end it.
pub(super) async fn deliver<T: BatchTarget, C: Contents<T, Value: DeserializeOwned>>(
    target: Arc<T>,
    conversion: C::Conversion,
    handlers: Handlers<C::Value>,
    store: StoreHandle,
    settlement: Arc<Settlement>,
    options: DeliveryOptions,
) -> Report {
    let started = Instant::now();
    let destination = destination(&*target);
    let mut report = Report::default();
    let mut pause = FIRST_PAUSE;
    let mut warned: Option<Instant> = None;
    loop {
        // A flush does not wait for the end of a pause.
        let hurried = settlement.hurried();
        let (settled_before, undelivered_before) = (settlement.until(), settlement.undelivered());
        let handling = Handling::of(&handlers, &options);
        let of_delivery = handling
            .as_ref()
            .map_or(&options, |handling| handling.options())
            .clone();
        let mut input = Backlog::new(store.clone(), Arc::clone(&settlement), handling.clone());
        let outcome = C::deliver(Arc::clone(&target), &conversion, &mut input, of_delivery).await;
        // What was handed back for another reason than the entry itself is still to be delivered.
        let undelivered = settlement.undelivered() - undelivered_before;
        let correction = undelivered.wrapping_sub(outcome.report.undelivered);
        options.progress.figures().undelivered.fetch_add(correction, Relaxed);
        report.add(&Report {
            undelivered,
            ..outcome.report
        });
        if options.cancellation.is_cancelled() || options.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            break;
        }
        let fault = outcome
            .stopped
            .or_else(|| handling.and_then(|handling| handling.fault()));
        if let Some(fault) = fault
            && warned.is_none_or(|warned| warned.elapsed() >= QUIET)
        {
            warned = Some(Instant::now());
            let (code, explanation) = (fault.code(), fault.explanation());
            warn!(target: STOPPED, destination, code, explanation, "the delivery stopped: what is left stays in the spool, and is tried again");
        }
        if settlement.until() > settled_before {
            pause = FIRST_PAUSE;
        }
        tokio::select! {
            () = sleep(pause) => {}
            () = hurried => {}
            () = options.ended() => break,
        }
        pause = LONGEST_PAUSE.min(pause * 2);
    }
    report.elapsed = started.elapsed();
    report.finished = true;
    report
}
