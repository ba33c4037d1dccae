//! What became of the calls that delete, release and hide messages.

use std::time::Duration;

use tokio::time::Instant;

use super::HeldState;
use crate::contract::Fault;
use crate::moment::Moment;
use crate::report::Cause;
use crate::sources::error::SourceError;

impl HeldState {
    pub(crate) fn deleted(&mut self, number: u64, outcome: Result<(), Cause>) {
        let Some(held) = self.remove(number) else {
            return;
        };
        let Err(cause) = outcome else {
            // One that was received again meanwhile is deleted by both of its handles.
            let is_first = held.id.is_empty() || self.undeleted.remove(&held.id);
            self.figures.deleted += u64::from(is_first);
            if self.deletions.has_deleted(held.id) {
                let fault = Fault::new("a message was received again each time that it was deleted");
                self.fail("ReceiveMessage", Cause::Refused(fault));
            }
            return;
        };
        self.figures.undeleted += 1;
        if !is_of_the_handle(&cause) {
            self.fail("DeleteMessageBatch", cause);
        }
    }

    pub(crate) fn released(&mut self, number: u64, outcome: Result<(), Cause>) {
        if let Some(held) = self.remove(number) {
            // SQS counts the delay from the call on. One that has failed may have been accepted when it was made before.
            self.active_at = self.active_at.max(Instant::now() + held.released_for);
        }
        match outcome {
            Ok(()) => self.figures.released += 1,
            Err(cause) => {
                self.figures.expired += 1;
                self.visibility_failed(cause);
            }
        }
    }

    pub(crate) fn renewed(&mut self, number: u64, at: Moment, timeout: Duration, outcome: Result<(), Cause>) {
        match outcome {
            Ok(()) => self.reschedule(number, |held| held.has_been_renewed(at, timeout)),
            Err(cause) if is_of_the_handle(&cause) => self.expire(number),
            Err(cause) => self.visibility_failed(cause),
        }
    }

    fn visibility_failed(&mut self, cause: Cause) {
        // When the time for a call is used up, the messages come again, as after any other expiry.
        let is_late = matches!(cause, Cause::TimeUsedUp(_) | Cause::Outage { .. });
        if !is_late && !is_of_the_handle(&cause) {
            self.fail("ChangeMessageVisibilityBatch", cause);
        }
    }

    pub(crate) fn fail(&mut self, operation: &'static str, cause: Cause) {
        self.failure.get_or_insert(SourceError { operation, cause });
    }
}

/// Whether only this receipt handle is refused: its message was received again, its time is over, it was deleted.
fn is_of_the_handle(cause: &Cause) -> bool {
    match cause {
        Cause::Invalid(_) => true,
        Cause::Refused(fault) => [
            "ReceiptHandle",
            "InvalidParameterValue",
            "NotInflight",
            "InvalidIdFormat",
        ]
        .iter()
        .any(|code| fault.code().contains(code)),
        _ => false,
    }
}
