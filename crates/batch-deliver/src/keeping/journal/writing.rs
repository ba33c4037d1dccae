//! What the writer of a journal writes, until nothing more comes.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::super::failures::FailedRecord;
use super::file::JournalFile;
use super::object::JournalObject;
use super::{ScanState, StopLine, scan};
use crate::source::{ReadProgress, SettledRecords};

/// Bytes after which the journal is compacted.
const LONG: u64 = 4 << 20;

/// The most numbers of one write, and the most that wait: a slow disk slows the delivery down.
pub(super) const NUMBERS: usize = 64;

/// The same for an object, whose put takes some tens of milliseconds.
pub(super) const NUMBERS_OF_OBJECT: usize = 2_048;

/// The same for the items of a table, whose journal is written at intervals.
pub(super) const NUMBERS_OF_SCAN: usize = 4_096;

/// The interval at which the journal of a scan is written to a file.
const EVERY_OF_SCAN: Duration = Duration::from_millis(100);

/// Numbers after which the journal of a scan is put before that interval is over.
pub(super) const NUMBERS_OF_PUT: usize = 2_500;

/// The interval at which an object is put if fewer numbers arrive. It shows other runs that this one is alive.
const EVERY: Duration = Duration::from_secs(1);

/// A record that is settled.
#[derive(Debug)]
pub(super) enum SettledRecord {
    /// It needs nothing more.
    Done(u64),
    /// It was not delivered.
    Failed(Box<FailedRecord>),
}

impl SettledRecord {
    fn number(&self) -> u64 {
        match self {
            Self::Done(number) => *number,
            Self::Failed(failed) => failed.number,
        }
    }
}

/// A journal to which all is written.
#[derive(Debug)]
pub(super) enum FinishedJournal {
    File(JournalFile),
    Object(Box<JournalObject>),
    Scan(ScanState),
}

/// How the run ends.
#[derive(Debug, Default)]
pub(super) struct RunEnd {
    /// Whether an entry that the next run sends may have been delivered already.
    pub(super) is_open: AtomicBool,
    /// The bad line at which it stops.
    stopped: Mutex<Option<StopLine>>,
}

impl RunEnd {
    fn is_open(&self) -> bool {
        self.is_open.load(Relaxed)
    }

    pub(super) fn stopped(&self) -> MutexGuard<'_, Option<StopLine>> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes records until the channel is closed. Those that arrive during a write are written together. Blocks.
pub(super) async fn write(
    mut file: JournalFile,
    mut receiver: Receiver<SettledRecord>,
    read: &ReadProgress,
    ending: &RunEnd,
) -> io::Result<JournalFile> {
    let mut batch = Vec::new();
    while receiver.recv_many(&mut batch, NUMBERS).await > 0 {
        let (mut settled, mut failed) = (SettledRecords::default(), Vec::new());
        for next in batch.drain(..) {
            match next {
                SettledRecord::Done(number) => settled.add(number, number),
                SettledRecord::Failed(one) => failed.push(*one),
            }
        }
        // The records are within what was read by now.
        file.add(settled, failed, read.changes())?;
        if file.written > LONG {
            file.compact()?;
        }
    }
    // Also of inputs in which nothing was left to do.
    file.add(SettledRecords::default(), Vec::new(), read.changes())?;
    if !ending.is_open() {
        file.end(*ending.stopped())?;
    }
    Ok(file)
}

/// Writes where the scan is continued until the channel is closed.
pub(super) async fn keep(
    mut state: ScanState,
    mut receiver: Receiver<SettledRecord>,
    position: impl Fn(u64) -> serde_json::Result<(Value, u64)>,
    kept: &watch::Sender<u64>,
    ending: &RunEnd,
) -> io::Result<ScanState> {
    let (every, most, is_shown) = match &state.storage {
        scan::ScanStorage::File { .. } => (EVERY_OF_SCAN, usize::MAX, false),
        // A put shows other runs that this one is alive.
        scan::ScanStorage::Object(_) => (EVERY, NUMBERS_OF_PUT, true),
    };
    let mut settled = SettledRecords::default();
    // Those behind the position are read again, and may be delivered then.
    let mut failed = BTreeMap::new();
    let (mut written, mut before) = (0, 0);
    loop {
        let due = Instant::now() + every;
        let (mut is_open, mut numbers) = (true, 0);
        while is_open && numbers < most {
            numbers += 1;
            match timeout_at(due, receiver.recv()).await {
                Ok(Some(next)) => {
                    settled.add(next.number(), next.number());
                    if let SettledRecord::Failed(one) = next {
                        failed.insert(one.number, *one);
                    }
                }
                Ok(None) => is_open = false,
                Err(_) => break,
            }
        }
        let first = settled.runs().next().filter(|(first, _)| *first == 0);
        let until = first.map_or(0, |(_, last)| last + 1);
        if until > written || is_shown || !is_open {
            let (place, items) = position(until)?;
            let behind = failed.split_off(&items);
            for one in failed.values() {
                state.fail(one);
            }
            failed = behind;
            state.write(place, items - before).await?;
            (written, before) = (until, items);
            kept.send_replace(until);
        }
        if !is_open {
            if !ending.is_open() {
                // A stop in the middle of a page leaves items that are settled and are read again.
                state.end(settled.len() - before).await?;
            }
            return Ok(state);
        }
    }
}

/// Puts the journal until the channel is closed.
pub(super) async fn put(
    mut object: JournalObject,
    mut receiver: Receiver<SettledRecord>,
    read: &ReadProgress,
    ending: &RunEnd,
) -> io::Result<JournalObject> {
    loop {
        let due = Instant::now() + EVERY;
        let mut is_open = true;
        for _ in 0..NUMBERS_OF_OBJECT {
            match timeout_at(due, receiver.recv()).await {
                Ok(Some(SettledRecord::Done(number))) => object.settle(number),
                Ok(Some(SettledRecord::Failed(failed))) => object.fail(&failed),
                Ok(None) => {
                    is_open = false;
                    break;
                }
                Err(_) => break,
            }
        }
        object.note(read.changes());
        if is_open {
            object.put().await?;
            continue;
        }
        if ending.is_open() {
            object.put().await?;
        } else {
            let stopped = *ending.stopped();
            object.end(stopped).await?;
        }
        return Ok(object);
    }
}
