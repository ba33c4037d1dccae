//! Entries that are on disk before they are delivered.
//!
//! A [`Producer`](crate::Producer) keeps its entries in memory: a process that is killed loses them, and during an outage of hours they
//! have no place to wait. A [`Spool`] writes each entry to disk before it acknowledges it, and delivers it from there.
//!
//! ```no_run
//! # use aws_batch_delivery::{Delivery, spool::{SpoolError, SpoolOptions}};
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! # struct Order { id: String }
//! # async fn example(table: Delivery<impl aws_batch_delivery::targets::BatchTarget, aws_batch_delivery::Values<Order>>, order: Order)
//! # -> Result<(), SpoolError> {
//! // It begins with what an earlier process has left.
//! let orders = table.spooled(SpoolOptions::at("/var/lib/orders")).await?;
//!
//! // In each of many tasks: on disk when it returns.
//! orders.enqueue(&order).await?;
//!
//! // Finally: what is not delivered stays on disk.
//! let report = orders.close().await?;
//! println!("{report}");
//! # Ok(())
//! # }
//! ```
//!
//! # What becomes of an entry
//! - **Acknowledged.** When [`enqueue`](Spool::enqueue) returns `Ok`, the entry is on disk, as durable as the [`SyncPolicy`] says, and was
//!   read back unchanged. From then on it is delivered, or it is in the folder.
//! - **In order.** Entries are read in the order in which they were acknowledged, across restarts. Writes of one key and messages of one
//!   group arrive in this order.
//! - **At least once.** Settled entries are removed from the folder, up to the first one that is not settled, at least once a second. After
//!   a crash the rest is sent again, in order. At most a [window](SpoolOptions::window) of these entries were delivered before, and a value
//!   that is sent again is followed by the newer ones of its key. Each entry keeps its [identity](crate::targets::Identity) as long as it is
//!   in the folder. So a FIFO queue or topic that gets it again within 5 minutes has it once. An update that must not be applied twice, or
//!   a transaction, is applied once within 9 minutes, whichever delivery or process sends it. Calls of the last two seconds before a kill
//!   are recognized only if the next process starts within 9 minutes. A close leaves nothing that is known to be delivered. With
//!   [`last_write_wins`](crate::DeliveryOptions::last_write_wins) a value is settled when a newer one of its key is read; the newer one is
//!   on disk until it is delivered.
//! - **As long as it takes.** An entry is not given up because of time: [`give_up_after`](crate::DeliveryOptions::give_up_after) is only how
//!   long [`enqueue`](Spool::enqueue) waits for room, and [`retries`](crate::DeliveryOptions::retries) do not count. When the
//!   delivery [stops](crate::Cause::Stopped), for example because the queue does not exist, it is tried again after 1 s, later once a
//!   minute, and at a [flush](Spool::flush).
//! - **Refused for good.** An entry that the service refuses or would refuse is given to the
//!   [handler of undelivered entries](crate::Delivery::on_undelivered). Without a handler, or if it fails, the entry is kept in the folder
//!   with its cause, separately from the others, and is [logged](crate::events::SPOOL). [`SpoolFolder`] finds it there. An entry whose
//!   condition does not hold is settled. An entry is also kept there if its conversion panics in two deliveries, or
//!   [`check`](crate::targets::BatchTarget::check) or another method of the target that has one entry. A panic of
//!   [`send`](crate::targets::BatchTarget::send) or [`supersedes`](crate::targets::BatchTarget::supersedes), which have several, stops the
//!   delivery each time that it comes to them.
//! - **In doubt for too long.** This is about an update that must not be applied twice, or a transaction, that was in flight when the answers
//!   ceased. It can be decided for nine minutes, as long as DynamoDB surely knows its token. After that, sending it might apply it twice, and
//!   no answer could show it. Only the program knows what is worse. So it is neither sent nor lost: it is refused for good, with
//!   [`may_have_been_delivered`](crate::Undelivered::may_have_been_delivered) for the handler, or with "it may have been delivered" at the
//!   end of its cause in the folder. An outage in which calls end without an answer or with a 5xx leaves as many of them as calls were in
//!   flight when it began, and one more for each nine minutes, because single calls test whether it is over. Make an update that may be
//!   applied twice [idempotent](crate::targets::dynamo::ItemWrite::idempotent): it is sent until it is answered. A transaction that also puts
//!   an item of its own, with the condition that it is not there, can be submitted again.
//! - **Measured.** Each delivery that stops is a span of its own. The span and the [metrics](crate::metrics) count what it has handed back as
//!   undelivered. Those entries stay in the spool: the [report](SpoolReport::report) and the [progress](crate::Progress) do not count them.
//!
//! # Damage
//! Each entry has a checksum, and each number is that of an entry or of one that was removed. So what a device changes or loses is noticed
//! when it is read: nothing is skipped, and nothing behind it is delivered. [`enqueue`](Spool::enqueue), [`flush`](Spool::flush) and
//! [`close`](Spool::close) return [`SpoolError::Damaged`] then, and [`SpoolFolder::salvage`] takes out what can be read. If the folder or
//! its file is removed or replaced while it is open, nothing more is acknowledged; what was acknowledged before is delivered as
//! long as the process lives.
//!
//! # In the folder
//! A file of SQLite, `spool.sqlite3`, with the JSON of each value, of which its [limit](SpoolOptions::max_bytes) says how large it may
//! become. Next to it are the log of changes that are not in it yet, `spool.lock`, and `spool.reserve`, which goes when the disk is full.
//! However many entries wait, the memory has no more of them than 1 MiB that was read, 8 MiB that are being written, and what a
//! delivery [reads ahead](crate::DeliveryOptions::read_ahead_bytes). The folder must be on a local file system.
//! Only the owner of the files may read them, and a folder belongs to [one destination](SpoolOptions::any_destination).
//!
//! The file is read and written on the threads of the runtime for code that blocks. Code that blocks on them until an entry is
//! submitted, by `Handle::block_on` for example, must not take all of them.

