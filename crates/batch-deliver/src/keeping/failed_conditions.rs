//! The records whose condition did not hold, in a file of their own.

use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::watch;

use super::append_file::{AppendFile, unopened};
use super::feedback::Feedback;
use super::group_sync::{GroupSync, UnsyncedWrite};
use crate::outcome::Failure;
use crate::output::{FileIdentity, check_standard, is_standard};

/// The bytes of records that are not stored from which on no further entries are read: ten of the largest items, which a file stores
/// together.
const FULL: usize = 4 << 20;

/// A file of records whose condition did not hold, in the form of their input. Rows of CSV become DynamoDB JSON.
#[derive(Debug)]
pub(crate) struct FailedConditions {
    path: PathBuf,
    store: Arc<RecordStore>,
    sync: Arc<GroupSync>,
    fed_back: Option<Feedback>,
    /// The error after which the delivery ends.
    error: OnceLock<io::Error>,
    /// Bytes of the records that are not stored.
    unstored: watch::Sender<usize>,
}

/// The records that wait to be stored with others, and their file. It may be a pipe that is not read, so only a thread for what blocks
/// writes it.
#[derive(Debug)]
struct RecordStore {
    /// Whole lines.
    waiting: Mutex<Vec<u8>>,
    file: Mutex<AppendFile>,
}

/// The memory of a record, until it is stored.
#[derive(Debug)]
pub(super) struct HeldRecord {
    failed: Arc<FailedConditions>,
    bytes: usize,
}

impl Drop for HeldRecord {
    fn drop(&mut self) {
        self.failed.unstored.send_modify(|unstored| *unstored -= self.bytes);
    }
}

impl RecordStore {
    /// Stores all that wait.
    fn store_all(&self) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        file.append(&lines)?;
        file.opened().sync()
    }
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
        let fed_back = Feedback::new(file.opened(), pipes);
        let store = Arc::new(RecordStore {
            waiting: Mutex::default(),
            file: Mutex::new(file),
        });
        let storing = Arc::clone(&store);
        Ok(Self {
            path: path.to_owned(),
            store,
            sync: Arc::new(GroupSync::new(move || storing.store_all())),
            fed_back,
            error: OnceLock::new(),
            unstored: watch::Sender::new(0),
        })
    }

    /// Counts a record of this many bytes as one that is not stored.
    pub(super) fn hold(self: &Arc<Self>, bytes: usize) -> HeldRecord {
        self.unstored.send_modify(|unstored| *unstored += bytes);
        HeldRecord {
            failed: Arc::clone(self),
            bytes,
        }
    }

    /// Whether so much is not stored that no further entries are to be read.
    pub(super) fn is_full(&self) -> bool {
        *self.unstored.borrow() >= FULL
    }

    /// Returns when it is no longer full.
    pub(super) async fn has_room(&self) {
        let mut unstored = self.unstored.subscribe();
        // What it watches is there as long as this is.
        let _ = unstored.wait_for(|unstored| *unstored < FULL).await;
    }

    /// Takes a record, which is stored as a line when it is synced.
    pub(super) fn write(&self, text: &[u8]) -> io::Result<UnsyncedWrite> {
        if let Some(Err(error)) = self.fed_back.as_ref().map(|fed_back| fed_back.check(text)) {
            let kind = error.kind();
            self.error.get_or_init(|| error);
            return Err(kind.into());
        }
        let mut waiting = self.store.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend_from_slice(text);
        waiting.push(b'\n');
        Ok(self.sync.written())
    }

    /// Why records are missing in the file, if any are.
    pub(crate) fn error(&self) -> Option<String> {
        let check = || {
            let file = self.store.file.lock().unwrap_or_else(PoisonError::into_inner);
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

    #[tokio::test]
    async fn records_are_lines_behind_those_of_earlier_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("failed.jsonl");
        for text in ["{\"id\":1}", "{\"id\":2}"] {
            FailedConditions::open(&path, &[])
                .unwrap()
                .write(text.as_bytes())
                .unwrap()
                .synced()
                .await
                .unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"id\":1}\n{\"id\":2}\n");
        let failure = FailedConditions::open(folder.path(), &[]).unwrap_err();
        assert!(failure.to_string().starts_with("--failed "), "{failure}");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_record_that_cannot_be_written_is_an_error_of_the_load() {
        let full = FailedConditions::open(Path::new("/dev/full"), &[]).unwrap();
        assert_eq!(full.error(), None);
        assert!(full.write(b"{}").unwrap().synced().await.is_err());
        let error = full.error().unwrap();
        assert!(error.starts_with("/dev/full can no longer be written"), "{error}");
    }
}
