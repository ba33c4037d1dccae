//! The contract of a target.

use std::borrow::Cow;

use super::{Answer, Fault, Lane, Limits};
use crate::invalid::InvalidEntry;
use crate::report::Undelivered;

/// A service that takes entries in batches.
///
/// Three methods make a target: [`limits`](Self::limits), [`check`](Self::check) and [`send`](Self::send). All others have a default, and
/// each is for a service that needs it:
///
/// | for | methods |
/// |---|---|
/// | the log | [`name`](Self::name) |
/// | an order that entries keep | [`lane`](Self::lane), [`supersedes`](Self::supersedes) |
/// | what has to be asked before the first entry | [`prepare`](Self::prepare), [`preparation_fault`](Self::preparation_fault) |
/// | what is added to an entry, or put elsewhere for its sake | [`complete`](Self::complete), [`clean_up`](Self::clean_up), [`weight`](Self::weight) |
/// | capacity that is not counted in entries | [`units`](Self::units), [`send_metered`](Self::send_metered) |
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
/// `targets::classify` and [`Lookup`](super::Lookup) are what the targets of this crate are made with;
/// `examples/own_target.rs` is a target on an SDK of AWS, and `examples/bulk_index.rs` one without. The feature `conformance` has a
/// kit that tests a target against a service that answers at random.
///
/// # Contract
/// - **Shared.** All deliveries that are clones of each other, and all calls of each, share the target. Of one delivery, calls are
///   [sent](Self::send) several at once, each in a task of its own; all other methods are called from the delivery's own task, one
///   after the other.
/// - **At once.** Methods that are not `async` hold up the delivery: they do no I/O and do not block.
/// - **No retries.** A target makes one call. When to make the next one, and with which entries, is the delivery's.
/// - **Dropped at any time.** So may any of the futures be: by a timeout, a cancellation, the end of the delivery. The delivery keeps
///   the entries, so that none is lost.
/// - **A panic** is caught and ends the delivery: what is not delivered is handed back as
///   [`Cause::Stopped`](crate::Cause::Stopped), with the method in the fault and what the panic said as its source. A panic of
///   `send` leaves its chunk [in doubt](Undelivered::may_have_been_delivered). Without `clean_up`, `name` and `preparation_fault` a
///   delivery goes on: a panic of these ends none.
pub trait BatchTarget: Send + Sync + 'static {
    /// What is delivered.
    type Entry: Send + Sync + 'static;

    // What every target writes.

    /// How much one call takes. Called once a delivery, before [`prepare`](Self::prepare).
    fn limits(&self) -> Limits;

    /// Checks one entry before anything is sent, and measures it. Called once an entry, after it was read.
    ///
    /// Returns the bytes that the entry takes up of [`Limits::bytes`], at least as many as it has.
    ///
    /// # Errors
    /// Why the service would refuse the entry. It is handed back unsent; its neighbours are delivered.
    fn check(&self, entry: &Self::Entry) -> Result<usize, InvalidEntry>;

    /// Makes one call with the chunk, without retries of its own, and tells each entry's fate.
    ///
    /// The chunk is within the limits and never empty. The call has as long as
    /// [`attempt_timeout`](crate::DeliveryOptions::attempt_timeout) says.
    fn send(&self, chunk: &[Self::Entry]) -> impl Future<Output = Answer> + Send;

    // The log.

    /// What the [log](crate::events) calls the service and what is delivered to, such as `dynamodb/orders`. It is to have no
    /// account id and nothing secret. Called a few times a delivery. Default: `custom`.
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("custom")
    }

    // The order of entries.

    /// The order that the entry keeps; `None` when it may pass all others, [`Lane::unknown`] when it cannot be told. Called once an
    /// entry, after [`complete`](Self::complete). Default: `None`.
    fn lane(&self, entry: &Self::Entry) -> Option<Lane> {
        let _ = entry;
        None
    }

    /// Whether `older`, which has not arrived, need not arrive any more now that `newer` of the same lane is there: the
    /// two write the same key, and `newer` leaves nothing of `older`. Default: false.
    ///
    /// Called only under [`last_write_wins`](crate::DeliveryOptions::last_write_wins), any number of times. Two entries may share a
    /// lane though their keys differ, so the keys themselves are to be compared.
    fn supersedes(&self, newer: &Self::Entry, older: &Self::Entry) -> bool {
        let _ = (newer, older);
        false
    }

    // What has to be asked before the first entry.

    /// Learns what has to be known before the first entry is checked, such as the schema of a table; a
    /// [`Lookup`](super::Lookup) asks for it once. Default: nothing.
    ///
    /// Awaited once a delivery, and only if there is an entry. Deliveries that start together call it together. What it cannot
    /// learn it does without: a service that is not there says so in answer to the first call.
    fn prepare(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Why the last try of [`prepare`](Self::prepare) failed, while it goes on trying. The warning that nothing is accepted
    /// [names it](crate::events::STALLED). Default: `None`, which the warning takes for a call without an answer.
    fn preparation_fault(&self) -> Option<Fault> {
        None
    }

    // What is added to an entry.

    /// Completes one entry, such as by an id that tells its retries from other entries. Called once an entry, after its
    /// [check](Self::check). What it adds stays with an entry that is handed back, unless [`clean_up`](Self::clean_up) takes it off.
    /// Default: nothing.
    fn complete(&self, entry: &mut Self::Entry) {
        let _ = entry;
    }

    /// Takes away what it has added to entries that are handed back, or has put elsewhere for their sake. Default: nothing.
    ///
    /// Awaited at the end of a delivery, if any are handed back, with all of them; where receipts or handlers wait for them,
    /// earlier and with a few at a time. Those that are [invalid](crate::Cause::Invalid) or were never sent may not have been
    /// [completed](Self::complete). It has as long as an attempt may take, and after an early end the
    /// [grace](crate::DeliveryOptions::grace).
    fn clean_up(&self, undelivered: &mut [Undelivered<Self::Entry>]) -> impl Future<Output = ()> + Send {
        let _ = undelivered;
        async {}
    }

    /// What the entry takes up of the memory while it waits, where that is another number of bytes than `bytes`, which its
    /// check returned: not all of it goes into the call. Called once an entry. It limits how many entries may wait. Default: `bytes`.
    fn weight(&self, entry: &Self::Entry, bytes: usize) -> usize {
        let _ = entry;
        bytes
    }

    // The service's capacity.

    /// Units of the service's capacity that the entry takes, as far as can be told in advance. Called once an entry, if the
    /// strategy [counts units](crate::backoff::Pace::counts_units). Default: 1; 0 counts as 1.
    fn units(&self, entry: &Self::Entry) -> usize {
        let _ = entry;
        1
    }

    /// Makes one call as [`send`](Self::send) does, and tells how many units of capacity it took, where the service says so.
    /// Called instead of `send` if the strategy counts units. Default: `send`, and no units.
    fn send_metered(&self, chunk: &[Self::Entry]) -> impl Future<Output = (Answer, Option<f64>)> + Send {
        async { (self.send(chunk).await, None) }
    }

    /// Which part of the service's capacity the entry draws from, as a hash: in DynamoDB its partition key, in a FIFO queue its
    /// message group. `None` where the service has no such parts, or where the part is not known. Default: `None`.
    ///
    /// Entries whose part is used up are throttled whatever capacity the others have left. Equal parts must have equal hashes;
    /// where the hashes of two parts are equal by chance, they are paced as one. Called once an entry, if the strategy
    /// [paces keys](crate::backoff::Pace::key_pace).
    fn partition_key(&self, entry: &Self::Entry) -> Option<u64> {
        let _ = entry;
        None
    }
}
