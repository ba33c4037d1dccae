//! The records of all inputs, one input after another, or one record of each in turn.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::checksums::Checksums;
use super::counts::ReadBytes;
use super::input::Input;
use super::read_so_far::ReadProgress;
use super::record::{DENIED, Flaw, Format, Records, UNREACHABLE, may_be_read_elsewhere};
use super::settled::SettledRecords;
use crate::value_names::value_names;

/// The most inputs that are open at the same time: file descriptors are limited, and each input has a buffer.
const MOST_OPEN: usize = 32;

/// The order of the records of several inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// One input after another, so that what is named later wins.
    File,
    /// One record of each input in turn, which distributes sorted inputs over the partitions of a table.
    Turns,
}

value_names!(Order, File = "file", Turns = "turns");

/// The place of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct LinePlace {
    /// The index of the input, from 0.
    pub(crate) input: usize,
    /// The line in the input, from 1.
    pub(crate) line: u64,
}

/// A record that was not skipped.
pub(crate) struct NumberedRecord<E> {
    /// Its number among the records of all inputs, in the order in which they are read, from 0.
    pub(crate) number: u64,
    pub(crate) place: LinePlace,
    /// The text that it is read from, if dead letters are to repeat it.
    pub(crate) text: Option<Box<[u8]>>,
    /// The checksum of all that is before its line in the input, if it has a flaw and is the first record of its line.
    pub(crate) checksum_before: Option<u32>,
    /// The header that dead letters need to repeat it, if it is a row with a flaw.
    pub(crate) header: Option<Box<[u8]>>,
    pub(crate) entry: Result<E, Flaw>,
}

impl ReadFailure {
    /// Whether another attempt, or one on another machine, may succeed.
    pub(crate) fn is_unreachable(&self) -> bool {
        may_be_read_elsewhere(&self.error)
    }

    /// Whether this worker may not read the input.
    pub(crate) fn is_denied(&self) -> bool {
        self.error.kind() == DENIED
    }

    /// A table that cannot be read to its end.
    pub(super) fn table(name: &str, words: String, is_unreachable: bool) -> Self {
        let kind = if is_unreachable {
            UNREACHABLE
        } else {
            io::ErrorKind::Other
        };
        Self {
            input: name.to_owned(),
            line: 0,
            error: io::Error::new(kind, words),
        }
    }
}

/// An input that cannot be read to its end.
#[derive(Debug, thiserror::Error)]
#[error("{input} cannot be read{}: {error}", behind(*.line))]
pub(crate) struct ReadFailure {
    pub(crate) input: String,
    line: u64,
    error: io::Error,
}

fn behind(line: u64) -> String {
    match line {
        0 => String::new(),
        line => format!(" after line {line}"),
    }
}

/// Reads the inputs in turn, which distributes inputs of one partition key each over the partitions of a table, or one by one.
pub(crate) struct Turns<E> {
    inputs: VecDeque<(usize, Input)>,
    format: Arc<dyn Format<E>>,
    open: Vec<OpenInput<E>>,
    /// The input whose turn it is.
    turn: usize,
    most_open: usize,
    settled: SettledRecords,
    number: u64,
    read_bytes: ReadBytes,
    /// What is read of each input, if a journal is to recognize it.
    read_so_far: Option<ReadProgress>,
}

struct OpenInput<E> {
    input: usize,
    name: String,
    /// Whether it is a stream whose records arrive over time. A file and an object never block for long.
    may_be_slow: bool,
    line: u64,
    records: Box<dyn Records<E>>,
    checksums: Option<Checksums>,
}

impl<E> Turns<E> {
    /// Reads these inputs, without the settled records.
    pub(crate) fn new(inputs: Vec<Input>, format: Arc<dyn Format<E>>, settled: SettledRecords) -> Self {
        Self {
            inputs: inputs.into_iter().enumerate().collect(),
            format,
            open: Vec::new(),
            turn: 0,
            most_open: MOST_OPEN,
            settled,
            number: 0,
            read_bytes: ReadBytes::default(),
            read_so_far: None,
        }
    }

    /// With a checksum of what is before each flaw, and of what is read of each input.
    pub(crate) fn with_checksums(mut self, read_so_far: ReadProgress) -> Self {
        self.read_so_far = Some(read_so_far);
        self
    }

