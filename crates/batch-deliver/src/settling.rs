//! What becomes of each entry that has come to its end.

use std::sync::{Arc, Mutex, PoisonError};

use aws_batch_delivery::{Cause, Undelivered};

use crate::dead_letter::{DeadLetter, Letter};
use crate::handed_back::HandedBack;
use crate::journal::Journal;
use crate::stop::Stop;
use crate::window::{Origin, Window};

/// What is kept of a delivery: the journal, the dead letters, and the causes.
#[derive(Debug)]
pub(crate) struct Settling {
    pub(crate) window: Window,
    pub(crate) names: Arc<[String]>,
    pub(crate) journal: Option<Journal>,
    pub(crate) dead_letter: Option<DeadLetter>,
    pub(crate) handed_back: Mutex<HandedBack>,
    pub(crate) stop: Stop,
    /// Whether another run delivers everything again if this one does not come to its end.
    pub(crate) is_repeated: bool,
}

impl Settling {
    /// The entry at this position was delivered, or a newer one takes its place.
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

    /// An entry that was not tried to its end is sent by the next run, if there is a journal by which that finds it. Behind any
    /// other one later entries of its key or group went on, and the next run would put it over them.
    fn is_left_to_the_next_run(&self, cause: &Cause) -> bool {
        let is_early = matches!(
            cause,
            Cause::Cancelled(_) | Cause::DeadlineReached(_) | Cause::Stopped(_)
        );
        is_early && (self.is_repeated || self.journal.is_some())
    }

    /// Writes a dead letter. If that fails, the delivery goes no further.
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
            // The journal leaves it to the next run.
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
