//! Delivers what is on disk, repeatedly until the spool is closed.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::handle::StoreHandle;
use super::input::SpoolInput;
use super::settlement::Settlement;
use crate::contract::BatchTarget;
use crate::log_limit::LogLimit;
use crate::report::Report;
use crate::run::{Contents, Run, warn_of_stop};

/// How long after a stop the first new delivery begins.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// A missing permission or table may take hours to be there, and a call a minute costs nothing.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Delivers what is on disk, repeatedly until the options end it.
pub(super) async fn deliver<T: BatchTarget, C: Contents<T, Value: DeserializeOwned>>(
    run: Run<T, C>,
    store: StoreHandle,
    settlement: Arc<Settlement>,
) -> Report {
    let started = Instant::now();
    let destination = run.destination();
    let options = &run.options;
    let mut report = Report::default();
    let mut pause = FIRST_PAUSE;
    let mut stops = LogLimit::default();
    loop {
        // A flush does not wait for the end of a pause.
        let hurried = settlement.hurried();
        let (settled_before, undelivered_before) = (settlement.until(), settlement.undelivered());
        let handling = run.handling();
        let mut input = SpoolInput::new(store.clone(), Arc::clone(&settlement), Arc::clone(&handling));
        let outcome = run.deliver(&mut input, &handling).await.with_handled(&handling);
        // What was handed back for another reason than the entry itself is still to be delivered.
        let undelivered = settlement.undelivered() - undelivered_before;
        let correction = undelivered.wrapping_sub(outcome.report.undelivered);
        options.progress.figures().undelivered.fetch_add(correction, Relaxed);
        report.add(&Report {
            undelivered,
            ..outcome.report
        });
        if options.end().is_some() {
            break;
        }
        if let Some(fault) = outcome.stopped {
            warn_of_stop(&destination, &fault, &mut stops);
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
