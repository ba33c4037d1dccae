//! Settles each entry that was delivered or handed back.

use std::io;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use super::cause_tally::CauseTally;
use super::dead_letter::{DeadLetter, Letter, LetterReceipt};
use super::failed_conditions::FailedConditions;
use super::failures::{FailedRecord, Failures};
use super::journal::{Journal, StopLine};
use super::window::{BadLine, Origin, Window};
use crate::sink::{Disposition, UndeliveredEntry};
use crate::stop::Stop;

/// Writes the results of entries: to the journal, the dead letters, and the causes for the summary.
#[derive(Debug)]
pub(crate) struct Settlement {
    pub(crate) window: Window,
    pub(crate) names: Arc<[String]>,
    pub(crate) journal: Option<Journal>,
    pub(crate) dead_letter: Option<DeadLetter>,
    /// The file of records whose condition did not hold.
    pub(crate) failed: Option<Arc<FailedConditions>>,
    pub(crate) handed_back: Mutex<CauseTally>,
    /// What earlier runs have not delivered, and no run of the whole has reported.
    pub(crate) earlier: Failures,
    pub(crate) stop: Stop,
    /// Undelivered entries and bad lines that are being settled.
    pub(crate) under_way: TaskTracker,
    /// Whether another run delivers everything again if this one does not finish.
    pub(crate) is_repeated: bool,
    /// Entries and bad lines that are left to another run.
    pub(crate) left: AtomicU64,
    /// Entries whose attempts were cut short, by the end of the delivery.
    pub(crate) cut_short: AtomicU64,
}

impl Settlement {
    /// The entry at this position was delivered, or superseded by a newer one, or its condition did not hold.
    pub(crate) fn decided(self: &Arc<Self>, position: u64, disposition: &Disposition) {
        let Some(origin) = self.window.settle(position) else {
            return;
        };
        match (&self.failed, disposition) {
            (Some(failed), Disposition::ConditionFailed) => {
                let (settling, failed) = (Arc::clone(self), Arc::clone(failed));
                let held = failed.hold(origin.text.as_ref().map_or(0, |text| text.len()));
                self.under_way.spawn(async move {
                    settling.settle_failed(&origin, &failed).await;
                    drop(held);
                });
            }
            _ => self.settle(&origin),
        }
    }

    /// The entry was not delivered. The future completes when it is settled.
    ///
    /// It is settled in a task, because a delivery that ends early does not wait for a handler for longer than its grace
    /// periods, and a dead letter must be written neither in part nor twice.
    pub(crate) fn undelivered(self: &Arc<Self>, undelivered: UndeliveredEntry) -> impl Future<Output = ()> + use<> {
        let origin = self.window.settle(undelivered.position);
        let settled = origin.map(|origin| {
            let settling = Arc::clone(self);
            self.under_way
                .spawn(async move { settling.settle_undelivered(&origin, &undelivered).await })
        });
        async move {
            if let Some(settled) = settled
                && let Err(failed) = settled.await
                && let Ok(panic) = failed.try_into_panic()
            {
                resume_unwind(panic);
            }
        }
    }

    /// Keeps a line that could not be read. Returns when it is passed on, so that lines stay in their order and few of them are
    /// in memory. Without a place for it, the next run reads it again.
    ///
    /// It is settled in a task, because an interrupted delivery does not wait for its stream.
    pub(crate) async fn bad_line(self: &Arc<Self>, bad_line: BadLine) {
        if self.dead_letter.is_none() {
            self.left.fetch_add(1, Relaxed);
            return;
        }
        let (handed_over, is_handed_over) = oneshot::channel();
        let settling = Arc::clone(self);
        self.under_way
            .spawn(async move { settling.settle_bad_line(bad_line, handed_over).await });
        let _ = is_handed_over.await;
    }

    /// The load ends at this line. If it is not kept, it may be corrected before the next run: what is before it is compared then.
    pub(crate) fn stopped_at(&self, bad_line: &BadLine) {
        let BadLine { origin, .. } = bad_line;
        let is_kept = self.dead_letter.is_some() && origin.text.is_some();
        if let (Some(journal), Some(checksum), false) = (&self.journal, bad_line.checksum_before, is_kept) {
            journal.stopped_at(StopLine {
                number: origin.number,
                input: origin.place.input,
                line: origin.place.line,
                checksum,
            });
        }
    }

    /// Settles the entries that the delivery has handed back, and waits for all that are being settled.
    pub(crate) async fn end(self: &Arc<Self>, handed_back: impl Iterator<Item = UndeliveredEntry>) {
        for undelivered in handed_back {
            drop(self.undelivered(undelivered));
        }
        self.under_way.close();
        self.under_way.wait().await;
    }

