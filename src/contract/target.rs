//! The contract of a target, and the limits of its calls.

use std::borrow::Cow;

use super::{Answer, Fault, Identity, Lane};
use crate::invalid::InvalidEntry;
use crate::report::Undelivered;

/// A service that takes entries in batches.
///
/// Three methods make a target: [`limits`](Self::limits), [`check`](Self::check) and [`send`](Self::send). The others have
/// defaults, and serve a purpose that not every target has:
///
/// | for | methods |
/// |---|---|
/// | the log | [`name`](Self::name) |
/// | entries that keep an order | [`lane`](Self::lane), [`supersedes`](Self::supersedes) |
/// | information that is needed before the first entry | [`prepare`](Self::prepare), [`preparation_fault`](Self::preparation_fault) |
/// | additions to an entry, or objects stored for it | [`identify`](Self::identify), [`complete`](Self::complete), [`restore`](Self::restore), [`clean_up`](Self::clean_up), [`weight`](Self::weight) |
/// | capacity that is not counted in entries | [`units`](Self::units), [`send_metered`](Self::send_metered) |
/// | capacity that the service announces | [`throughput`](Self::throughput) |
/// | capacity that is split among keys | [`partition_key`](Self::partition_key) |
///
/// ```
/// use aws_batch_delivery::targets::{Answer, BatchTarget, Limits, Verdict};
/// use aws_batch_delivery::{Delivery, InvalidEntry};
///
/// /// Takes ten lines at a time, and prints them.
/// struct Printer;
///
/// impl BatchTarget for Printer {
///     type Entry = String;
///
///     fn limits(&self) -> Limits {
///         Limits::new(10, 4_096)
///     }
///
///     fn check(&self, line: &String) -> Result<usize, InvalidEntry> {
///         Ok(line.len() + 1)
///     }
///
///     async fn send(&self, lines: &[String]) -> Answer {
///         println!("{}", lines.join("\n"));
///         Answer::Whole(Verdict::Accepted)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let lines = (0..100).map(|number| format!("line {number}"));
/// let report = Delivery::new(Printer).deliver(lines).await.unwrap();
/// assert_eq!(report.delivered, 100);
/// # }
/// ```
///
/// The targets of this crate are made with `targets::classify` and [`Lookup`](super::Lookup). `examples/own_target.rs` is a
/// target on an AWS SDK, and `examples/bulk_index.rs` one without. The feature `conformance` has a kit that tests a target
/// against a simulated service with random answers.
///
/// # Contract
/// - **Shared.** All deliveries that are clones of each other, and all of their calls, share the target. A delivery
///   [sends](Self::send) several calls at once, each in a task of its own, which [restores](Self::restore) what was delivered. Entries
///   that receipts or handlers wait for are [cleaned up](Self::clean_up) in further tasks, at the same time as other methods run. It
///   calls all other methods from its own task, one after another.
/// - **Immediate.** Methods that are not `async` block the delivery: they do no I/O and do not wait.
/// - **No retries.** A target makes one call. The delivery decides when to make the next one, and with which entries.
/// - **Cancel-safe.** Each future may be dropped at any time: by a timeout, a cancellation, the end of the delivery. The delivery
///   keeps the entries, so none is lost.
/// - **A panic** is caught and ends the delivery: undelivered entries are handed back as
///   [`Cause::Stopped`](crate::Cause::Stopped), with the method in the fault and the message of the panic as its source. A panic of
///   `send` leaves its chunk [in doubt](Undelivered::may_have_been_delivered). A panic of `restore`, `clean_up`, `name` or
///   `preparation_fault` does not end the delivery.
pub trait BatchTarget: Send + Sync + 'static {
    /// The type of the entries.
    type Entry: Send + Sync + 'static;

    // Required.

    /// The limits of one call. Called after each [`prepare`](Self::prepare).
    fn limits(&self) -> Limits;

    /// Checks one entry before anything is sent, and measures it. Called once for each entry, after it was read.
    ///
    /// Returns how many of the [`Limits::bytes`] the entry needs, or an upper bound of it.
    ///
    /// # Errors
    /// Why the service would refuse the entry. It is handed back unsent; the others are delivered.
    fn check(&self, entry: &Self::Entry) -> Result<usize, InvalidEntry>;

    /// Makes one call with the chunk, without retries, and returns the verdict for each entry.
    ///
    /// The chunk is within the limits and not empty. The call is dropped after
    /// [`attempt_timeout`](crate::DeliveryOptions::attempt_timeout).
    fn send(&self, chunk: &[Self::Entry]) -> impl Future<Output = Answer> + Send;

    // The log.

    /// The name of the service and of the destination in the [log](crate::events), such as `dynamodb/orders`. It must not
    /// contain an account id or a secret. Called a few times for each delivery. Default: `custom`.
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("custom")
    }

    // The order of entries.

    /// The lane whose order the entry keeps; `None` if it may pass all others, [`Lane::unknown`] if the lane cannot be
    /// determined. Called once for each entry, after [`complete`](Self::complete). Default: `None`.
    fn lane(&self, entry: &Self::Entry) -> Option<Lane> {
        let _ = entry;
        None
    }

    /// Whether `older`, which was not delivered, is no longer needed because of `newer`, an entry of the same lane: both
    /// write the same key, and `newer` overwrites `older` completely. Default: false.
    ///
    /// Called only under [`last_write_wins`](crate::DeliveryOptions::last_write_wins), any number of times. Two entries may
    /// share a lane although their keys differ, so compare the keys themselves.
    fn supersedes(&self, newer: &Self::Entry, older: &Self::Entry) -> bool {
        let _ = (newer, older);
        false
    }

    // Information that is needed before the first entry.

    /// Gets what must be known before the first entry is checked, such as the schema of a table; a
    /// [`Lookup`](super::Lookup) asks for it and keeps the answer. Default: nothing.
    ///
    /// Awaited once for each delivery, and only if there is an entry. Deliveries that start at the same time call it at the
    /// same time. It returns when the delivery can begin: what entries need is known, or cannot be known. When it takes longer
    /// than an entry [may be tried](crate::DeliveryOptions::give_up_after), and its first attempt longer than that of a call,
    /// everything is handed back with the [fault](Self::preparation_fault) in [`Cause::Outage`](crate::Cause::Outage).
    ///
    /// While there is still a [fault](Self::preparation_fault), it is called again every 30 s, while the delivery continues.
    fn prepare(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Why something that [`prepare`](Self::prepare) asks for is not known: the last call failed, or its answer is outdated. The
    /// warning that nothing is accepted [names it](crate::events::STALLED). Default: `None`, which the warning reports as a call without an answer.
    fn preparation_fault(&self) -> Option<Fault> {
        None
    }

    // Additions to an entry.

    /// The entry may have been sent before with this identity, by another delivery or process: it is of a
    /// [spool](crate::Delivery::spooled). A target whose service recognizes a repetition lets it do so by the identity. Called once for
    /// each entry of a spool, before its [check](Self::check). Default: nothing.
    fn identify(&self, entry: &mut Self::Entry, identity: &Identity) {
        let _ = (entry, identity);
    }

    /// Completes one entry, for example with an id by which the service recognizes a retry. Called once for each entry,
    /// after its [check](Self::check). The addition stays in an entry that is handed back, unless
    /// [`clean_up`](Self::clean_up) removes it, and in one that was delivered, unless [`restore`](Self::restore) does. Default: nothing.
    fn complete(&self, entry: &mut Self::Entry) {
        let _ = entry;
    }

    /// Removes what it has added to an entry that was delivered. Called once for each that a handler or a receipt waits for, before they
    /// see it. Default: nothing.
    fn restore(&self, entry: &mut Self::Entry) {
        let _ = entry;
    }

    /// Undoes, for entries that are handed back, what it has added to them or stored elsewhere for them. Default: nothing.
    ///
    /// Awaited at the end of a delivery with all of them, if there are any; for entries that receipts or handlers wait for,
    /// earlier and with a few at a time. Entries that are [invalid](crate::Cause::Invalid) or were never sent may not have
    /// been [completed](Self::complete). It may take as long as an attempt, and after an early end the
    /// [grace](crate::DeliveryOptions::grace) period.
    fn clean_up(&self, undelivered: &mut [Undelivered<Self::Entry>]) -> impl Future<Output = ()> + Send {
        let _ = undelivered;
        async {}
    }

    /// How much memory the entry takes while it waits, if that differs from `bytes`, the result of its check, because not
    /// all of the entry goes into the call. Called once for each entry. It limits how many entries may wait. Default:
    /// `bytes`.
    fn weight(&self, entry: &Self::Entry, bytes: usize) -> usize {
        let _ = entry;
        bytes
    }

    // The service's capacity.

    /// Units of the service's capacity that the entry consumes, as an estimate. Called once for each entry, if the strategy
    /// counts units, as [`Adaptive`](crate::backoff::Adaptive::by_write_units) does. Default: 1; 0 counts as 1.
    fn units(&self, entry: &Self::Entry) -> usize {
        let _ = entry;
        1
    }

    /// Makes one call as [`send`](Self::send) does, and also returns how many units of capacity it consumed, if the service
    /// reports that. Called instead of `send` if the strategy counts units. Default: `send`, and no units.
    fn send_metered(&self, chunk: &[Self::Entry]) -> impl Future<Output = (Answer, Option<f64>)> + Send {
        async { (self.send(chunk).await, None) }
    }

    /// Units of capacity per second that the service accepts from all its clients together, as far as
    /// [`prepare`](Self::prepare) has found it out. Default: `None`, not known.
    ///
    /// A table that is read item by item is not read faster than the items can be written at it. No pace starts at it: others may use
    /// the service as well.
    fn throughput(&self) -> Option<f64> {
        None
    }

    /// The part of the service's capacity that the entry uses, as a hash: in DynamoDB its partition key, in a FIFO queue
    /// its message group. `None` if the service has no such parts, or if the part is not known. Default: `None`.
    ///
    /// Entries whose part is exhausted are throttled even if other parts have capacity left. Equal parts must have equal
    /// hashes; different parts whose hashes collide are paced as one. Called once for each entry, if the strategy
    /// paces keys, as [`Adaptive`](crate::backoff::Adaptive) does.
    fn partition_key(&self, entry: &Self::Entry) -> Option<u64> {
        let _ = entry;
        None
    }
}

