//! Settles each entry that was delivered or handed back.

use std::sync::{Arc, Mutex, PoisonError};

use aws_batch_delivery::{Cause, Undelivered};

use crate::dead_letter::{DeadLetter, Letter};
use crate::handed_back::HandedBack;
use crate::journal::Journal;
use crate::stop::Stop;
use crate::window::{Origin, Window};

/// Writes the results of entries: to the journal, the dead letters, and the causes for the summary.
#[derive(Debug)]
pub(crate) struct Settling {
    pub(crate) window: Window,
    pub(crate) names: Arc<[String]>,
    pub(crate) journal: Option<Journal>,
    pub(crate) dead_letter: Option<DeadLetter>,
    pub(crate) handed_back: Mutex<HandedBack>,
    pub(crate) stop: Stop,
    /// Whether another run delivers everything again if this one does not finish.
    pub(crate) is_repeated: bool,
}

impl Settling {
    /// The entry at this position was delivered, or superseded by a newer one.
    pub(crate) fn delivered(&self, position: u64) {
        if let Some(origin) = self.window.settle(position) {
            self.settle(&origin);
        }
    }

    /// The entry was not delivered.
    pub(crate) async fn undelivered<E>(&self, undelivered: &Undelivered<E>) {
        let Some(origin) = self.window.settle(undelivered.position) else {
            return;
        };
        let is_left = self.is_left_to_the_next_run(&undelivered.cause);
        if is_left
            && undelivered.may_have_been_delivered
            && let Some(journal) = &self.journal
        {
            journal.leave_open();
        }
        let is_kept = is_left || self.write_dead_letter(&origin, undelivered).await;
        let mut handed_back = self.handed_back.lock().unwrap_or_else(PoisonError::into_inner);
        handed_back.add(origin.place, &undelivered.cause, is_kept);
    }

    /// Whether the entry is left to the next run: its attempts were cut short, and the next run finds it by the journal. An entry
    /// that was given up is not left, because later entries of its key or group were sent, and it would overwrite them.
    fn is_left_to_the_next_run(&self, cause: &Cause) -> bool {
        let is_early = matches!(
            cause,
            Cause::Cancelled(_) | Cause::DeadlineReached(_) | Cause::Stopped(_)
        );
        is_early && (self.is_repeated || self.journal.is_some())
    }

    /// Writes a dead letter. If that fails, the delivery stops. Returns whether the entry is kept.
    async fn write_dead_letter<E>(&self, origin: &Origin, undelivered: &Undelivered<E>) -> bool {
        let (Some(dead_letter), Some(text)) = (&self.dead_letter, &origin.text) else {
            self.settle(origin);
            return false;
        };
        let letter = Letter {
            text,
            file: &self.names[origin.place.input],
            line: origin.place.line,
            cause: &undelivered.cause,
            attempts: undelivered.attempts,
            may_have_been_delivered: undelivered.may_have_been_delivered,
        };
        if dead_letter.write(&letter).await.is_err() {
            self.stop.token.cancel();
            // It is not settled in the journal, so the next run sends it.
            return self.journal.is_some();
        }
        self.settle(origin);
        true
    }

    fn settle(&self, origin: &Origin) {
        if let Some(journal) = &self.journal {
            journal.settle(origin.number);
        }
    }
}