mod clock;
mod delivering;
mod error;
mod folder;
mod handle;
mod input;
mod json;
mod location;
mod options;
mod pending;
mod report;
mod reserve;
mod room;
mod settlement;
mod store;
mod writer;

use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

pub use self::error::SpoolError;
pub use self::folder::{Salvaged, SpoolFolder, SpooledEntry};
use self::handle::StoreHandle;
pub use self::options::{SpoolOptions, SyncPolicy};
pub use self::report::{SpoolFigures, SpoolReport};
use self::room::Room;
use self::settlement::{OpenedStore, Settlement};
use self::store::{NewEntry, Store, cost};
use self::writer::{Request, Writer};
use crate::contract::BatchTarget;
use crate::debug::debug_fields;
use crate::events::SPOOL;
use crate::run::{Completion, Contents, Run};
use crate::shutdown::joined;
use crate::time_limit::within;

/// Writes to disk single entries that many tasks submit, and delivers them from there.
///
/// It is made by [`Delivery::spooled`](crate::Delivery::spooled); the [module](self) says what it guarantees. A clone is the same
/// spool. When all clones are dropped, it is closed as by [`close`](Self::close), in the background.
pub struct Spool<V> {
    shared: Arc<Shared>,
    values: PhantomData<fn(V)>,
}

struct Shared {
    store: StoreHandle,
    requests: UnboundedSender<Request>,
    room: Arc<Room>,
    settlement: Arc<Settlement>,
    options: SpoolOptions,
    /// How long an entry waits for room.
    patience: Duration,
    completion: Completion<Result<SpoolReport, SpoolError>>,
    /// Ends the delivery.
    end: CancellationToken,
    /// Whether it was logged that the spool was not closed in order.
    has_warned: AtomicBool,
    _ends_with_the_last: DropGuard,
}

/// When it is dropped, also with its runtime, nothing waits for room or for the delivery .
struct EndGuard {
    room: Arc<Room>,
    end: CancellationToken,
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.room.close();
        self.end.cancel();
    }
}

impl<V> Clone for Spool<V> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            values: PhantomData,
        }
    }
}

