//! Counts what became of every entry.
//!
//! - `hand_backs`: hands back undelivered entries, after the target has cleaned up.
//! - `delivered`: the result of a delivery, and why it ends early.

mod delivered;
mod hand_backs;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use self::hand_backs::{AwaitedHandBacks, HandBacks, clean_up};
use super::calls::EndedCall;
use super::entry::{Chunk, EntryState, TrackedEntry};
use super::health::Outage;
use crate::backoff::{PaceReason, PaceState};
use crate::contract::ErasedTarget;
use crate::disposition::Disposition;
use crate::events::CALL;
use crate::fault::{Fault, in_words};
use crate::metrics::Metrics;
use crate::options::DeliveryOptions;
use crate::progress::Progress;
use crate::report::{Cause, Causes, Report, ThrottledCalls, Undelivered};

pub(crate) use delivered::{Delivered, DeliveryEnd, delivery_span};

/// Entries of the input that are handed back together when a delivery ends early.
const HANDED_BACK_TOGETHER: usize = 1_000;

/// Counts what became of every entry, here and in the shared [`Progress`], and keeps the entries that are handed back.
///
/// Every entry of the input is counted once: as processed by [`call_ended`](Self::call_ended), or by
/// [`hand_back`](Self::hand_back) or [`superseded`](Self::superseded).
pub(crate) struct Ledger<E> {
    report: Report,
    throttled_by: Vec<ThrottledCalls>,
    undelivered: Vec<Undelivered<E>>,
    awaited: AwaitedHandBacks<E>,
    hand_backs: HandBacks<E>,
    /// Entries that wait to be sent again.
    waiting: u64,
    /// Entries in calls that are not answered yet.
    in_flight: u64,
    /// Entries that were read and are in no call, and their bytes.
    read_ahead: (u64, u64),
    progress: Progress,
    metrics: Metrics,
}

