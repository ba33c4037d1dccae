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
use super::{LoadState, ScanState, StopLine};
use crate::source::{ReadProgress, SettledRecords};

/// The most numbers of one write, and the most that wait: a slow disk slows the delivery down.
const NUMBERS: usize = 64;

/// The same for an object, whose put takes some tens of milliseconds.
const NUMBERS_OF_OBJECT: usize = 2_048;

/// The same for the items of a table, whose journal is written at intervals.
pub(super) const NUMBERS_OF_SCAN: usize = 4_096;

/// The interval at which the journal of a scan is written to a file.
const EVERY_OF_SCAN: Duration = Duration::from_millis(100);

/// Numbers after which the journal of a scan is put before that interval is over.
const NUMBERS_OF_PUT: usize = 2_500;

/// The interval at which an object is put if fewer numbers arrive. It shows other runs that this one is alive.
const EVERY: Duration = Duration::from_secs(1);

/// The most numbers of a load that wait for its journal.
pub(super) fn numbers(is_object: bool) -> usize {
    if is_object { NUMBERS_OF_OBJECT } else { NUMBERS }
}

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
    Load(LoadState),
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

/// Receives records until there are this many, or this time is over. Returns whether more may come.
async fn receive(
    receiver: &mut Receiver<SettledRecord>,
    records: &mut Vec<SettledRecord>,
    (most, every): (usize, Duration),
) -> bool {
    let due = Instant::now() + every;
    while records.len() < most {
        match timeout_at(due, receiver.recv()).await {
            Ok(Some(record)) => records.push(record),
            Ok(None) => return false,
            Err(_) => break,
        }
    }
    true
}

/// Writes records until the channel is closed. Those that arrive during a write are written together, and for an object those of a second. Blocks.
pub(super) async fn write(
    mut state: LoadState,
    mut receiver: Receiver<SettledRecord>,
    read: &ReadProgress,
    ending: &RunEnd,
) -> io::Result<LoadState> {
    let is_object = state.storage.is_object();
    let mut records = Vec::new();
    loop {
        let is_open = if is_object {
            receive(&mut receiver, &mut records, (NUMBERS_OF_OBJECT, EVERY)).await
        } else {
            receiver.recv_many(&mut records, NUMBERS).await > 0
        };
        let (mut settled, mut failed) = (SettledRecords::default(), Vec::new());
        for next in records.drain(..) {
            match next {
                SettledRecord::Done(number) => settled.add(number, number),
                SettledRecord::Failed(one) => failed.push(*one),
            }
        }
        // The records are within what was read by now.
        let lines = state.add(settled, failed, read.changes());
        if is_open || ending.is_open() {
            state.write(&lines).await?;
        } else {
            let stopped = *ending.stopped();
            state.end(stopped).await?;
        }
        if !is_open {
            return Ok(state);
        }
    }
}

/// Writes where the scan is continued until the channel is closed.
pub(super) async fn keep(
    mut state: ScanState,
    mut receiver: Receiver<SettledRecord>,
    position: impl Fn(u64) -> serde_json::Result<(Value, u64)>,
    kept: &watch::Sender<u64>,
    ending: &RunEnd,
) -> io::Result<ScanState> {
    // A put shows other runs that this one is alive.
    let is_shown = state.storage.is_object();
    let limit = if is_shown {
        (NUMBERS_OF_PUT, EVERY)
    } else {
        (usize::MAX, EVERY_OF_SCAN)
    };
    let mut records = Vec::new();
    let mut settled = SettledRecords::default();
    // Those behind the position are read again, and may be delivered then.
    let mut failed = BTreeMap::new();
    let (mut written, mut before) = (0, 0);
    loop {
        let is_open = receive(&mut receiver, &mut records, limit).await;
        for next in records.drain(..) {
            settled.add(next.number(), next.number());
            if let SettledRecord::Failed(one) = next {
                failed.insert(one.number, *one);
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