impl<V: Serialize + DeserializeOwned + Send + Sync + 'static> Spool<V> {
    /// Opens the folder, and starts to deliver what is in it, as tasks of the current runtime.
    pub(crate) async fn start<T: BatchTarget, C: Contents<T, Value = V>>(
        run: &Run<T, C>,
        options: SpoolOptions,
    ) -> Result<Self, SpoolError> {
        let (folder, any_destination) = (options.folder.clone(), options.any_destination);
        let destination = run.destination();
        let store = StoreHandle::open(move || {
            let mut store = Store::open(&folder)?;
            store.set_destination(&destination, any_destination)?;
            Ok(store)
        });
        let store = store.await?;
        let (totals, id, doubts) = store
            .with(|store| Ok((store.totals(), store.id(), store.doubts()?)))
            .await?;
        let opened = OpenedStore {
            first: totals.first,
            end: totals.next,
            id,
            doubts,
        };
        if totals.entries > 0 {
            let (entries, bytes) = (totals.entries, totals.bytes);
            info!(target: SPOOL, entries, bytes, "the spool begins with the entries that were left");
        }
        let room = Arc::new(Room::new(options.max_bytes, totals.bytes));
        let settlement = Arc::new(Settlement::new(opened, options.window));
        let (requests, received) = unbounded_channel();
        let writer = Writer::new(
            store.clone(),
            received,
            Arc::clone(&room),
            Arc::clone(&settlement),
            (options.sync, options.drops_oldest),
            totals,
        );
        let delivery = &run.options;
        let end = delivery.cancellation.child_token();
        let patience = delivery.clone().for_producer().patience();
        let of_delivery = delivery.clone().without_giving_up().cancellation(end.clone());
        let delivering = delivering::deliver(run.with(of_delivery), store.clone(), Arc::clone(&settlement));
        let writer_requests = requests.clone();
        let ending = EndGuard {
            room: Arc::clone(&room),
            end: end.clone(),
        };
        let running = tokio::spawn(async move {
            let writer = tokio::spawn(writer.run());
            let delivered = tokio::spawn(delivering).await;
            drop(ending);
            // The writer ends with this request alone.
            let _ = writer_requests.send(Request::Close);
            let report = joined(delivered).await;
            let (totals, dropped) = joined(writer.await).await?;
            let report = SpoolReport {
                report,
                left: totals.entries,
                refused: totals.refused,
                dropped,
            };
            let (delivered, left, refused) = (report.report.delivered, report.left, report.refused);
            info!(target: SPOOL, delivered, left, refused, dropped, "the spool is closed");
            Ok(report)
        });
        Ok(Self {
            shared: Arc::new(Shared {
                store,
                requests,
                room,
                settlement,
                options,
                patience,
                completion: Completion::of(running),
                has_warned: AtomicBool::new(false),
                _ends_with_the_last: end.clone().drop_guard(),
                end,
            }),
            values: PhantomData,
        })
    }

    /// Writes an entry to disk, and waits until it is there, as durable as the [`SyncPolicy`] says. Entries that one task submits
    /// one after another are delivered in that order.
    ///
    /// If the future is dropped before it has returned, the entry may be in the spool or not.
    ///
    /// What is written is JSON, and is read before it is delivered. So it is read here, too, and a value that is not what it was then is
    /// refused: one with an `f64` that is not a number, which is `null` in JSON, or with `Some(None)`, one that is nested deeper than
    /// 128 times, or one with a field that is only written. (A field that is not written either is not noticed.) Digits of an [`exact_number`](crate::exact_number) are kept if its type is read from a number of JSON
    /// or from a text, as those of `rust_decimal` and `bigdecimal` are, and integers of 128 bits that are not in an untagged enum or
    /// a flattened struct.
    ///
    /// # Errors
    /// When the spool has no room for as long as [`give_up_after`](crate::DeliveryOptions::give_up_after) allows, 1 minute by default, when
    /// the disk fails, when the folder was removed or is damaged, when the value cannot be serialized and read again, and when the spool
    /// is closed. The value is not acknowledged then.
    pub async fn enqueue(&self, value: &V) -> Result<(), SpoolError> {
        let (json, form) = json::written(value)?;
        let Shared { room, options, .. } = &*self.shared;
        let (bytes, limit) = (cost(json.len()), options.max_bytes);
        if bytes > limit || u32::try_from(bytes).is_err() {
            return Err(SpoolError::TooLarge { bytes, limit });
        }
        let Some(place) = within(self.shared.patience, pin!(room.place(bytes, json.len()))).await else {
            let refused = self.shared.store.with(|store| Ok(store.totals().refused)).await;
            return Err(SpoolError::Full {
                bytes,
                limit,
                waited: self.shared.patience,
                refused: refused.unwrap_or_default(),
            });
        };
        let place = place.map_err(|_| SpoolError::Closed)?;
        let spooled_at = clock::now();
        let (written, answer) = oneshot::channel();
        self.request(Request::Write {
            entry: NewEntry {
                spooled_at,
                json,
                form: form.number(),
            },
            place,
            written,
        })?;
        // The writer answers each request that it has received.
        answer.await.unwrap_or(Err(SpoolError::Closed))
    }

    /// Sends what was acknowledged so far without waiting for more, and waits until all of it is settled. During an outage that takes
    /// as long as the outage.
    ///
    /// # Errors
    /// When some of it is not settled, and will not be: because the spool is closed or its folder is damaged. It is in the folder.
    pub async fn flush(&self) -> Result<(), SpoolError> {
        let end = self.shared.settlement.hurry();
        tokio::select! {
            biased;
            settled = self.shared.settlement.settled_until(end) => settled,
            () = self.shared.end.cancelled() => Err(SpoolError::Closed),
        }
    }

    /// What is in the spool.
    ///
    /// # Errors
    /// When the folder cannot be read, and when the spool is closed.
    pub async fn figures(&self) -> Result<SpoolFigures, SpoolError> {
        let (totals, first) = self
            .shared
            .store
            .with(|store| Ok((store.totals(), store.first()?)))
            .await?;
        Ok(SpoolFigures::of(totals, first))
    }

    /// Accepts no more entries, stops the delivery, and leaves what is not delivered in the folder, for the next spool. Calls in flight
    /// have the [`grace`](crate::DeliveryOptions::grace) period, so it returns within three of them and the time of one write.
    ///
    /// To deliver what is left first, call [`flush`](Self::flush) or [`close_within`](Self::close_within). Closing again returns the
    /// same.
    ///
    /// # Errors
    /// When the last removals could not be written, or the folder could not be closed, and when the runtime that started the spool
    /// has ended before. Entries that were acknowledged are in it nevertheless, unless it was removed or is damaged.
    pub async fn close(&self) -> Result<SpoolReport, SpoolError> {
        self.shared.room.close();
        self.shared.end.cancel();
        let result = self.shared.completion.wait(Some(Err(SpoolError::Closed))).await;
        if let Err(error) = &result {
            if matches!(error, SpoolError::Closed) {
                // The writer, which closes the store, was dropped with its runtime.
                let _ = self.shared.store.close().await;
            }
            if !self.shared.has_warned.swap(true, Relaxed) {
                warn!(target: SPOOL, error = error.to_string(), "the spool could not be closed in order");
            }
        }
        result
    }

    /// Closes as [`close`](Self::close) does, but first delivers for at most `time` what was acknowledged.
    ///
    /// # Errors
    /// The same as for [`close`](Self::close).
    pub async fn close_within(&self, time: Duration) -> Result<SpoolReport, SpoolError> {
        // Entries that wait for room no longer get any.
        self.shared.room.close();
        // What is not delivered within the time stays on disk.
        let _ = within(time, pin!(self.flush())).await;
        self.close().await
    }

    fn request(&self, request: Request) -> Result<(), SpoolError> {
        self.shared.requests.send(request).map_err(|_| SpoolError::Closed)
    }
}

debug_fields!(
    spool: Spool<V>,
    folder = spool.shared.options.folder,
    closed = spool.shared.requests.is_closed(),
);