impl<E: Send + 'static> Ledger<E> {
    pub(crate) fn new(progress: Progress, metrics: Metrics) -> Self {
        Self {
            report: Report::default(),
            throttled_by: Vec::new(),
            undelivered: Vec::new(),
            awaited: AwaitedHandBacks::none(),
            hand_backs: HandBacks::new(),
            waiting: 0,
            in_flight: 0,
            read_ahead: (0, 0),
            progress,
            metrics,
        }
    }

    /// Entries in calls that are not answered yet, and entries that wait to be sent again.
    pub(crate) fn underway(&self) -> (u64, u64) {
        (self.in_flight, self.waiting)
    }

    /// A call leaves, this long after the answer to the call before it in the same slot.
    pub(crate) fn call_leaves(&mut self, chunk: &Chunk<E>, delay: Duration) {
        let again = chunk.states.iter().filter(|state| state.history.is_some()).count() as u64;
        self.report.calls += 1;
        self.report.resubmitted += again;
        self.waiting -= again;
        self.in_flight += chunk.len() as u64;
        let figures = self.progress.figures();
        figures.waiting.fetch_sub(again, Relaxed);
        figures.resubmitted.fetch_add(again, Relaxed);
        figures.in_flight.fetch_add(chunk.len() as u64, Relaxed);
        let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        figures.delay_nanos.store(nanos, Relaxed);
        self.metrics.call_leaves(chunk.len() as u64, again);
    }

    /// A call to the destination was answered.
    pub(crate) fn call_ended(&mut self, settled: &EndedCall<E>, destination: &str) {
        let outcome = &settled.outcome;
        let reasons = settled.throttling_reasons();
        debug!(
            target: CALL,
            destination,
            sent = outcome.sent,
            accepted = settled.delivered(),
            condition_failed = settled.condition_failed,
            throttled = outcome.throttled,
            failed = outcome.failed,
            refused = outcome.refused,
            throttled_by = in_words(reasons.iter().copied()),
            "call answered"
        );
        if let Some(chunk) = &settled.refused_chunk {
            debug!(target: CALL, destination, entries = chunk.len(), "call refused as a whole: halved");
        }
        for reason in reasons {
            ThrottledCalls::add(&mut self.throttled_by, reason, 1);
            self.metrics.call_throttled_by(reason);
        }
        let (sent, delivered, throttled) = (
            outcome.sent as u64,
            settled.delivered() as u64,
            outcome.throttled as u64,
        );
        let condition_failed = settled.condition_failed as u64;
        self.in_flight -= sent;
        self.report.delivered += delivered;
        self.report.condition_failed += condition_failed;
        for run in &settled.accepted {
            self.progress.settle(run.clone());
        }
        self.report.throttled += throttled;
        let figures = self.progress.figures();
        figures.calls.fetch_add(1, Relaxed);
        figures.in_flight.fetch_sub(sent, Relaxed);
        figures.delivered.fetch_add(delivered, Relaxed);
        figures.condition_failed.fetch_add(condition_failed, Relaxed);
        figures.throttled.fetch_add(throttled, Relaxed);
        self.metrics.call_ended(
            outcome,
            settled.condition_failed,
            settled.first_fault().map(Fault::code),
        );
    }

    /// How many entries the service has processed so far: delivered ones, and ones whose conditions do not hold.
    pub(crate) fn processed(&self) -> u64 {
        self.report.delivered + self.report.condition_failed
    }

    /// These many more entries wait to be sent again.
    pub(crate) fn wait(&mut self, entries: usize) {
        self.waiting += entries as u64;
        self.progress.figures().waiting.fetch_add(entries as u64, Relaxed);
        self.metrics.begin_to_wait(entries as u64);
    }

    /// An entry will not be sent; if it was sent before, it no longer counts as waiting.
    pub(crate) fn no_longer_waits(&mut self, state: &EntryState<E>) {
        if state.history.is_some() {
            self.waiting -= 1;
            self.progress.figures().waiting.fetch_sub(1, Relaxed);
            self.metrics.end_to_wait(1);
        }
    }

    /// The time of an entry that waited is used up.
    pub(crate) fn give_up(&mut self, mut entry: TrackedEntry<E>, now: Instant, outage: Option<Outage<'_>>) {
        self.no_longer_waits(&entry.state);
        let cause = Outage::time_used_up(outage, &mut entry.state, now);
        self.hand_back(entry, cause);
    }

    /// A newer entry with the same key supersedes this one.
    pub(crate) fn superseded(&mut self, older: TrackedEntry<E>) {
        self.report.superseded += 1;
        self.progress.figures().superseded.fetch_add(1, Relaxed);
        self.metrics.superseded();
        let position = older.state.position;
        self.progress.settle(position..position + 1);
        if let Some(confirmation) = older.state.confirmation {
            confirmation.resolve(&older.entry, Disposition::Superseded);
        }
    }

    /// Hands an entry back: soon if a receipt or handler waits for it, otherwise at the end.
    pub(crate) fn hand_back(&mut self, TrackedEntry { entry, state }: TrackedEntry<E>, cause: Cause) {
        self.report.undelivered += 1;
        self.progress.figures().undelivered.fetch_add(1, Relaxed);
        self.metrics.handed_back(&cause, 1);
        let undelivered = Undelivered {
            entry: Box::new(entry),
            position: state.position,
            cause,
            attempts: state.attempts(),
            may_have_been_delivered: state.history.is_some_and(|history| history.ambiguous),
        };
        match state.confirmation {
            Some(confirmation) => self.awaited.push(undelivered, state.weight, confirmation),
            None => self.undelivered.push(undelivered),
        }
    }

    /// Entries that are being handed back to receipts and handlers, and their bytes.
    pub(crate) fn handing_back(&self) -> (usize, usize) {
        let (entries, bytes) = self.hand_backs.underway();
        (entries + self.awaited.len(), bytes.saturating_add(self.awaited.bytes()))
    }

    /// Starts to hand back the entries that receipts and handlers wait for. The target has `patience` to clean up.
    pub(crate) fn hand_back_awaited(&mut self, target: &Arc<dyn ErasedTarget<E>>, patience: Duration) {
        let awaited = std::mem::replace(&mut self.awaited, AwaitedHandBacks::none());
        self.hand_backs.begin(target, awaited, patience);
    }

    /// Waits until more entries were handed back; `None` when none are being handed back. Cancel-safe.
    pub(crate) async fn next_handed_back(&mut self) -> Option<()> {
        self.hand_backs.next().await
    }

    /// Waits until there is memory for more entries that are being handed back.
    pub(crate) async fn spare_memory(&mut self, target: &Arc<dyn ErasedTarget<E>>, options: &DeliveryOptions) {
        if self.awaited.len() >= HANDED_BACK_TOGETHER {
            self.hand_back_awaited(target, options.grace);
        }
        let is_full = |(entries, bytes)| entries >= options.read_ahead || bytes >= options.read_ahead_bytes;
        while is_full(self.handing_back()) && self.next_handed_back().await.is_some() {}
    }

    /// Lets the target clean up for all entries that are handed back, and waits until receipts and handlers have them.
    pub(crate) async fn hand_back_all(&mut self, target: &Arc<dyn ErasedTarget<E>>, patience: Duration) {
        self.hand_back_awaited(target, patience);
        clean_up(&**target, &mut self.undelivered, patience, &self.hand_backs.hurry()).await;
        self.undelivered.extend(self.hand_backs.end().await);
    }

    /// To be cancelled when the target may clean up no longer.
    pub(crate) fn hurry(&self) -> CancellationToken {
        self.hand_backs.hurry()
    }

    /// Completes the report. `finished` says whether the input was read to its end.
    pub(crate) fn close(
        mut self,
        elapsed: Duration,
        finished: bool,
        ending: Option<&DeliveryEnd>,
        pace: Option<(PaceState, PaceReason)>,
    ) -> Delivered<E> {
        let mut undelivered = std::mem::take(&mut self.undelivered);
        undelivered.sort_by_key(|undelivered| undelivered.position);
        let report = Report {
            elapsed,
            finished,
            throttled_by: std::mem::take(&mut self.throttled_by).into(),
            ..std::mem::take(&mut self.report)
        };
        Delivered {
            report,
            undelivered,
            taken: Causes::default(),
            ending: ending.map(|ending| ending.cause(None)),
            stopped: ending.and_then(DeliveryEnd::fault).cloned(),
            pace,
        }
    }
}

impl<E> Ledger<E> {
    /// These many entries were read and are in no call, with these many bytes.
    pub(crate) fn reads_ahead(&mut self, (entries, bytes): (usize, usize)) {
        let (before, now) = (self.read_ahead, (entries as u64, bytes as u64));
        if before != now {
            let figures = self.progress.figures();
            // The difference may wrap below zero; the sum is right.
            figures.read_ahead.fetch_add(now.0.wrapping_sub(before.0), Relaxed);
            figures
                .read_ahead_bytes
                .fetch_add(now.1.wrapping_sub(before.1), Relaxed);
            self.read_ahead = now;
        }
    }
}

impl<E> Drop for Ledger<E> {
    /// A delivery that is dropped early leaves nothing in the shared figures.
    fn drop(&mut self) {
        let figures = self.progress.figures();
        figures.waiting.fetch_sub(self.waiting, Relaxed);
        figures.in_flight.fetch_sub(self.in_flight, Relaxed);
        self.metrics.end(self.in_flight, self.waiting);
        self.reads_ahead((0, 0));
    }
}
