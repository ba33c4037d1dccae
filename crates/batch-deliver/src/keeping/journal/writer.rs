//! Writes the journal while its records are settled.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::failures::FailedRecord;
use super::super::location::Location;
use super::writing::{FinishedJournal, NUMBERS_OF_SCAN, RunEnd, SettledRecord, keep, numbers, write};
use super::{LoadState, ScanState, StopLine};
use crate::blocking::{OwnRuntime, block_in_place};
use crate::source::ReadProgress;

/// Receives the numbers of settled records, and writes them without delay.
#[derive(Debug)]
pub(crate) struct Journal {
    sender: Mutex<Option<Sender<SettledRecord>>>,
    writer: Mutex<Option<JoinHandle<io::Result<FinishedJournal>>>>,
    /// What it has written, after the end.
    written: Mutex<Option<FinishedJournal>>,
    ending: Arc<RunEnd>,
    /// Of the writer, which blocks.
    _runtime: OwnRuntime,
}

impl Journal {
    /// The most entries that may be settled without being in a journal at this place: waiting or being written.
    pub(crate) fn unwritten(location: &Location) -> u64 {
        2 * numbers(matches!(location, Location::Object { .. })) as u64
    }

    /// Continues a journal, of inputs of which so much is read. What is sent after this is in doubt until it is in the journal. If it can
    /// no longer be written, the delivery is cancelled.
    pub(crate) async fn start(
        mut state: LoadState,
        read: ReadProgress,
        cancellation: CancellationToken,
    ) -> io::Result<Self> {
        state.begin().await?;
        let most = numbers(state.storage.is_object());
        Self::of_writer(most, cancellation, async move |receiver, ending| {
            let written = write(state, receiver, &read, &ending).await;
            written.map(FinishedJournal::Load)
        })
    }

    /// Continues the journal of a scan, which `position` returns after this many items. `kept` has the number of the first items that
    /// are settled in it. If it can no longer be written, the delivery is cancelled.
    pub(crate) fn of_scan(
        state: ScanState,
        position: impl Fn(u64) -> serde_json::Result<(Value, u64)> + Send + 'static,
        kept: watch::Sender<u64>,
        cancellation: CancellationToken,
    ) -> io::Result<Self> {
        Self::of_writer(NUMBERS_OF_SCAN, cancellation, async move |receiver, ending| {
            let kept = keep(state, receiver, position, &kept, &ending).await;
            kept.map(FinishedJournal::Scan)
        })
    }

    /// One in whose channel this many records can wait.
    fn of_writer<W>(
        most: usize,
        cancellation: CancellationToken,
        write: impl FnOnce(Receiver<SettledRecord>, Arc<RunEnd>) -> W,
    ) -> io::Result<Self>
    where
        W: Future<Output = io::Result<FinishedJournal>> + Send + 'static,
    {
        let (sender, receiver) = channel(most);
        let ending = Arc::new(RunEnd::default());
        let writing = write(receiver, Arc::clone(&ending));
        let runtime = OwnRuntime::start()?;
        let writer = runtime.spawn(async move {
            let written = writing.await;
            if written.is_err() {
                cancellation.cancel();
            }
            written
        });
        Ok(Self {
            sender: Mutex::new(Some(sender)),
            writer: Mutex::new(Some(writer)),
            written: Mutex::default(),
            ending,
            _runtime: runtime,
        })
    }

    /// The record with this number is settled. Waits if many are.
    pub(crate) fn settle(&self, number: u64) {
        self.send(SettledRecord::Done(number));
    }

    /// The record is settled, and was not delivered. Waits if many are.
    pub(crate) fn fail(&self, failed: FailedRecord) {
        self.send(SettledRecord::Failed(Box::new(failed)));
    }

