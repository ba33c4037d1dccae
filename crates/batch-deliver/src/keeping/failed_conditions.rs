//! The records whose condition did not hold, in a file of their own.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::append_file::{AppendFile, unopened};
use super::feedback::Feedback;
use super::group_sync::{GroupSync, UnsyncedWrite};
use crate::outcome::Failure;
use crate::output::{FileIdentity, check_standard, is_standard};

/// A file of records whose condition did not hold, in the form of their input. Rows of CSV become DynamoDB JSON.
#[derive(Debug)]
pub(crate) struct FailedConditions {
    path: PathBuf,
    file: Mutex<AppendFile>,
    sync: Arc<GroupSync>,
    fed_back: Option<Feedback>,
    /// The error after which the delivery ends.
    error: OnceLock<io::Error>,
}

impl FailedConditions {
    /// Opens the file, which only its owner may read. What it has stays. If it comes back by one of these pipes, it is an error of a later
    /// write.
    pub(crate) fn open(path: &Path, pipes: &[FileIdentity]) -> Result<Self, Failure> {
        if path == Path::new("-") {
            let words =
                "--failed -: name a file, /dev/stdout for the standard output, or ./- for a file with that name";
            return Err(Failure::WrongUse(words.to_owned()));
        }
        if is_standard(path) {
            check_standard()?;
        }
        let name = format!("--failed {}", path.display());
        let file = AppendFile::open_json_lines(path).map_err(|error| unopened(&name, "load", &error))?;
        let opened = Arc::clone(file.opened());
        Ok(Self {
            path: path.to_owned(),
            sync: Arc::new(GroupSync::new(move || opened.sync())),
            fed_back: Feedback::new(file.opened(), pipes),
            file: Mutex::new(file),
            error: OnceLock::new(),
        })
    }

    /// Appends a record as a line.
    pub(super) fn write(&self, text: &[u8]) -> io::Result<UnsyncedWrite> {
        let checked = self.fed_back.as_ref().map_or(Ok(()), |fed_back| fed_back.check(text));
        let write = || self.file.lock().unwrap_or_else(PoisonError::into_inner).write(text);
        match checked.and_then(|()| write()) {
            Ok(()) => Ok(self.sync.written()),
            Err(error) => {
                let kind = error.kind();
                self.error.get_or_init(|| error);
                Err(kind.into())
            }
        }
    }

    /// Why records are missing in the file, if any are.
    pub(crate) fn error(&self) -> Option<String> {
        let check = || {
            let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            let error = file.opened().check_name().err()?;
            Some(self.error.get_or_init(|| error))
        };
        let error = self.error.get().or(self.sync.error()).or_else(check)?;
        let path = self.path.display();
        Some(format!(
            "{path} can no longer be written, so the delivery was stopped: {error}"
        ))
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
            FailedConditions::open(&path, &[])
                .unwrap()
                .write(text.as_bytes())
                .unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"id\":1}\n{\"id\":2}\n");
        let failure = FailedConditions::open(folder.path(), &[]).unwrap_err();
        assert!(failure.to_string().starts_with("--failed "), "{failure}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_record_that_cannot_be_written_is_an_error_of_the_load() {
        let full = FailedConditions::open(Path::new("/dev/full"), &[]).unwrap();
        assert_eq!(full.error(), None);
        assert!(full.write(b"{}").is_err());
        let error = full.error().unwrap();
        assert!(error.starts_with("/dev/full can no longer be written"), "{error}");
    }
}
