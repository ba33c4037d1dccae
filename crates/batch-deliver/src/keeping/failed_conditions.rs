//! The records whose condition did not hold, in a file of their own.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::dead_letter::Appended;
use crate::outcome::Failure;

/// A file of records whose condition did not hold, in the form of their input. Rows of CSV become DynamoDB JSON.
#[derive(Debug)]
pub(crate) struct FailedConditions(Mutex<Appended>);

impl FailedConditions {
    /// Opens the file, which only its owner may read. What it has stays.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let file = Appended::open(path).map_err(|error| {
            let path = path.display();
            Failure::WrongUse(match error.kind() {
                io::ErrorKind::WouldBlock => format!("--failed {path} is in use by another load: name another file"),
                _ => format!("--failed {path} cannot be written: {error}"),
            })
        })?;
        Ok(Self(Mutex::new(file)))
    }

    /// Appends a record as a line.
    pub(super) fn write(&self, text: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_lines_behind_those_of_earlier_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("failed.jsonl");
        for text in ["{\"id\":1}", "{\"id\":2}"] {
            FailedConditions::open(&path).unwrap().write(text.as_bytes()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"id\":1}\n{\"id\":2}\n");
        let failure = FailedConditions::open(folder.path()).unwrap_err();
        assert!(failure.to_string().starts_with("--failed "), "{failure}");
    }
}
