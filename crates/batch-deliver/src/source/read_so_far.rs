//! How much was read of each input, and the checksum of that, by which a later run recognizes the input.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crc32fast::Hasher;
use serde::{Deserialize, Serialize};

/// The beginning of an input that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Beginning {
    /// Stored bytes, which may be compressed.
    pub(crate) bytes: u64,
    pub(crate) checksum: u32,
}

/// What was read so far of each input, by its index. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadProgress(Arc<Mutex<Inputs>>);

#[derive(Debug, Default)]
struct Inputs {
    read: BTreeMap<usize, (u64, Hasher)>,
    /// Those of which more was read since they were asked for.
    changed: BTreeSet<usize>,
}

impl ReadProgress {
    /// The stored content of this input, from its beginning.
    pub(super) fn of<R: Read>(&self, input: usize, content: R) -> NotedReader<R> {
        self.inputs().read.insert(input, (0, Hasher::new()));
        NotedReader {
            content,
            input,
            read_so_far: self.clone(),
        }
    }

    /// The inputs of which more was read since the last call.
    pub(crate) fn changes(&self) -> Vec<(usize, Beginning)> {
        let mut inputs = self.inputs();
        let changed = std::mem::take(&mut inputs.changed);
        let read = changed.into_iter().filter_map(|input| {
            let (bytes, crc) = inputs.read.get(&input)?;
            let beginning = Beginning {
                bytes: *bytes,
                checksum: crc.clone().finalize(),
            };
            Some((input, beginning))
        });
        read.collect()
    }

    fn inputs(&self) -> MutexGuard<'_, Inputs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Beginning {
    /// Whether the content begins so.
    pub(super) fn is_of(self, content: impl Read) -> io::Result<bool> {
        let read_so_far = ReadProgress::default();
        io::copy(&mut read_so_far.of(0, content.take(self.bytes)), &mut io::sink())?;
        let found = read_so_far.changes().pop().map(|(_, beginning)| beginning);
        Ok(found.map_or(self.bytes == 0, |found| found == self))
    }
}

pub(super) struct NotedReader<R> {
    content: R,
    input: usize,
    read_so_far: ReadProgress,
}

impl<R: Read> Read for NotedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer)?;
        if read > 0 {
            let mut inputs = self.read_so_far.inputs();
            let (bytes, crc) = inputs.read.entry(self.input).or_default();
            *bytes += read as u64;
            crc.update(&buffer[..read]);
            inputs.changed.insert(self.input);
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_input_is_recognized_by_what_was_read_of_it(
            content in "[ab]{1,30}",
            read in 0_usize..30,
            other in "[ab]{0,30}",
        ) {
            let read = read.min(content.len());
            let read_so_far = ReadProgress::default();
            let mut reader = read_so_far.of(3, content.as_bytes());
            reader.read_exact(&mut vec![0; read]).unwrap();
            let changes = read_so_far.changes();
            prop_assert_eq!(changes.len(), usize::from(read > 0));
            prop_assert!(read_so_far.changes().is_empty());
            for (input, beginning) in changes {
                prop_assert_eq!((input, beginning.bytes), (3, read as u64));
                for text in [&content, &other] {
                    let is_same = text.get(..read) == content.get(..read);
                    prop_assert_eq!(beginning.is_of(text.as_bytes()).unwrap(), is_same);
                }
            }
        }
    }
}
