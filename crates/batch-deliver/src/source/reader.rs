//! Reads and parses in a thread of its own.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tokio::sync::mpsc;

use super::counts::Counts;
use super::turns::{NumberedRecord, ReadFailure, Turns};
use crate::blocking;

/// The most records of one batch.
const RECORDS: usize = 256;

/// The most batches that wait.
const BATCHES: usize = 4;

/// The most unpacked bytes that are read for one batch, as far as the inputs' own buffers allow.
const BYTES: u64 = 256 << 10;

/// Records in the order of reading, or why further ones are missing. An empty batch is the end of all inputs.
pub(crate) type RecordBatch<E> = Vec<Result<NumberedRecord<E>, ReadFailure>>;

/// Reads in a thread of its own, as far ahead as a few hundred kilobytes, until the receiver is dropped.
pub(crate) fn read<E: Send + 'static>(mut turns: Turns<E>) -> (mpsc::Receiver<RecordBatch<E>>, Counts) {
    let (sender, receiver) = mpsc::channel(BATCHES);
    let counts = Counts {
        bytes: turns.read_bytes(),
        records: Arc::default(),
    };
    let records = Arc::clone(&counts.records);
    blocking::spawn_thread(move || {
        let bytes = turns.read_bytes().unpacked;
        let mut at_end = false;
        while !at_end {
            let start = bytes.get();
            let mut batch = Vec::new();
            while batch.len() < RECORDS && bytes.get() < start + BYTES {
                match turns.next() {
                    Ok(Some(taken)) => batch.push(Ok(taken)),
                    Ok(None) => at_end = true,
                    Err(error) => {
                        batch.push(Err(error));
                        at_end = true;
                    }
                }
                // The records that are ready do not wait for a slow input.
                if at_end || !turns.is_ready() && !batch.is_empty() {
                    break;
                }
            }
            records.fetch_add(batch.len() as u64, Relaxed);
            if !batch.is_empty() && blocking::wait(sender.send(batch)).is_err() {
                return;
            }
        }
        // If the channel is closed without an empty batch, the reader has panicked.
        let _ = blocking::wait(sender.send(Vec::new()));
    });
    (receiver, counts)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::turns::tests::Words;
    use super::super::{Input, SettledRecords};
    use super::*;

    #[test]
    fn a_batch_of_a_compressed_input_is_as_small_as_one_of_any_other() {
        const LINE: usize = 10 << 10;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zst");
        let lines = ("a".repeat(LINE) + "\n").repeat(RECORDS);
        fs::write(&path, zstd::encode_all(lines.as_bytes(), 1).unwrap()).unwrap();
        let inputs = vec![Input::file(&path).unwrap()];
        let (mut receiver, counts) = read(Turns::new(inputs, Arc::new(Words), SettledRecords::default()));
        let first = receiver.blocking_recv().unwrap().len();
        assert!(first > 1 && first * LINE < 512 << 10, "{first} lines");
        let others: usize = std::iter::from_fn(|| receiver.blocking_recv())
            .map(|batch| batch.len())
            .sum();
        assert_eq!(first + others, RECORDS);
        assert_eq!(counts.bytes.unpacked.get(), lines.len() as u64);
    }
}
