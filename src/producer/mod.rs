//! Single entries from many tasks.

mod delivering;
mod epoch;
mod queue;
mod receipt;
mod unclaimed;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, OwnedPermit};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::epoch::Epochs;
use self::queue::{Item, Queue};
use self::receipt::Promise;
pub use self::receipt::Receipt;
use self::unclaimed::UnclaimedEntries;
use crate::contract::BatchTarget;
use crate::debug::debug_fields;
use crate::disposition::Disposition;
use crate::engine::Incoming;
use crate::report::{Cause, DeliveryError, Report, Undelivered};
use crate::run::{Completion, Contents, Run};
use crate::time_limit::within;

/// Collects single entries that many tasks send, and delivers them in batches.
///
/// It is for services that run for a long time. A clone sends to the same batches. Each caller gets the result of its own entry;
/// dropping one caller's future does not affect the others.
///
/// ```no_run
/// # use aws_batch_delivery::Delivery;
/// # async fn example(sqs: aws_sdk_sqs::Client, queue_url: &str, entry: aws_sdk_sqs::types::SendMessageBatchRequestEntry)
/// # -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let producer = Delivery::to_sqs(sqs, queue_url).producer();
///
/// // In each of many tasks:
/// producer.clone().send(entry).await?;
///
/// // Finally:
/// let report = producer.close().await?;
/// println!("{report}");
/// # Ok(())
/// # }
/// ```
///
/// A call leaves when it is full, or when its first entry has waited for the [`linger`](crate::DeliveryOptions::linger) time. At
/// most [`buffer`](crate::DeliveryOptions::buffer) entries wait to be read by the delivery; then senders wait.
///
/// When the delivery [stops](Cause::Stopped), for example because the queue does not exist, all its entries are handed
/// back, and the next entry starts a new delivery. A [cancellation](crate::DeliveryOptions::cancellation), a
/// [deadline](crate::DeliveryOptions::deadline) and an error of the [handler of undelivered
/// entries](crate::Delivery::on_undelivered) close the producer.
///
/// The outcome of an entry is known within [1 minute](crate::DeliveryOptions::give_up_after) after it was submitted, and the time of
/// one attempt, unless the options say otherwise. The [guide](crate::guide#in-a-web-service) shows a producer in a web service.
///
/// An undelivered entry whose receipt was dropped is logged at once, at most one line a minute, and kept for the close; only as
/// many as the [`buffer`](crate::DeliveryOptions::buffer) holds, 1,000 by default. The others are counted. A [handler of undelivered
/// entries](crate::Delivery::on_undelivered) gets all of them.
///
/// When all clones of a producer are dropped, the entries that it has are still delivered, but failures are reported only
/// by the receipts and by a warning in the log. When the runtime shuts down, entries whose outcome is not known are lost. So call
/// [`close`](Self::close), or [`close_within`](Self::close_within) with the available time.
pub struct Producer<E> {
    queue: mpsc::Sender<Item<E>>,
    epochs: Arc<Epochs>,
    completion: Arc<Completion<Report>>,
    unclaimed: UnclaimedEntries<E>,
    /// Ends the delivery early.
    end: CancellationToken,
    /// How long an entry may be tried from its submission on.
    patience: Duration,
}

impl<E> Clone for Producer<E> {
    fn clone(&self) -> Self {
        Self {
            queue: self.queue.clone(),
            epochs: Arc::clone(&self.epochs),
            completion: Arc::clone(&self.completion),
            unclaimed: self.unclaimed.clone(),
            end: self.end.clone(),
            patience: self.patience,
        }
    }
}

