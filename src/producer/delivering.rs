//! The deliveries of a producer, one after another until it is closed.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tokio::time::Instant;
use tracing::warn;

use super::queue::Queue;
use super::unclaimed::UnclaimedEntries;
use crate::contract::BatchTarget;
use crate::engine::Delivered;
use crate::events::UNCLAIMED;
use crate::handlers::HandledInput;
use crate::log_limit::LogLimit;
use crate::metrics::Metrics;
use crate::report::{Cause, Report};
use crate::run::{Contents, Run, warn_of_stop};

/// Delivers all buffered entries, until the queue is closed.
pub(super) async fn deliver<T: BatchTarget, C: Contents<T>>(
    run: Run<T, C>,
    mut queue: Queue<C::Value>,
    unclaimed: UnclaimedEntries<C::Value>,
) -> Report {
    let started = Instant::now();
    let destination = run.destination();
    let mut stops = LogLimit::default();
    let handling = run.handling();
    let options = handling.options();
    if let Some(has_panicked) = handling.of_undelivered() {
        unclaimed.leave_to_handler(has_panicked);
    }
    let mut unhandled = Vec::new();
    let mut outcome = Delivered::of(Report::default());
    loop {
        let mut input = HandledInput::new(&mut queue, Arc::clone(&handling));
        outcome.add(run.deliver(&mut input, &handling).await);
        if let Some(cause) = handling.fault().map(Cause::Stopped).or_else(|| options.end()) {
            let handed_back = outcome.report.undelivered;
            unhandled = queue.hand_back(&cause, &mut outcome.report).await;
            let more = outcome.report.undelivered - handed_back;
            options.progress.figures().undelivered.fetch_add(more, Relaxed);
            Metrics::of(&destination, None).handed_back(&cause, more);
            break;
        }
        let Some(fault) = &outcome.stopped else {
            break;
        };
        // The reason of the stop may be resolved when the next entry arrives.
        warn_of_stop(&destination, fault, &mut stops);
    }
    let (kept, others) = unclaimed.take();
    let forgotten = others.entries();
    outcome.taken = others;
    unhandled.extend(kept);
    outcome.undelivered.extend(handling.hand_back_all(unhandled).await);
    let mut outcome = outcome.with_handled(&handling);
    outcome.report.elapsed = started.elapsed();
    // Entries that were not read were handed back.
    outcome.report.finished = true;
    outcome.log(&destination);
    let entries = outcome.undelivered.len() as u64 + forgotten;
    if entries > 0 {
        warn!(target: UNCLAIMED, destination, entries, "entries were not delivered, and no receipt reported it");
    }
    let report = outcome.report.clone();
    unclaimed.leave(outcome);
    report
}
