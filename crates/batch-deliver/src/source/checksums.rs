//! Checksums of the lines of an input, by which a changed input is compared with what was read of it before.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crc32fast::Hasher;

/// The most checksums that are remembered: more than a block has lines. Only a row or a gap with more line ends has none.
const MOST: usize = 1 << 20;

/// Bytes that are read at once for a comparison.
const BLOCK: usize = 64 << 10;

/// The checksums of the content that was read. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Checksums(Arc<Mutex<ReadLines>>);

#[derive(Debug)]
struct ReadLines {
    crc: Hasher,
    /// The line whose checksum is the first one.
    first: u64,
    /// For each line that was started, the checksum of all bytes before it.
    before: VecDeque<u32>,
}

impl Checksums {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(ReadLines {
            crc: Hasher::new(),
            first: 1,
            before: VecDeque::from([0]),
        })))
    }

    /// The content, whose lines are counted while it is read.
    pub(super) fn of<R: Read>(&self, content: R) -> SummedReader<R> {
        SummedReader {
            content,
            checksums: self.clone(),
        }
    }

    /// The checksum of all bytes before this line, if so much was read. Those of lines before it are forgotten.
    pub(super) fn before(&self, line: u64) -> Option<u32> {
        let mut lines = self.lines();
        while lines.first < line && lines.before.len() > 1 {
            lines.before.pop_front();
            lines.first += 1;
        }
        lines.before.front().copied().filter(|_| lines.first == line)
    }

    fn lines(&self) -> MutexGuard<'_, ReadLines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The checksum of all bytes before this line; `None` if there is no such line.
pub(super) fn checksum_before(line: u64, content: impl Read) -> io::Result<Option<u32>> {
    let checksums = Checksums::new();
    let mut content = checksums.of(content);
    let mut block = vec![0; BLOCK];
    loop {
        if let Some(checksum) = checksums.before(line) {
            return Ok(Some(checksum));
        }
        match content.read(&mut block) {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
}

pub(super) struct SummedReader<R> {
    content: R,
    checksums: Checksums,
}

impl<R: Read> Read for SummedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer)?;
        let mut lines = self.checksums.lines();
        let mut begin = 0;
        for end in memchr::memchr_iter(b'\n', &buffer[..read]) {
            lines.crc.update(&buffer[begin..=end]);
            begin = end + 1;
            let sum = lines.crc.clone().finalize();
            if lines.before.len() == MOST {
                lines.before.pop_front();
                lines.first += 1;
            }
            lines.before.push_back(sum);
        }
        lines.crc.update(&buffer[begin..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_gap_of_any_length_takes_little_memory() {
        let checksums = Checksums::new();
        let lines = 3 * MOST as u64;
        io::copy(&mut checksums.of(io::repeat(b'\n').take(lines)), &mut io::sink()).unwrap();
        assert_eq!(checksums.lines().before.len(), MOST);
        assert_eq!(checksums.before(7), None);
        let last = checksums.before(lines + 1);
        assert!(last.is_some());
        assert_eq!(last, checksum_before(lines + 1, io::repeat(b'\n').take(lines)).unwrap());
    }

    proptest! {
        #[test]
        fn the_checksum_is_that_of_all_bytes_before_the_line(text in "[ab\n]{0,30}", other in "[ab\n]{0,30}", line in 1_u64..9, blocks in 1_usize..7) {
            /// The bytes before the line.
            fn before(text: &str, line: u64) -> Option<&str> {
                let lines = text.split_inclusive('\n').take_while(|line| line.ends_with('\n'));
                let ends: Vec<usize> = lines.scan(0, |end, line| { *end += line.len(); Some(*end) }).collect();
                let index = usize::try_from(line).unwrap();
                if index == 1 { Some("") } else { ends.get(index - 2).map(|end| &text[..*end]) }
            }
            let sum = |text: &str| checksum_before(line, text.as_bytes()).unwrap();
            prop_assert_eq!(sum(&text).is_some(), before(&text, line).is_some());
            prop_assert_eq!(sum(&text) == sum(&other), before(&text, line) == before(&other, line));
            // The same while the lines are read in any pieces.
            let checksums = Checksums::new();
            let mut summed = checksums.of(text.as_bytes());
            let mut block = vec![0; blocks];
            while summed.read(&mut block).unwrap() > 0 {}
            for earlier in 1..line {
                prop_assert_eq!(checksums.before(earlier), checksum_before(earlier, text.as_bytes()).unwrap());
            }
            prop_assert_eq!(checksums.before(line), sum(&text));
        }
    }
}