impl<E: Send + Sync + 'static> Producer<E> {
    /// Starts a delivery as a task of the current runtime.
    pub(crate) fn start<T: BatchTarget, C: Contents<T, Value = E>>(run: &Run<T, C>) -> Self {
        let end = run.options.cancellation.child_token();
        let options = run.options.clone().for_producer().cancellation(end.clone());
        let patience = options.patience();
        let (queue, receiver) = mpsc::channel(options.buffer);
        let unclaimed = UnclaimedEntries::of(run.destination(), options.buffer);
        let epochs = Arc::<Epochs>::default();
        let receiver = Queue::new(receiver, Arc::clone(&epochs));
        let delivering = delivering::deliver(run.with(options), receiver, unclaimed.clone());
        Self {
            queue,
            epochs,
            completion: Arc::new(Completion::of(tokio::spawn(delivering))),
            unclaimed,
            end,
            patience,
        }
    }

    /// Undelivered entries whose receipts are dropped are of no use to anything else, so they are neither kept nor reported: those of a
    /// stream that reads by them.
    #[cfg(any(feature = "dynamodb", feature = "sqs"))]
    pub(crate) fn ignoring_unclaimed(self) -> Self {
        self.unclaimed.ignore();
        self
    }

    /// Sends an entry, and waits until its outcome is known: at most for [`give_up_after`](crate::DeliveryOptions::give_up_after) and
    /// one [attempt](crate::DeliveryOptions::attempt_timeout), however many entries wait. The outcome of a message has the
    /// [ids](crate::targets::Acknowledgement) that SQS gave it. An entry whose condition does not hold is not an error either: its outcome is
    /// [`Disposition::ConditionFailed`].
    ///
    /// If the future is dropped before the entry is [buffered](crate::DeliveryOptions::buffer), the entry is not sent; if it is
    /// dropped later, the entry is still delivered.
    ///
    /// # Errors
    /// When the entry was not delivered: it is handed back with the cause.
    pub async fn send(&self, entry: E) -> Result<Disposition, Undelivered<E>> {
        self.enqueue(entry).await?.await
    }

    /// Buffers an entry, and waits only until the buffer has room. The receipt returns its outcome; it may be dropped.
    ///
    /// The time of the entry begins with this call.
    ///
    /// # Errors
    /// When the producer is closed, or when the buffer has no room for [`give_up_after`](crate::DeliveryOptions::give_up_after):
    /// the entry is handed back.
    pub async fn enqueue(&self, entry: E) -> Result<Receipt<E>, Undelivered<E>> {
        let handed_over = Instant::now();
        match within(self.patience, pin!(self.queue.clone().reserve_owned())).await {
            Some(Ok(room)) => self.put(room, entry, handed_over),
            Some(Err(_)) => Err(Undelivered::unsent(entry, 0, Cause::Closed)),
            None => Err(Undelivered::unsent(entry, 0, Cause::BufferFull)),
        }
    }

    /// Buffers an entry if the buffer has room.
    ///
    /// # Errors
    /// When the buffer is full or the producer is closed: the entry is handed back.
    pub fn try_enqueue(&self, entry: E) -> Result<Receipt<E>, Undelivered<E>> {
        match self.queue.clone().try_reserve_owned() {
            Ok(room) => self.put(room, entry, Instant::now()),
            Err(TrySendError::Full(_)) => Err(Undelivered::unsent(entry, 0, Cause::BufferFull)),
            Err(TrySendError::Closed(_)) => Err(Undelivered::unsent(entry, 0, Cause::Closed)),
        }
    }

    /// How many entries wait to be read by the delivery; at most [`buffer`](crate::DeliveryOptions::buffer).
    // The channel of the model checker does not say.
    #[cfg(not(model))]
    pub fn buffered(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    fn put(&self, room: OwnedPermit<Item<E>>, entry: E, handed_over: Instant) -> Result<Receipt<E>, Undelivered<E>> {
        self.epochs.in_current(|epoch| {
            let Some(epoch) = epoch else {
                return Err(Undelivered::unsent(entry, 0, Cause::Closed));
            };
            let (confirmation, receipt) = Promise::with_receipt(epoch, self.unclaimed.clone());
            room.send(Item::Entry(Incoming {
                entry,
                // It is counted when it is read.
                position: 0,
                confirmation: Some(confirmation),
                handed_over: Some(handed_over),
            }));
            Ok(receipt)
        })
    }

    /// Sends the buffered entries without waiting for more, and waits until the outcome of each is known.
    pub async fn flush(&self) {
        // A closed queue has no room, and its delivery does not linger.
        let room = self.queue.reserve().await;
        let mark = || room.into_iter().for_each(|room| room.send(Item::Flush));
        let epoch = self.epochs.turn_over(mark);
        epoch.ended().await;
    }

    /// Accepts no more entries, delivers those that it has, and waits for the end.
    ///
    /// The report covers all clones. Closing again returns the report again, as an error if receipts were dropped since then
    /// whose entries were not delivered.
    ///
    /// It waits for each [`send`](Self::send) that waits for room, so these futures must be polled or dropped.
    ///
    /// # Errors
    /// When entries whose receipts were dropped were not delivered: the error carries the first of them, as many as the
    /// [`buffer`](crate::DeliveryOptions::buffer) holds, and counts all with their causes. Entries that were handed back to their
    /// receipts are counted in the report, but are not an error.
    ///
    /// When the handler of undelivered entries has failed: the error has the entries that it did not take, and the reason in
    /// [`stopped`](DeliveryError::stopped).
    ///
    /// # Panics
    /// When the runtime that the producer was made in was shut down, and this future is awaited outside of its tasks.
    pub async fn close(&self) -> Result<Report, DeliveryError<E>> {
        // An error means that it is closed already.
        let _ = self.queue.send(Item::Close).await;
        self.unclaimed.result(self.completion.wait(None).await)
    }

    /// Closes as [`close`](Self::close) does, but delivers for at most `time`. Entries that are not delivered then are
    /// handed back as [cancelled](Cause::Cancelled), to their receipts or in the error.
    ///
    /// For a process that is asked to end and is killed some seconds later. After `time`, calls in flight have the
    /// [`grace`](crate::DeliveryOptions::grace) period, 1 s by default; then the target has it to clean up, and then a handler of
    /// undelivered entries to finish. So it returns within `time` and three grace periods, however many entries wait and
    /// whatever hangs.
    ///
    /// # Errors
    /// The same as for [`close`](Self::close).
    ///
    /// # Panics
    /// The same as for [`close`](Self::close).
    pub async fn close_within(&self, time: Duration) -> Result<Report, DeliveryError<E>> {
        if let Some(closed) = within(time, pin!(self.close())).await {
            return closed;
        }
        self.end.cancel();
        self.close().await
    }
}

debug_fields!(producer: Producer<E>, closed = producer.queue.is_closed());