    /// Reads one input after another instead.
    pub(crate) fn one_by_one(mut self) -> Self {
        self.most_open = 1;
        self
    }

    /// Bytes read so far.
    pub(crate) fn read_bytes(&self) -> ReadBytes {
        self.read_bytes.clone()
    }

    /// The next record that is not settled.
    pub(crate) fn next(&mut self) -> Result<Option<NumberedRecord<E>>, ReadFailure> {
        loop {
            while self.open.len() < self.most_open
                && let Some((number, input)) = self.inputs.pop_front()
            {
                let opened = self.open(number, input)?;
                self.open.push(opened);
            }
            let Some(open) = self.open.get_mut(self.turn) else {
                if self.open.is_empty() {
                    return self.end();
                }
                self.turn = 0;
                continue;
            };
            let is_wanted = !self.settled.contains(self.number);
            let reading = open.records.next(is_wanted).map_err(|error| ReadFailure {
                input: open.name.clone(),
                line: open.line,
                error,
            })?;
            let Some(reading) = reading else {
                self.replace()?;
                continue;
            };
            let checksums = open.checksums.as_ref();
            let checksum = checksums.and_then(|checksums| checksums.before(reading.line));
            let is_first_of_line = reading.line > open.line;
            open.line = reading.line;
            let place = LinePlace {
                input: open.input,
                line: reading.line,
            };
            let number = self.number;
            self.turn += 1;
            self.number += 1;
            if let Some(entry) = reading.entry {
                let is_kept = entry.is_err() && reading.text.is_some();
                let header = if is_kept { open.records.header() } else { None };
                return Ok(Some(NumberedRecord {
                    checksum_before: checksum.filter(|_| entry.is_err() && is_first_of_line),
                    header: header.map(Box::from),
                    number,
                    place,
                    text: reading.text,
                    entry,
                }));
            }
        }
    }

    /// All inputs have ended. Lines that are settled behind the end are those of other inputs, of which the same number of lines was
    /// skipped here.
    fn end(&self) -> Result<Option<NumberedRecord<E>>, ReadFailure> {
        match self.settled.last() {
            Some(last) if last >= self.number => {
                let words = format!(
                    "they have {} records, but record {} is settled: the journal is that of other inputs, and is wrong about these \
                     ",
                    self.number,
                    last + 1
                );
                Err(ReadFailure {
                    input: "the rest of the inputs".to_owned(),
                    line: 0,
                    error: io::Error::other(words),
                })
            }
            _ => Ok(None),
        }
    }

    /// Whether the next record can be read without waiting for its input.
    pub(crate) fn is_ready(&self) -> bool {
        let next = self.open.get(self.turn).or(self.open.first());
        next.is_some_and(|open| !open.may_be_slow || open.records.is_ready())
    }

    /// Replaces the input whose turn it is, which has ended.
    fn replace(&mut self) -> Result<(), ReadFailure> {
        match self.inputs.pop_front() {
            Some((number, input)) => self.open[self.turn] = self.open(number, input)?,
            None => _ = self.open.remove(self.turn),
        }
        Ok(())
    }

