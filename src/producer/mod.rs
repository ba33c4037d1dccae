//! Many tasks that send single entries.

mod delivers;
mod epoch;
mod line;
mod outcome;
mod receipt;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, OwnedPermit};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub(crate) use self::delivers::Delivers;
use self::epoch::Epochs;
use self::line::Item;
use self::line::Line;
use self::outcome::Outcome;
use self::receipt::Promise;
pub use self::receipt::Receipt;
use crate::engine::Incoming;
use crate::fate::Fate;
use crate::handlers::{Handlers, Handling};
use crate::options::DeliveryOptions;
use crate::report::{Cause, DeliveryError, Report, Undelivered};

/// Sends single entries from many tasks, in batches that fill up by themselves.
///
/// For services that run for long. A clone sends to the same batches. Each caller learns the fate of its own entry, and a
/// caller that goes away cancels nothing that others wait for.
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
/// // In the end:
/// let report = producer.close().await?;
/// println!("{report}");
/// # Ok(())
/// # }
/// ```
///
/// A call leaves when it is full, or when its first entry has waited for the
/// [`linger`](DeliveryOptions::linger). At most [`buffer`](DeliveryOptions::buffer) entries wait to be read by the delivery;
/// further sends wait.
///
/// When the delivery [stops](Cause::Stopped), since the queue is missing, say, then all that is on its way is handed back,
/// and the next entry is a new try. A [cancellation](DeliveryOptions::cancellation) and a
/// [deadline](DeliveryOptions::deadline) close the producer.
///
/// An entry is tried for [1 minute](DeliveryOptions::give_up_after) unless the options say otherwise. For a handler of a web
/// service see the [guide](crate::guide#in-a-web-service).
///
/// A producer whose clones are all dropped delivers what it has, and only the receipts and a warning in the log tell what
/// became of it. So [`close`](Self::close) it, or [`close_within`](Self::close_within) the time that there is.
pub struct Producer<E> {
    line: mpsc::Sender<Item<E>>,
    epochs: Arc<Epochs>,
    outcome: Arc<Outcome<E>>,
    /// Ends the delivery early.
    end: CancellationToken,
}

impl<E> Clone for Producer<E> {
    fn clone(&self) -> Self {
        Self {
            line: self.line.clone(),
            epochs: Arc::clone(&self.epochs),
            outcome: Arc::clone(&self.outcome),
            end: self.end.clone(),
        }
    }
}

impl<E: Send + Sync + 'static> Producer<E> {
    /// Starts a delivery as a task of the current runtime.
    pub(crate) fn start(delivers: impl Delivers<E>, handlers: &Handlers<E>, options: DeliveryOptions) -> Self {
        let end = options.cancellation.child_token();
        let options = options.for_producer().cancellation(end.clone());
        let (sender, receiver) = mpsc::channel(options.buffer);
        let line = Line::new(receiver);
        let end_of_all = outcome::deliver(delivers, line, Handling::of(handlers), options);
        Self {
            line: sender,
            epochs: Arc::default(),
            outcome: Arc::new(Outcome::of(tokio::spawn(end_of_all))),
            end,
        }
    }

    /// Sends an entry, and waits until its fate is known. For a message it has the
    /// [ids](crate::targets::Acknowledgement) that SQS gave it.
    ///
    /// Dropped before the entry was [buffered](DeliveryOptions::buffer), the entry is not sent; dropped later, it is
    /// delivered all the same.
    ///
    /// # Errors
    /// When the entry was not delivered: it is handed back with the cause.
    pub async fn send(&self, entry: E) -> Result<Fate, Undelivered<E>> {
        self.enqueue(entry).await?.await
    }

    /// Puts an entry in line, and waits only for room. The receipt tells its fate; it may be dropped.
    ///
    /// # Errors
    /// When the producer is closed: the entry is handed back.
    pub async fn enqueue(&self, entry: E) -> Result<Receipt<E>, Undelivered<E>> {
        match self.line.clone().reserve_owned().await {
            Ok(room) => Ok(self.put(room, entry)),
            Err(_) => Err(Undelivered::unsent(entry, 0, Cause::Closed)),
        }
    }

    /// Puts an entry in line, if there is room.
    ///
    /// # Errors
    /// When there is no room, or the producer is closed: the entry is handed back.
    pub fn try_send(&self, entry: E) -> Result<Receipt<E>, Undelivered<E>> {
        match self.line.clone().try_reserve_owned() {
            Ok(room) => Ok(self.put(room, entry)),
            Err(TrySendError::Full(_)) => Err(Undelivered::unsent(entry, 0, Cause::BufferFull)),
            Err(TrySendError::Closed(_)) => Err(Undelivered::unsent(entry, 0, Cause::Closed)),
        }
    }

    fn put(&self, room: OwnedPermit<Item<E>>, entry: E) -> Receipt<E> {
        self.epochs.in_current(|epoch| {
            let (confirmation, receipt) = Promise::with_receipt(epoch);
            room.send(Item::Entry(Incoming {
                entry,
                confirmation: Some(confirmation),
            }));
            receipt
        })
    }

    /// Sends what is in line without waiting for more, and waits until the fate of all of it is known.
    pub async fn flush(&self) {
        // A closed line has no room, and its delivery does not linger.
        let room = self.line.reserve().await;
        let mark = || room.into_iter().for_each(|room| room.send(Item::Flush));
        let epoch = self.epochs.turn_over(mark);
        epoch.ended().await;
    }

    /// Takes no more entries, delivers all that are in line, and waits for the end.
    ///
    /// The report is that of all clones. Closing again does nothing, and returns the report again.
    ///
    /// A [`send`](Self::send) that was begun and waits for room is waited for, so it has to be polled or dropped meanwhile.
    ///
    /// # Errors
    /// When entries were not delivered and their receipts had been dropped: the error carries them. Those whose receipts
    /// were waited for are counted in the report, but are no error.
    ///
    /// # Panics
    /// When the runtime that the producer was made in was shut down.
    pub async fn close(&self) -> Result<Report, DeliveryError<E>> {
        // Closed already otherwise.
        let _ = self.line.send(Item::Close).await;
        self.outcome.wait().await
    }

    /// Closes it as [`close`](Self::close) does, but delivers for at most that long: what is not delivered then is handed
    /// back as [cancelled](Cause::Cancelled), to the receipts that are waited for or in the error.
    ///
    /// For a process that is told to end and has so many seconds until it is killed. Calls in flight at the end of that time
    /// have the [`grace`](DeliveryOptions::grace) on top, 1 s by default, and so has a target that cleans up.
    ///
    /// # Errors
    /// As [`close`](Self::close).
    ///
    /// # Panics
    /// As [`close`](Self::close).
    pub async fn close_within(&self, time: Duration) -> Result<Report, DeliveryError<E>> {
        if let Ok(closed) = timeout(time, self.close()).await {
            return closed;
        }
        self.end.cancel();
        self.close().await
    }
}

impl<E> fmt::Debug for Producer<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("closed", &self.line.is_closed())
            .finish_non_exhaustive()
    }
}
