//! The fate of every entry.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::delivered::Delivered;
use super::hand_backs::Awaited;
use super::tracked_entry::{Chunk, TrackedEntry};
use crate::backoff::{Outcome, PaceReason, PaceState};
use crate::fate::Fate;
use crate::progress::Progress;
use crate::report::{Cause, Causes, Report, ThrottledCalls, Undelivered};
use crate::targets::{Fault, ThrottlingReason};

/// Counts what happens, here and in the shared [`Progress`], and keeps what is handed back.
///
/// Every entry of the input is counted as accepted in one [`call_ended`](Self::call_ended), or goes through
/// [`hand_back`](Self::hand_back) or [`superseded`](Self::superseded), once.
pub(crate) struct Ledger<E> {
    report: Report,
    throttled_by: Vec<ThrottledCalls>,
    undelivered: Vec<Undelivered<E>>,
    awaited: Awaited<E>,
    /// Entries that wait to be sent again.
    waiting: u64,
    /// Entries in calls that are not answered yet.
    in_flight: u64,
    /// Entries that were read and are in no call, and their bytes.
    read_ahead: (u64, u64),
    progress: Progress,
}

impl<E> Ledger<E> {
    pub(crate) fn new(progress: Progress) -> Self {
        Self {
            report: Report::default(),
            throttled_by: Vec::new(),
            undelivered: Vec::new(),
            awaited: Awaited::none(),
            waiting: 0,
            in_flight: 0,
            read_ahead: (0, 0),
            progress,
        }
    }

    /// Entries in calls that are not answered yet, and entries that wait to be sent again.
    pub(crate) fn underway(&self) -> (u64, u64) {
        (self.in_flight, self.waiting)
    }

    /// So many entries were read and are in no call, of so many bytes.
    pub(crate) fn reads_ahead(&mut self, entries: usize, bytes: usize) {
        let (before, now) = (self.read_ahead, (entries as u64, bytes as u64));
        if before != now {
            let figures = self.progress.figures();
            // It wraps around zero and back.
            figures.read_ahead.fetch_add(now.0.wrapping_sub(before.0), Relaxed);
            figures
                .read_ahead_bytes
                .fetch_add(now.1.wrapping_sub(before.1), Relaxed);
            self.read_ahead = now;
        }
    }

    /// A call leaves, this long after the one before it was answered.
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
    }

    /// A call was answered: what it came to, and for which reasons it was throttled.
    pub(crate) fn call_ended(&mut self, outcome: &Outcome, reasons: &[&ThrottlingReason]) {
        for reason in reasons {
            ThrottledCalls::add(&mut self.throttled_by, reason, 1);
        }
        let (sent, accepted, throttled) = (outcome.sent as u64, outcome.accepted as u64, outcome.throttled as u64);
        self.in_flight -= sent;
        self.report.delivered += accepted;
        self.report.throttled += throttled;
        let figures = self.progress.figures();
        figures.calls.fetch_add(1, Relaxed);
        figures.in_flight.fetch_sub(sent, Relaxed);
        figures.delivered.fetch_add(accepted, Relaxed);
        figures.throttled.fetch_add(throttled, Relaxed);
    }

    /// How many entries were delivered so far.
    pub(crate) fn delivered(&self) -> u64 {
        self.report.delivered
    }

    /// An entry waits to be sent again.
    pub(crate) fn waits(&mut self) {
        self.waiting += 1;
        self.progress.figures().waiting.fetch_add(1, Relaxed);
    }

    /// An entry that waited is given up.
    pub(crate) fn waits_no_more(&mut self) {
        self.waiting -= 1;
        self.progress.figures().waiting.fetch_sub(1, Relaxed);
    }

    /// An entry need not arrive any more, since a newer one writes the same key.
    pub(crate) fn superseded(&mut self, older: TrackedEntry<E>) {
        self.report.superseded += 1;
        self.progress.figures().superseded.fetch_add(1, Relaxed);
        if let Some(confirmation) = older.state.confirmation {
            confirmation.good(Fate::Superseded);
        }
    }

    /// Hands an entry back: soon if a receipt waits for its fate, otherwise at the end.
    pub(crate) fn hand_back(&mut self, TrackedEntry { entry, state }: TrackedEntry<E>, cause: Cause) {
        self.report.undelivered += 1;
        self.progress.figures().undelivered.fetch_add(1, Relaxed);
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

    /// What is handed back so far and no receipt waits for.
    pub(crate) fn undelivered(&mut self) -> &mut Vec<Undelivered<E>> {
        &mut self.undelivered
    }

    /// How many entries are to be handed back to those that wait for them.
    pub(crate) fn awaited(&self) -> usize {
        self.awaited.len()
    }

    /// What is to be handed back to those that wait for it.
    pub(crate) fn take_awaited(&mut self) -> Awaited<E> {
        std::mem::replace(&mut self.awaited, Awaited::none())
    }

    /// Draws the line under a delivery that was stopped by that fault, if it was, and whose input was read to its end if it
    /// is finished.
    pub(crate) fn close(
        mut self,
        elapsed: Duration,
        finished: bool,
        stopped: Option<Fault>,
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
            stopped,
            pace,
        }
    }
}

impl<E> Drop for Ledger<E> {
    /// A delivery that is dropped half-way leaves no phantoms in the shared figures.
    fn drop(&mut self) {
        let figures = self.progress.figures();
        figures.waiting.fetch_sub(self.waiting, Relaxed);
        figures.in_flight.fetch_sub(self.in_flight, Relaxed);
        self.reads_ahead(0, 0);
    }
}