    fn open(&self, number: usize, input: Input) -> Result<OpenInput<E>, ReadFailure> {
        // Files of /proc and of traces have no length, and may wait for what comes.
        let may_be_slow = input.bytes.is_none_or(|bytes| bytes == 0);
        let checksums = self.read_so_far.is_some().then(Checksums::new);
        let noted = self.read_so_far.as_ref().map(|read_so_far| (read_so_far, number));
        let records = input.open(&self.read_bytes, noted).and_then(|content| {
            let content = match &checksums {
                None => content,
                Some(checksums) => Box::new(checksums.of(content)),
            };
            match input.part {
                None => self.format.open(content, &input.name),
                Some(_) => self.format.open_part(content, &input.name),
            }
        });
        match records {
            Ok(records) => Ok(OpenInput {
                input: number,
                name: input.name,
                may_be_slow,
                line: 0,
                records,
                checksums,
            }),
            Err(error) => Err(ReadFailure {
                input: input.name,
                line: 0,
                error,
            }),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::io::Read;

    use super::*;
    use crate::format::{LineParser, LineRecords};

    /// Each line is a word.
    pub(in crate::source) struct Words;

    impl LineParser<String> for Words {
        fn parse(&mut self, line: &[u8]) -> Result<String, Flaw> {
            Ok(String::from_utf8_lossy(line).into_owned())
        }
    }

    impl Format<String> for Words {
        fn open(&self, input: Box<dyn Read + Send>, _: &str) -> io::Result<Box<dyn Records<String>>> {
            Ok(Box::new(LineRecords::new(input, Self, false)))
        }
    }

    /// Inputs of these words, each a line.
    fn turns(folder: &tempfile::TempDir, inputs: &[&str], settled: SettledRecords) -> Turns<String> {
        let file = |(number, words): (usize, &&str)| {
            let path = folder.path().join(number.to_string());
            fs::write(&path, words.replace(' ', "\n")).unwrap();
            Input::file(&path).unwrap()
        };
        Turns::new(inputs.iter().enumerate().map(file).collect(), Arc::new(Words), settled)
    }

    fn all(mut turns: Turns<String>) -> Vec<(u64, String)> {
        let next = || turns.next().unwrap().map(|taken| (taken.number, taken.entry.unwrap()));
        std::iter::from_fn(next).collect()
    }

    fn words(read: &[(u64, String)]) -> String {
        read.iter().map(|(_, word)| word.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn inputs_take_turns_until_they_end() {
        let folder = tempfile::tempdir().unwrap();
        let inputs = ["a1 a2 a3", "b1", "", "d1 d2"];
        let read = all(turns(&folder, &inputs, SettledRecords::default()));
        assert_eq!(words(&read), "a1 b1 d1 a2 d2 a3");
        let read = all(turns(&folder, &inputs, SettledRecords::default()).one_by_one());
        assert_eq!(words(&read), "a1 a2 a3 b1 d1 d2");
    }

    #[test]
    fn a_waiting_input_replaces_one_that_ends() {
        let folder = tempfile::tempdir().unwrap();
        let mut turns = turns(&folder, &["a1", "b1 b2 b3", "c1 c2"], SettledRecords::default());
        turns.most_open = 2;
        assert_eq!(words(&all(turns)), "a1 b1 c1 b2 c2 b3");
    }

    #[test]
    fn settled_records_are_skipped_and_keep_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let inputs = ["a1 a2 a3", "b1 b2"];
        let whole = all(turns(&folder, &inputs, SettledRecords::default()));
        let mut settled = SettledRecords::default();
        settled.add(0, 1);
        settled.add(3, 3);
        let rest = all(turns(&folder, &inputs, settled.clone()));
        let expected: Vec<_> = whole
            .into_iter()
            .filter(|(number, _)| !settled.contains(*number))
            .collect();
        assert_eq!(rest, expected);
        assert_eq!(words(&rest), "a2 a3");
    }

    #[test]
    fn records_that_are_settled_behind_the_end_are_of_other_inputs() {
        let folder = tempfile::tempdir().unwrap();
        for (last, is_refused) in [(1, false), (2, false), (3, true), (1_000_000, true)] {
            let mut settled = SettledRecords::default();
            settled.add(0, last);
            let mut turns = turns(&folder, &["a1 a2", "b1"], settled);
            let ended = loop {
                match turns.next() {
                    Ok(Some(_)) => {}
                    ended => break ended.err(),
                }
            };
            assert_eq!(ended.is_some(), is_refused, "{last}");
            if let Some(error) = ended {
                let words = format!("they have 3 records, but record {} is settled", last + 1);
                assert!(error.to_string().contains(&words), "{error}");
            }
        }
    }

    #[test]
    fn an_input_that_cannot_be_read_is_reported_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zst");
        let stored = zstd::encode_all(&b"one\ntwo\n"[..], 1).unwrap();
        fs::write(&path, &stored[..stored.len() - 3]).unwrap();
        let inputs = vec![Input::file(&path).unwrap()];
        let mut turns = Turns::new(inputs, Arc::new(Words), SettledRecords::default());
        let error = loop {
            match turns.next() {
                Ok(taken) => assert!(taken.is_some()),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("a.zst cannot be read"), "{error}");
    }
}
