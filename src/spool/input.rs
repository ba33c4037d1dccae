//! The entries on disk as the input of a delivery.

use std::any::type_name;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio::time::sleep;
use tracing::warn;

use super::error::SpoolError;
use super::handle::StoreHandle;
use super::json::{self, Form};
use super::pending::PendingEntry;
use super::settlement::Settlement;
use super::store::{ReadEntries, Refusal, StoredEntry};
use crate::engine::{Confirmation, Incoming, Input};
use crate::events::SPOOL;
use crate::fault::Fault;
use crate::guarded::guarded;
use crate::handlers::ActiveHandlers;
use crate::log_limit::LogLimit;

/// Entries that are read from the disk at a time.
const AT_A_TIME: usize = 1_000;

/// The bytes of entries that are read at a time, unless the first has more.
const BYTES_AT_A_TIME: usize = 1 << 20;

/// How long after an error the disk is read again.
const PAUSE: Duration = Duration::from_secs(1);

/// The entries on disk from the first that is not settled, as far as the window reaches. They end only with the delivery.
pub(super) struct SpoolInput<V> {
    store: StoreHandle,
    settlement: Arc<Settlement>,
    handling: Arc<ActiveHandlers<V>>,
    read: VecDeque<StoredEntry>,
    reading: Option<BoxFuture<'static, Result<ReadEntries, SpoolError>>>,
    /// The first entry that was not read from the disk.
    next: u64,
    /// Entries before this one do not linger.
    hurried: u64,
    /// Whether the last attempt to read has failed.
    is_failing: bool,
    /// Whether the next entry is damaged. Then no more is read: what follows must not overtake it.
    is_damaged: bool,
    failures: LogLimit,
    /// Limits the warnings that an entry is not of the type of the delivery.
    foreign_entries: LogLimit,
}

impl<V> SpoolInput<V> {
    pub(super) fn new(store: StoreHandle, settlement: Arc<Settlement>, handling: Arc<ActiveHandlers<V>>) -> Self {
        Self {
            next: settlement.until(),
            store,
            settlement,
            handling,
            read: VecDeque::new(),
            reading: None,
            hurried: 0,
            is_failing: false,
            is_damaged: false,
            failures: LogLimit::default(),
            foreign_entries: LogLimit::default(),
        }
    }

    /// Reads more entries from the disk.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.is_damaged {
            return Poll::Pending;
        }
        if self.reading.is_none() {
            let (from, end) = (self.next, self.settlement.readable_until(context.waker()));
            if from >= end {
                return Poll::Pending;
            }
            let (store, pause) = (self.store.clone(), self.is_failing.then(|| sleep(PAUSE)));
            self.reading = Some(
                async move {
                    if let Some(pause) = pause {
                        pause.await;
                    }
                    let read = store.with(move |store| store.read(from, end, AT_A_TIME, BYTES_AT_A_TIME));
                    read.await
                }
                .boxed(),
            );
        }
        let Some(reading) = &mut self.reading else {
            return Poll::Pending;
        };
        let read = ready!(reading.poll_unpin(context));
        self.reading = None;
        match read {
            Ok(ReadEntries { entries, gaps, end }) => {
                self.is_failing = false;
                self.settlement.read(self.next..end, gaps);
                self.read.extend(entries);
                self.next = end;
            }
            Err(error @ SpoolError::Damaged { .. }) => {
                warn!(target: SPOOL, error = error.to_string(), "no more entries of the spool are delivered");
                self.settlement.damaged(&error);
                self.is_damaged = true;
            }
            Err(error) => {
                if self.failures.permits() {
                    warn!(target: SPOOL, error = error.to_string(), "the spool could not be read; it is tried again");
                }
                self.is_failing = true;
            }
        }
        Poll::Ready(())
    }
}

impl<V: DeserializeOwned + Send + Sync + 'static> SpoolInput<V> {
    /// The entry for the delivery. `None` if there is nothing to deliver.
    fn incoming(&mut self, entry: &StoredEntry) -> Option<Incoming<V>> {
        let number = entry.number;
        if self.settlement.is_settled(number) {
            return None;
        }
        let of = type_name::<V>();
        let cause = match guarded("the deserialization", || json::read(&entry.json, Form::of(entry.form))) {
            Ok(Ok(value)) => {
                return Some(Incoming {
                    entry: value,
                    position: number,
                    confirmation: Some(Confirmation::to(PendingEntry {
                        number,
                        spooled_at: entry.spooled_at,
                        settlement: Arc::clone(&self.settlement),
                        handling: Arc::clone(&self.handling),
                    })),
                    handed_over: None,
                });
            }
            Ok(Err(error)) => {
                // The message of the error may quote the entry.
                let (line, column) = (error.line(), error.column());
                format!("what was spooled cannot be read as a {of}, at line {line} column {column}")
            }
            // As may that of the panic.
            Err(fault) => format!("what was spooled cannot be read as a {of}: {fault}"),
        };
        // After a change of the type that may be all of them.
        if self.foreign_entries.permits() {
            warn!(target: SPOOL, number, cause, "entries of the spool are not of the type of the delivery; they are kept as refused");
        }
        self.settlement.refuse(Refusal { number, cause });
        None
    }
}

impl<V: DeserializeOwned + Send + Sync + 'static> Input for SpoolInput<V> {
    type Entry = V;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Incoming<V>>> {
        // The delivery looks whether this has changed here.
        self.hurried = self.settlement.hurried_until(context.waker());
        loop {
            while let Some(entry) = self.read.pop_front() {
                if let Some(incoming) = self.incoming(&entry) {
                    return Poll::Ready(Some(incoming));
                }
            }
            ready!(self.poll_read(context));
        }
    }

    fn known(&self) -> usize {
        self.read.len()
    }

    fn hurried(&self) -> u64 {
        self.hurried
    }

    fn stop(&self) -> Option<Fault> {
        self.handling.fault()
    }

    fn ends_early(&self) {
        self.handling.ends_early();
    }
}