/// The limits of one call.
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
    /// Bytes in a call, as [`BatchTarget::check`](super::BatchTarget::check) counts them.
    pub bytes: usize,
    /// Bytes of a single entry, as the service counts an entry, which may differ from how it counts a call.
    /// [`BatchTarget::check`](super::BatchTarget::check) has to enforce it.
    pub entry_bytes: usize,
}

impl Limits {
    /// At most this many entries and bytes in a call, of which one entry may take all.
    pub const fn new(entries: usize, bytes: usize) -> Self {
        Self {
            entries,
            bytes,
            entry_bytes: bytes,
        }
    }

    /// With this limit for the bytes of a single entry.
    #[must_use]
    pub const fn with_entry_bytes(mut self, bytes: usize) -> Self {
        self.entry_bytes = bytes;
        self
    }

    /// The most bytes of an entry that a call can carry.
    #[cfg(feature = "_service")]
    #[allow(dead_code, reason = "each service uses a part of it")]
    pub(crate) fn largest_entry(&self) -> usize {
        self.entry_bytes.min(self.bytes)
    }

    /// The size of a part of an entry, which may be as large as an entry.
    ///
    /// # Errors
    /// When it is larger.
    #[cfg(feature = "_service")]
    #[allow(dead_code, reason = "each service uses a part of it")]
    pub(crate) fn check_size(&self, part: &'static str, actual: usize) -> Result<usize, InvalidEntry> {
        let limit = self.largest_entry();
        if actual > limit {
            return Err(InvalidEntry::TooLarge { part, limit, actual });
        }
        Ok(actual)
    }
}
