//! What deletions and changes of the visibility timeout have in common: they name received messages by their receipt handles.

use std::borrow::Cow;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::BatchResultErrorEntry;

use super::calls::SqsCalls;
use super::queue::{MAX_BATCH_BYTES, MAX_MESSAGES};
use super::{failed, short_name};
use crate::aws::correlate::by_id;
use crate::contract::{Answer, Fault, Limits, Verdict};
use crate::invalid::InvalidEntry;

/// A queue whose received messages are named by their receipt handles.
#[derive(Clone)]
pub(super) struct HandleQueue {
    pub(super) calls: SqsCalls,
    pub(super) url: String,
    pub(super) limits: Limits,
}

impl HandleQueue {
    pub(super) fn new(client: Client, url: String) -> Self {
        Self {
            calls: SqsCalls::new(client),
            url,
            limits: Limits::new(MAX_MESSAGES, MAX_BATCH_BYTES),
        }
    }

    pub(super) fn name(&self) -> Cow<'_, str> {
        format!("sqs/{}", short_name(&self.url)).into()
    }

    /// Checks a receipt handle, and returns its size. Its format is not documented.
    pub(super) fn check(&self, handle: &str) -> Result<usize, InvalidEntry> {
        let part = "receipt handle";
        if handle.is_empty() {
            return Err(InvalidEntry::Missing { part });
        }
        self.limits.check_size(part, handle.len())
    }
}

/// The answer to a call with this many handles: the ids of those that SQS took, and those that failed.
pub(super) fn answer(sent: usize, taken: impl Iterator<Item = String>, errors: &[BatchResultErrorEntry]) -> Answer {
    let taken = taken.map(|id| (id, Verdict::Accepted));
    by_id("SQS", sent, taken, errors.iter().map(failed))
}

/// The answer to a call that cannot be built, which needs an entry without a handle.
pub(super) fn without_handle() -> Answer {
    Answer::Whole(Verdict::Refused(Fault::new("no receipt handle")))
}
