//! Parts of an input, cut at line ends.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};

/// A range of an input's bytes. A line belongs to the part in which its first byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) begin: u64,
    /// The position after the last byte.
    pub(crate) end: u64,
}

impl Part {
    /// The part with this index of `count` parts of equal size.
    pub(crate) fn of(bytes: u64, index: u64, count: u64) -> Self {
        let cut = |index: u64| {
            let position = u128::from(bytes) * u128::from(index) / u128::from(count.max(1));
            u64::try_from(position).unwrap_or(bytes)
        };
        Self {
            begin: cut(index),
            end: cut(index + 1),
        }
    }

    pub(crate) fn bytes(self) -> u64 {
        self.end - self.begin
    }

    /// Where reading begins: the byte before the part shows whether a line begins with the part.
    pub(super) fn read_from(self) -> u64 {
        self.begin.saturating_sub(1)
    }
}

/// The lines of a part.
pub(super) struct PartReader<R> {
    /// The input, from the position where reading begins.
    stored: R,
    /// The position in the input.
    position: u64,
    end: u64,
    state: PartState,
}

#[derive(PartialEq)]
enum PartState {
    /// Inside the line of the byte before the part.
    Before,
    Within,
    Behind,
}

impl<R: Read> PartReader<R> {
    pub(super) fn new(stored: R, part: Part) -> Self {
        let state = match part {
            _ if part.begin >= part.end => PartState::Behind,
            Part { begin: 0, .. } => PartState::Within,
            _ => PartState::Before,
        };
        Self {
            stored,
            position: part.read_from(),
            end: part.end,
            state,
        }
    }

    /// Drops the bytes before the first line of the part. Returns how many are left.
    fn skip(&mut self, block: &mut [u8]) -> usize {
        let Some(line_end) = memchr::memchr(b'\n', block) else {
            self.position += block.len() as u64;
            return 0;
        };
        block.copy_within(line_end + 1.., 0);
        self.position += line_end as u64 + 1;
        self.state = if self.position < self.end {
            PartState::Within
        } else {
            PartState::Behind
        };
        block.len() - line_end - 1
    }

    /// How many of these bytes belong to the part: up to the end of the line that contains its last byte.
    fn take(&mut self, block: &[u8]) -> usize {
        let to_last = usize::try_from(self.end - 1 - self.position.min(self.end - 1)).unwrap_or(usize::MAX);
        let line_end = block.get(to_last..).and_then(|rest| memchr::memchr(b'\n', rest));
        let taken = match line_end {
            Some(line_end) => {
                self.state = PartState::Behind;
                to_last + line_end + 1
            }
            None => block.len(),
        };
        self.position += taken as u64;
        taken
    }
}

impl<R: Read> Read for PartReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.state != PartState::Behind && !buffer.is_empty() {
            let mut read = self.stored.read(buffer)?;
            if read == 0 {
                self.state = PartState::Behind;
            }
            if self.state == PartState::Before {
                read = self.skip(&mut buffer[..read]);
            }
            if self.state == PartState::Within && read > 0 {
                return Ok(self.take(&buffer[..read]));
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use proptest::prelude::*;

    use super::*;

    /// The lines of a part, read in blocks of this size.
    fn lines(content: &[u8], part: Part, block: usize) -> Vec<Vec<u8>> {
        let from = usize::try_from(part.read_from()).unwrap();
        let cut = PartReader::new(&content[from.min(content.len())..], part);
        let lines = BufReader::with_capacity(block, cut).split(b'\n');
        lines.map(Result::unwrap).collect()
    }

    proptest! {
        #[test]
        fn all_parts_together_have_every_line_once(content in "[ab\n]{0,40}", count in 1_u64..12, block in 1_usize..9) {
            let content = content.as_bytes();
            let bytes = content.len() as u64;
            let parts = (0..count).map(|index| Part::of(bytes, index, count));
            let of_parts: Vec<_> = parts.flat_map(|part| lines(content, part, block)).collect();
            let all: Vec<_> = content.split(|byte| *byte == b'\n').collect();
            // After the last line end there is no line if nothing follows.
            let all = all.strip_suffix(&[&b""[..]]).unwrap_or(&all);
            prop_assert_eq!(of_parts, all);
        }

        #[test]
        fn a_line_is_in_the_part_in_which_it_begins(content in "[ab\n]{1,40}", begin in 0_u64..40, bytes in 0_u64..40) {
            let part = Part { begin, end: begin + bytes };
            let mut start = 0_u64;
            let mut expected = Vec::new();
            for line in content.split_inclusive('\n') {
                if (part.begin..part.end).contains(&start) {
                    expected.push(line.trim_end_matches('\n').as_bytes().to_vec());
                }
                start += line.len() as u64;
            }
            prop_assert_eq!(lines(content.as_bytes(), part, 8), expected);
        }
    }
}
