//! Writes the journal beside the delivery.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
#[cfg(feature = "s3")]
use std::sync::mpsc::RecvTimeoutError;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
#[cfg(feature = "s3")]
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::State;
use super::file::JournalFile;
#[cfg(feature = "s3")]
use super::object::JournalObject;
use super::state::Storage;
use crate::arguments::Location;

/// Bytes after which the journal is written anew.
const LONG: u64 = 4 << 20;

/// Numbers of a record at most, and as many may wait: a disk that is slow slows the delivery down.
const NUMBERS: usize = 64;

/// The same of an object, which takes some tens of milliseconds to put.
const NUMBERS_OF_OBJECT: usize = 2_048;

/// How often an object is put, if fewer numbers come meanwhile. It tells other runs that this one is alive.
#[cfg(feature = "s3")]
const EVERY: Duration = Duration::from_secs(1);

/// Takes the numbers of records that are settled, and writes them at once.
#[derive(Debug)]
pub(crate) struct Journal {
    sender: Mutex<Option<SyncSender<u64>>>,
    writer: Mutex<Option<JoinHandle<io::Result<()>>>>,
    /// An entry that the next run sends may have been delivered.
    is_open: Arc<AtomicBool>,
}

impl Journal {
    /// Entries that may be settled without being in a journal at this place: those that wait, and those that are being written.
    pub(crate) fn unwritten(location: &Location) -> u64 {
        2 * match location {
            Location::File(_) => NUMBERS,
            Location::Object { .. } => NUMBERS_OF_OBJECT,
        } as u64
    }

    /// Goes on with a journal. When it cannot be written any more, the delivery is cancelled.
    pub(crate) fn start(state: State, cancellation: CancellationToken) -> Self {
        let (sender, receiver) = sync_channel(match &state.storage {
            Storage::File(_) => NUMBERS,
            #[cfg(feature = "s3")]
            Storage::Object(_) => NUMBERS_OF_OBJECT,
        });
        let is_open = Arc::new(AtomicBool::new(false));
        let stays_open = Arc::clone(&is_open);
        let writer = thread::spawn(move || {
            let written = match state.storage {
                Storage::File(file) => write(file, &receiver, &stays_open),
                #[cfg(feature = "s3")]
                Storage::Object(object) => put(*object, &receiver, &stays_open),
            };
            if written.is_err() {
                cancellation.cancel();
            }
            written
        });
        Self {
            sender: Mutex::new(Some(sender)),
            writer: Mutex::new(Some(writer)),
            is_open,
        }
    }

    /// The record with this number is settled.
    pub(crate) fn settle(&self, number: u64) {
        if let Some(sender) = &*self.sender.lock().unwrap_or_else(PoisonError::into_inner) {
            // Without a writer the delivery is being cancelled.
            let _ = sender.send(number);
        }
    }

    /// An entry that the next run sends may have been delivered, as after a kill: that run tells it.
    pub(crate) fn leave_open(&self) {
        self.is_open.store(true, Relaxed);
    }

    /// Writes all that is settled, and that nothing is in flight any more unless it is [left open](Self::leave_open).
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

/// Writes what comes until nothing comes any more. What came while the last record was written is one record.
fn write(mut file: JournalFile, receiver: &Receiver<u64>, stays_open: &AtomicBool) -> io::Result<()> {
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
    if stays_open.load(Relaxed) { Ok(()) } else { file.end() }
}

/// Puts what comes until nothing comes any more.
#[cfg(feature = "s3")]
fn put(mut object: JournalObject, receiver: &Receiver<u64>, stays_open: &AtomicBool) -> io::Result<()> {
    loop {
        let due = Instant::now() + EVERY;
        for _ in 0..NUMBERS_OF_OBJECT {
            match receiver.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(number) => object.settle(number),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return object.put(!stays_open.load(Relaxed)),
            }
        }
        object.put(false)?;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::super::{Claim, Identity};
    use super::*;
    use crate::arguments::Service;
    use crate::console::Console;

    fn open(path: &Path, identity: Identity) -> State {
        let location = Location::File(path.to_owned());
        let console = Console::new(false, true);
        State::open(&location, identity, Claim::Named, &Service::default(), &console).unwrap()
    }

    #[test]
    fn what_may_have_been_delivered_and_is_sent_again_is_told_by_the_next_run() {
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

    proptest! {
        #[test]
        fn all_that_is_settled_is_in_the_journal(numbers in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle(), count in 0_usize..40) {
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
