//! Writes the journal in a thread beside the delivery.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;

use super::super::location::Location;
use super::file::JournalFile;
#[cfg(feature = "s3")]
use super::object::JournalObject;
use super::state::JournalStorage;
use super::{ScanState, State, Stopped, scan};
use crate::source::SettledRecords;

/// Bytes after which the journal is compacted.
const LONG: u64 = 4 << 20;

/// The most numbers of one write, and the most that wait: a slow disk slows the delivery down.
const NUMBERS: usize = 64;

/// The same for an object, whose put takes some tens of milliseconds.
const NUMBERS_OF_OBJECT: usize = 2_048;

/// The same for the items of a table, whose journal is written at intervals.
const NUMBERS_OF_SCAN: usize = 4_096;

/// The interval at which the journal of a scan is written to a file.
const EVERY_OF_SCAN: Duration = Duration::from_millis(100);

/// Numbers after which the journal of a scan is put before that interval is over.
#[cfg(feature = "s3")]
const NUMBERS_OF_PUT: usize = 2_500;

/// The interval at which an object is put if fewer numbers arrive. It shows other runs that this one is alive.
#[cfg(feature = "s3")]
const EVERY: Duration = Duration::from_secs(1);

/// Receives the numbers of settled records, and writes them without delay.
#[derive(Debug)]
pub(crate) struct Journal {
    sender: Mutex<Option<SyncSender<u64>>>,
    writer: Mutex<Option<JoinHandle<io::Result<()>>>>,
    ending: Arc<Ending>,
}

/// How the run ends.
#[derive(Debug, Default)]
struct Ending {
    /// Whether an entry that the next run sends may have been delivered already.
    is_open: AtomicBool,
    /// The bad line at which it stops.
    stopped: Mutex<Option<Stopped>>,
}

impl Ending {
    fn is_open(&self) -> bool {
        self.is_open.load(Relaxed)
    }

    fn stopped(&self) -> MutexGuard<'_, Option<Stopped>> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    /// The most entries that may be settled without being in a journal at this place: waiting or being written.
    pub(crate) fn unwritten(location: &Location) -> u64 {
        2 * match location {
            Location::File(_) => NUMBERS,
            Location::Object { .. } => NUMBERS_OF_OBJECT,
        } as u64
    }

    /// Continues a journal. If it can no longer be written, the delivery is cancelled.
    pub(crate) fn start(state: State, cancellation: CancellationToken) -> Self {
        let (sender, receiver) = sync_channel(match &state.storage {
            JournalStorage::File(_) => NUMBERS,
            #[cfg(feature = "s3")]
            JournalStorage::Object(_) => NUMBERS_OF_OBJECT,
        });
        let ending = Arc::new(Ending::default());
        let ends = Arc::clone(&ending);
        let writer = thread::spawn(move || {
            let written = match state.storage {
                JournalStorage::File(file) => write(file, &receiver, &ends),
                #[cfg(feature = "s3")]
                JournalStorage::Object(object) => put(*object, &receiver, &ends),
            };
            if written.is_err() {
                cancellation.cancel();
            }
            written
        });
        Self {
            sender: Mutex::new(Some(sender)),
            writer: Mutex::new(Some(writer)),
            ending,
        }
    }

    /// Continues the journal of a scan, which `position` tells after so many items. `kept` has the number of the first items that
    /// are settled in it. If it can no longer be written, the delivery is cancelled.
    pub(crate) fn of_scan(
        state: ScanState,
        position: impl Fn(u64) -> serde_json::Result<(Value, u64)> + Send + 'static,
        kept: watch::Sender<u64>,
        cancellation: CancellationToken,
    ) -> Self {
        let (sender, receiver) = sync_channel(NUMBERS_OF_SCAN);
        let ending = Arc::new(Ending::default());
        let ends = Arc::clone(&ending);
        let writer = thread::spawn(move || {
            let written = keep(state, &receiver, position, &kept, &ends);
            if written.is_err() {
                cancellation.cancel();
            }
            written
        });
        Self {
            sender: Mutex::new(Some(sender)),
            writer: Mutex::new(Some(writer)),
            ending,
        }
    }

    /// The record with this number is settled. Waits if many are.
    pub(crate) fn settle(&self, number: u64) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        // If the writer has ended, the delivery is being cancelled.
        if let Some(Err(TrySendError::Full(number))) = sender.as_ref().map(|sender| sender.try_send(number)) {
            let waiting = sender.clone();
            drop(sender);
            // A put may be without an answer for minutes. Other tasks of this thread send heartbeats and receive signals meanwhile.
            let _ = block_in_place(|| waiting.map(|sender| sender.send(number)));
        }
    }

    /// An entry that the next run sends may have been delivered already. That run warns of it, as after a kill.
    pub(crate) fn leave_open(&self) {
        self.ending.is_open.store(true, Relaxed);
    }

    /// The run ends at a bad line, which may be corrected before the next run.
    pub(crate) fn stopped_at(&self, stopped: Stopped) {
        *self.ending.stopped() = Some(stopped);
    }

    /// Writes all settled records, and also that nothing is in flight, unless the journal is [left open](Self::leave_open).
    pub(crate) fn close(&self) -> io::Result<()> {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        writer.map_or(Ok(()), |writer| {
            writer
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the writer panicked")))
        })
    }
}