    async fn settle_undelivered(&self, origin: &Origin, undelivered: &UndeliveredEntry) {
        self.cut_short
            .fetch_add(u64::from(undelivered.was_cut_short()), Relaxed);
        let is_left = self.is_left_to_the_next_run(undelivered);
        if is_left
            && undelivered.may_have_been_delivered
            && let Some(journal) = &self.journal
        {
            journal.leave_open();
        }
        self.left.fetch_add(u64::from(is_left), Relaxed);
        let is_kept = is_left || self.write_dead_letter(origin, undelivered).await;
        let mut handed_back = self.handed_back.lock().unwrap_or_else(PoisonError::into_inner);
        handed_back.add(origin.place, undelivered.printed(), is_kept);
    }

    /// Whether the entry is left to the next run: its attempts were cut short, and the next run finds it by the journal. An entry
    /// that was given up is not left, because later entries of its key or group were sent, and it would overwrite them.
    fn is_left_to_the_next_run(&self, undelivered: &UndeliveredEntry) -> bool {
        undelivered.was_cut_short() && (self.is_repeated || self.journal.is_some())
    }

    /// Writes a record whose condition did not hold. If that fails, the delivery stops.
    async fn settle_failed(&self, origin: &Origin, failed: &FailedConditions) {
        match &origin.text {
            Some(text) => drop(
                self.stored(origin, failed.write(text).map(LetterReceipt::Written), None)
                    .await,
            ),
            None => self.settle(origin),
        }
    }

    /// Writes a dead letter. If that fails, the delivery stops. Returns whether the entry is kept.
    async fn write_dead_letter(&self, origin: &Origin, undelivered: &UndeliveredEntry) -> bool {
        let mut failed = FailedRecord {
            number: origin.number,
            place: origin.place,
            words: undelivered.printed(),
            is_bad_line: false,
            is_kept: false,
        };
        let (Some(dead_letter), Some(text)) = (&self.dead_letter, &origin.text) else {
            self.fail(failed);
            return false;
        };
        failed.is_kept = true;
        let place = (&*self.names[origin.place.input], origin.place.line);
        let letter = Letter::of_entry(text, place, undelivered);
        self.stored(origin, dead_letter.write(letter).await, Some(failed)).await
    }

    /// Writes a bad line. One that is too long to be kept is not settled.
    async fn settle_bad_line(&self, bad_line: BadLine, handed_over: oneshot::Sender<()>) {
        let Some(dead_letter) = &self.dead_letter else { return };
        let BadLine {
            origin, header, flaw, ..
        } = bad_line;
        let place = (&*self.names[origin.place.input], origin.place.line);
        let letter = Letter::of_bad_line(header.as_deref(), origin.text.as_deref(), place, &flaw);
        let failed = FailedRecord {
            number: origin.number,
            place: origin.place,
            words: flaw.to_string(),
            is_bad_line: true,
            is_kept: true,
        };
        let written = dead_letter.write_bad_line(letter).await;
        let _ = handed_over.send(());
        if origin.text.is_none() {
            self.left.fetch_add(1, Relaxed);
            if let Ok(handed_over) = written {
                let _ = handed_over.stored().await;
            }
        } else if !self.stored(&origin, written, Some(failed)).await {
            let mut handed_back = self.handed_back.lock().unwrap_or_else(PoisonError::into_inner);
            handed_back.only_in_the_input(origin.place);
        }
    }

    /// Settles what was passed on when it is stored: as failed, or else as done. If that fails, the delivery stops. Returns whether it is
    /// kept.
    async fn stored(&self, origin: &Origin, written: io::Result<LetterReceipt>, failed: Option<FailedRecord>) -> bool {
        let stored = match written {
            Ok(handed_over) => handed_over.stored().await,
            Err(error) => Err(error),
        };
        if stored.is_err() {
            self.left.fetch_add(1, Relaxed);
            self.stop.token.cancel();
            // It is not settled in the journal, so the next run reads it.
            return self.journal.is_some();
        }
        match failed {
            Some(failed) => self.fail(failed),
            None => self.settle(origin),
        }
        true
    }

    /// The record is settled, and was not delivered: the runs that follow know of it by the journal alone.
    fn fail(&self, failed: FailedRecord) {
        if let Some(journal) = &self.journal {
            journal.fail(failed);
        }
    }

    fn settle(&self, origin: &Origin) {
        if let Some(journal) = &self.journal {
            journal.settle(origin.number);
        }
    }
}