    fn send(&self, settled: SettledRecord) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        // If the writer has ended, the delivery is being cancelled.
        if let Some(Err(TrySendError::Full(settled))) = sender.as_ref().map(|sender| sender.try_send(settled)) {
            let waiting = sender.clone();
            drop(sender);
            // A put may be without an answer for minutes. Other tasks of this thread send heartbeats and receive signals meanwhile.
            let _ = block_in_place(|| waiting.map(|sender| sender.blocking_send(settled)));
        }
    }

    /// An entry that the next run sends may have been delivered already. That run warns of it, as after a kill.
    pub(crate) fn leave_open(&self) {
        self.ending.is_open.store(true, Relaxed);
    }

    /// The run ends at a bad line, which may be corrected before the next run.
    pub(crate) fn stopped_at(&self, stopped: StopLine) {
        *self.ending.stopped() = Some(stopped);
    }

    /// Writes all settled records, and also that nothing is in flight, unless the journal is [left open](Self::leave_open).
    pub(crate) async fn close(&self) -> io::Result<()> {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(writer) = writer else { return Ok(()) };
        let written = writer.await.map_err(|_| io::Error::other("the writer panicked"))??;
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some(written);
        Ok(())
    }

    /// Writes, after the end, that all undelivered entries were reported to the user: the next run does not report them again.
    pub(crate) async fn reported(&self) -> io::Result<()> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner).take();
        match written {
            None => Ok(()),
            Some(FinishedJournal::Load(mut state)) => state.reported().await,
            Some(FinishedJournal::Scan(mut state)) => state.reported().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    use proptest::prelude::*;
    use tokio::runtime::Builder;

    use super::super::{Claim, Identity};
    use super::*;
    use crate::connection::Connection;
    use crate::console::Console;

    async fn open(path: &Path, identity: Identity) -> LoadState {
        let location = Location::File(path.to_owned());
        let console = Console::new(false, true);
        let connection = Connection::default();
        LoadState::open(&location, identity, Claim::Named, &connection, &console)
            .await
            .unwrap()
    }

    async fn start(path: &Path, identity: &Identity) -> Journal {
        let state = open(path, identity.clone()).await;
        let started = Journal::start(state, ReadProgress::default(), CancellationToken::new());
        started.await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_next_run_warns_of_entries_that_may_be_sent_twice() {
        for is_left_open in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("state");
            let identity = Identity::new([], &[], 7).unwrap();
            let journal = start(&path, &identity).await;
            if is_left_open {
                journal.leave_open();
            }
            journal.close().await.unwrap();
            drop(journal);
            assert_eq!(open(&path, identity).await.doubtful > 0, is_left_open);
        }
    }

    /// A put without an answer would hold up the heartbeats of its shard.
    #[test]
    fn other_tasks_go_on_while_settled_records_wait_for_the_writer() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (sender, mut receiver) = channel(1);
        let journal = Arc::new(Journal {
            sender: Mutex::new(Some(sender)),
            writer: Mutex::default(),
            written: Mutex::default(),
            ending: Arc::default(),
            _runtime: OwnRuntime::start().unwrap(),
        });
        let (begun, has_begun) = sync_channel(1);
        for first in [0, 10] {
            let (journal, begun) = (Arc::clone(&journal), begun.clone());
            runtime.spawn(async move {
                journal.settle(first);
                let _ = begun.send(());
                journal.settle(first + 1);
            });
        }
        has_begun.recv().unwrap();
        let (sent, has_sent) = sync_channel(1);
        runtime.spawn(async move { sent.send(()) });
        let heard = has_sent.recv_timeout(Duration::from_mins(1));
        let written = (0..4).filter_map(|_| receiver.blocking_recv()).count();
        assert_eq!((heard, written), (Ok(()), 4));
    }

    proptest! {
        #[test]
        fn all_settled_records_are_in_the_journal(numbers in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle(), count in 0_usize..40) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("state");
            let identity = Identity::new([], &[], 1).unwrap();
            let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            let state = runtime.block_on(async {
                let journal = start(&path, &identity).await;
                numbers[..count].iter().for_each(|number| journal.settle(*number));
                journal.close().await.unwrap();
                drop(journal);
                open(&path, identity).await
            });
            for (index, number) in numbers.iter().enumerate() {
                prop_assert_eq!(state.kept.settled.contains(*number), index < count);
            }
        }
    }
}
