//! The services to deliver to.
//!
//! [`BatchTarget`] is all that a service has to implement: its limits, a check of one entry, and one call. A target knows
//! nothing of retries, pace or order; the loop knows nothing of AWS.

mod answer;
#[cfg(feature = "aws")]
mod classify;
#[cfg(feature = "dynamodb")]
pub mod dynamo;
mod lane;
mod lookup;
#[cfg(test)]
mod recording;
#[cfg(any(feature = "dynamodb", feature = "sqs"))]
mod single_attempt;
#[cfg(feature = "sqs")]
pub mod sqs;
mod throttling;
#[cfg(feature = "aws")]
mod transmission;

pub use answer::{Acknowledgement, Answer, Fault, Rejection, Verdict};
#[cfg(feature = "aws")]
pub use classify::{classify, classify_entry};
pub use lane::Lane;
pub use lookup::{Lookup, LookupError};
pub use throttling::ThrottlingReason;
#[cfg(feature = "aws")]
pub use transmission::Transmission;

use std::borrow::Cow;

use crate::invalid::InvalidEntry;
use crate::report::Undelivered;

/// How much one call of a service takes.
///
/// ```
/// # use aws_batch_delivery::targets::Limits;
/// let records = Limits::new(500, 5 << 20).with_entry_bytes(1 << 20);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Entries in a call. A limit of 0 counts as 1.
    pub entries: usize,
    /// Bytes in a call, counted as [`BatchTarget::check`] counts them.
    pub bytes: usize,
    /// Bytes of a single entry, counted as the service counts an entry, which need not be how it counts a call. It is for
    /// [`BatchTarget::check`] to see that it is kept.
    pub entry_bytes: usize,
}

impl Limits {
    /// So many entries and so many bytes in a call, of which one entry may take all.
    pub const fn new(entries: usize, bytes: usize) -> Self {
        Self {
            entries,
            bytes,
            entry_bytes: bytes,
        }
    }

    /// And so many bytes of a single entry.
    #[must_use]
    pub const fn with_entry_bytes(mut self, bytes: usize) -> Self {
        self.entry_bytes = bytes;
        self
    }
}

/// A service that takes entries in batches.
pub trait BatchTarget: Send + Sync + 'static {
    /// What is delivered.
    type Entry: Send + Sync + 'static;

    /// What the [log](crate::events) calls the service and what is delivered to, such as `dynamodb/orders`. It is to have no
    /// account id and nothing secret. Called once a delivery. Default: `custom`.
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("custom")
    }

    /// How much one call takes. Asked once a delivery.
    fn limits(&self) -> Limits;

    /// Learns what has to be known before the first entry is checked, such as the schema of a table.
    ///
    /// Awaited once a delivery, and only if there is an entry. Deliveries that start together call it together. The future
    /// may be dropped at any time. What it cannot learn it does without: a service that is not there says so in answer to
    /// the first call.
    fn prepare(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Why the last try of [`prepare`](Self::prepare) failed, while it goes on trying. The warning that nothing is accepted
    /// [names it](crate::events::STALLED). Default: `None`, which the warning takes for a call without an answer.
    fn preparation_fault(&self) -> Option<Fault> {
        None
    }

    /// Checks one entry before anything is sent, and measures it.
    ///
    /// Returns the bytes that the entry takes up of [`Limits::bytes`], at least as many as it has. Called once an entry.
    ///
    /// # Errors
    /// Why the service would refuse the entry. It is handed back unsent; its neighbours are delivered.
    fn check(&self, entry: &Self::Entry) -> Result<usize, InvalidEntry>;

    /// Completes one entry, such as by an id that tells its retries from other entries. Called once an entry, after its
    /// check and before its lane is asked for. When the entry is handed back, it keeps what was added and is not
    /// [taken back](Self::take_back).
    fn complete(&self, entry: &mut Self::Entry) {
        let _ = entry;
    }

    /// What the entry takes up of the memory while it waits, where that is another number of bytes than `bytes`, which its
    /// check returned: not all of it goes into the call. Called once an entry. It limits how many entries may wait.
    fn weight(&self, entry: &Self::Entry, bytes: usize) -> usize {
        let _ = entry;
        bytes
    }

    /// The order that the entry keeps; `None` when it may pass all others, [`Lane::unknown`] when it cannot be told. Called once an
    /// entry.
    fn lane(&self, entry: &Self::Entry) -> Option<Lane> {
        let _ = entry;
        None
    }

    /// Which part of the service's capacity the entry draws from, as a hash: in DynamoDB its partition key, in a FIFO queue its
    /// message group. `None` where the service has no such parts, or where the part is not known.
    ///
    /// Entries whose part is used up are throttled whatever capacity the others have left. Equal parts must have equal hashes;
    /// where the hashes of two parts are equal by chance, they are paced as one. Called once an entry. Default: `None`.
    fn partition_key(&self, entry: &Self::Entry) -> Option<u64> {
        let _ = entry;
        None
    }

    /// Whether `older`, which has not arrived, need not arrive any more now that `newer` of the same lane is there: the
    /// two write the same key, and `newer` leaves nothing of `older`.
    ///
    /// Asked only under [`last_write_wins`](crate::DeliveryOptions::last_write_wins). Two entries may share a lane though
    /// their keys differ, so the keys themselves are to be compared.
    fn supersedes(&self, newer: &Self::Entry, older: &Self::Entry) -> bool {
        let _ = (newer, older);
        false
    }

    /// Takes away what it has added to entries that are handed back or has put elsewhere for their sake.
    ///
    /// Awaited once at the end of a delivery, if there are any, with all of them; those that are
    /// [invalid](crate::Cause::Invalid) or were never sent may not have been [completed](Self::complete). It has as long as
    /// an attempt may take, and after an early end the [grace](crate::DeliveryOptions::grace). The future may be dropped at
    /// any time.
    fn take_back(&self, undelivered: &mut [Undelivered<Self::Entry>]) -> impl Future<Output = ()> + Send {
        let _ = undelivered;
        async {}
    }

    /// Units of the service's capacity that the entry takes, as far as can be told in advance. Called once an entry, if the
    /// strategy [counts units](crate::backoff::BackoffStrategy::counts_units). Default: 1; 0 counts as 1.
    fn units(&self, entry: &Self::Entry) -> usize {
        let _ = entry;
        1
    }

    /// Makes one call with the chunk, without retries of its own, and tells each entry's fate.
    ///
    /// The loop keeps the entries, so that none is lost when the call is cut short by a timeout, a cancellation or a
    /// panic: the future may be dropped at any time.
    fn send(&self, chunk: &[Self::Entry]) -> impl Future<Output = Answer> + Send;

    /// Makes one call as [`send`](Self::send) does, and tells how many units of capacity it took, where the service says so.
    /// Called instead of `send` if the strategy counts units.
    fn send_metered(&self, chunk: &[Self::Entry]) -> impl Future<Output = (Answer, Option<f64>)> + Send {
        async { (self.send(chunk).await, None) }
    }
}