/// Writes numbers until the channel is closed. Numbers that arrive during a write are written together.
fn write(mut file: JournalFile, receiver: &Receiver<u64>, ending: &Ending) -> io::Result<()> {
    while let Ok(first) = receiver.recv() {
        let mut numbers: Vec<u64> = std::iter::once(first)
            .chain(receiver.try_iter().take(NUMBERS - 1))
            .collect();
        numbers.sort_unstable();
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for number in numbers {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => runs.push((number, number)),
            }
        }
        file.add(&runs)?;
        if file.written > LONG {
            file.compact()?;
        }
    }
    if ending.is_open() {
        Ok(())
    } else {
        file.end(*ending.stopped())
    }
}

/// Writes where the scan is continued until the channel is closed.
fn keep(
    mut state: ScanState,
    receiver: &Receiver<u64>,
    position: impl Fn(u64) -> serde_json::Result<(Value, u64)>,
    kept: &watch::Sender<u64>,
    ending: &Ending,
) -> io::Result<()> {
    let (every, most, is_shown) = match &state.storage {
        scan::ScanStorage::File { .. } => (EVERY_OF_SCAN, usize::MAX, false),
        // A put shows other runs that this one is alive.
        #[cfg(feature = "s3")]
        scan::ScanStorage::Object(_) => (EVERY, NUMBERS_OF_PUT, true),
    };
    let mut settled = SettledRecords::default();
    let (mut written, mut before) = (0, 0);
    loop {
        let due = Instant::now() + every;
        let (mut is_open, mut numbers) = (true, 0);
        while is_open && numbers < most {
            numbers += 1;
            match receiver.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(number) => settled.add(number, number),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => is_open = false,
            }
        }
        let first = settled.runs().next().filter(|(first, _)| *first == 0);
        let until = first.map_or(0, |(_, last)| last + 1);
        if until > written || is_shown || !is_open {
            let (place, items) = position(until)?;
            state.write(place, items - before)?;
            (written, before) = (until, items);
            kept.send_replace(until);
        }
        if !is_open {
            // A stop in the middle of a page leaves items that are settled and are read again.
            return if ending.is_open() {
                Ok(())
            } else {
                state.end(settled.len() - before)
            };
        }
    }
}

/// Puts the journal until the channel is closed.
#[cfg(feature = "s3")]
fn put(mut object: JournalObject, receiver: &Receiver<u64>, ending: &Ending) -> io::Result<()> {
    loop {
        let due = Instant::now() + EVERY;
        for _ in 0..NUMBERS_OF_OBJECT {
            match receiver.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(number) => object.settle(number),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) if ending.is_open() => return object.put(),
                Err(RecvTimeoutError::Disconnected) => return object.end(*ending.stopped()),
            }
        }
        object.put()?;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use tokio::runtime::Builder;

    use super::super::{Claim, Identity};
    use super::*;
    use crate::connection::Connection;
    use crate::console::Console;

    fn open(path: &Path, identity: Identity) -> State {
        let location = Location::File(path.to_owned());
        let console = Console::new(false, true);
        State::open(&location, identity, Claim::Named, &Connection::default(), &console).unwrap()
    }

    #[test]
    fn the_next_run_warns_of_entries_that_may_be_sent_twice() {
        for is_left_open in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("state");
            let identity = Identity::new([], &[], 7).unwrap();
            let journal = Journal::start(open(&path, identity.clone()), CancellationToken::new());
            if is_left_open {
                journal.leave_open();
            }
            journal.close().unwrap();
            assert_eq!(open(&path, identity).doubtful > 0, is_left_open);
        }
    }

    /// A put without an answer would hold up the heartbeats of its shard.
    #[test]
    fn other_tasks_go_on_while_settled_records_wait_for_the_writer() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (sender, receiver) = sync_channel(1);
        let journal = Arc::new(Journal {
            sender: Mutex::new(Some(sender)),
            writer: Mutex::default(),
            ending: Arc::default(),
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
        let written: Vec<u64> = (0..4).filter_map(|_| receiver.recv().ok()).collect();
        assert_eq!((heard, written.len()), (Ok(()), 4));
    }

    proptest! {
        #[test]
        fn all_settled_records_are_in_the_journal(numbers in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle(), count in 0_usize..40) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("state");
            let identity = Identity::new([], &[], 1).unwrap();
            let journal = Journal::start(open(&path, identity.clone()), CancellationToken::new());
            numbers[..count].iter().for_each(|number| journal.settle(*number));
            journal.close().unwrap();
            let state = open(&path, identity);
            for (index, number) in numbers.iter().enumerate() {
                prop_assert_eq!(state.settled.contains(*number), index < count);
            }
        }
    }
}
