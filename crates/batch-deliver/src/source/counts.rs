//! Counts of what is read from the inputs.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes that were read from all inputs: stored bytes, and unpacked bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadBytes {
    pub(crate) stored: Counter,
    pub(crate) unpacked: Counter,
}

/// Counts of what was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) bytes: ReadBytes,
    /// Records that were sent to the delivery.
    pub(crate) records: Arc<AtomicU64>,
}

/// A counter. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counter(Arc<AtomicU64>);

impl Counter {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Counts the bytes that are read from `content`.
    pub(super) fn of<R: Read>(&self, content: R) -> CountedReader<R> {
        CountedReader {
            content,
            counter: self.clone(),
        }
    }
}

pub(super) struct CountedReader<R> {
    content: R,
    counter: Counter,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer)?;
        self.counter.0.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}
