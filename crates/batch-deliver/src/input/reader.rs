//! Reads and parses beside the delivery.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use tokio::sync::mpsc;

use super::turns::{Taken, Turns, Unreadable};

/// Records that are handed over together at most.
const RECORDS: usize = 256;

/// Batches that wait at most.
const BATCHES: usize = 4;

/// Bytes that are read for one batch at most, as far as the inputs' own buffers allow.
const BYTES: u64 = 256 << 10;

/// What is read so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) bytes: Arc<AtomicU64>,
    /// Records that were handed over.
    pub(crate) records: Arc<AtomicU64>,
}

/// Records in the order in which they were read, and why the last ones are missing. An empty batch is the end of all inputs.
pub(crate) type Received<E> = Vec<Result<Taken<E>, Unreadable>>;

/// Reads in a thread of its own, as far ahead as a few hundred kilobytes, until the receiver is dropped.
pub(crate) fn read<E: Send + 'static>(mut turns: Turns<E>) -> (mpsc::Receiver<Received<E>>, Counts) {
    let (sender, receiver) = mpsc::channel(BATCHES);
    let counts = Counts {
        bytes: turns.read_bytes(),
        records: Arc::default(),
    };
    let records = Arc::clone(&counts.records);
    thread::spawn(move || {
        let bytes = turns.read_bytes();
        let mut at_end = false;
        while !at_end {
            let start = bytes.load(Relaxed);
            let mut batch = Vec::new();
            while batch.len() < RECORDS && bytes.load(Relaxed) < start + BYTES {
                match turns.next() {
                    Ok(Some(taken)) => batch.push(Ok(taken)),
                    Ok(None) => at_end = true,
                    Err(error) => {
                        batch.push(Err(error));
                        at_end = true;
                    }
                }
                // What is there does not wait for an input that is slow.
                if at_end || !turns.is_ready() && !batch.is_empty() {
                    break;
                }
            }
            records.fetch_add(batch.len() as u64, Relaxed);
            if !batch.is_empty() && sender.blocking_send(batch).is_err() {
                return;
            }
        }
        // A channel that is closed without this has lost its reader.
        let _ = sender.blocking_send(Vec::new());
    });
    (receiver, counts)
}
