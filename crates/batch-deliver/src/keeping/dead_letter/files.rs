//! Dead letters in a file, and their causes in a second file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::letter::{Letter, LettersWritten};
use crate::keeping::appended::Appended;
use crate::keeping::group_sync::{GroupSync, Unsynced};
use crate::outcome::Failure;

/// The suffix of the file of causes, after the name of the file of dead letters.
pub(crate) const CAUSES: &str = ".causes.jsonl";

/// A file of entries, and a file of their causes.
#[derive(Debug)]
pub(crate) struct LetterFiles {
    path: PathBuf,
    files: Mutex<Files>,
    sync: Arc<GroupSync>,
}

/// What stands in a file, as far as it decides what can be added.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Nothing,
    /// Lines without a header.
    Lines,
    /// Rows below this header.
    Rows(Vec<u8>),
    /// Something that this program has not written.
    Other,
}

impl FileKind {
    pub(super) fn of(letter: &Letter<'_>) -> Self {
        letter.header.map_or(Self::Lines, |header| Self::Rows(header.to_vec()))
    }
}

#[derive(Debug)]
struct Files {
    entries: Appended,
    causes: Appended,
    written: u64,
    /// The error after which nothing is written.
    error: Option<io::Error>,
}

impl LetterFiles {
    /// Opens both files, which only their owner may read. Their contents stay.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let mut causes = path.to_owned().into_os_string();
        causes.push(CAUSES);
        let open = |path: &Path| {
            let opened = Appended::open(path);
            opened.map_err(|error| {
                let path = path.display();
                match error.kind() {
                    io::ErrorKind::WouldBlock => Failure::InUse(format!(
                        "--dead-letter {path} is in use by another load: name another file"
                    )),
                    _ => Failure::WrongUse(format!("--dead-letter {path} cannot be written: {error}")),
                }
            })
        };
        let (entries, causes) = (open(path)?, open(Path::new(&causes))?);
        Ok(Self {
            path: path.to_owned(),
            sync: Arc::new(GroupSync::new(
                [&causes, &entries].map(Appended::opened).map(Arc::clone).into(),
            )),
            files: Mutex::new(Files {
                entries,
                causes,
                written: 0,
                error: None,
            }),
        })
    }

    /// The files without a last cause that has no entry, each of which is one line.
    pub(super) fn with_a_cause_for_each(self) -> Result<Self, Failure> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Files { entries, causes, .. } = &mut *files;
        let taken_back = causes.remove_last_without(entries);
        drop(files);
        taken_back.map_err(|error| {
            Failure::WrongUse(format!("--dead-letter {} cannot be read: {error}", self.path.display()))
        })?;
        Ok(self)
    }

    /// What stands in the file, by its first line and the first cause of a line in it.
    pub(super) fn content(&self) -> io::Result<FileKind> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(first) = files.entries.first(|line| Some(line.to_vec()))? else {
            return Ok(FileKind::Nothing);
        };
        let has_header = files.causes.first(|line| {
            let cause: Value = serde_json::from_slice(line).ok()?;
            (cause["kept"] == true).then(|| cause["has_header"] == true)
        });
        Ok(match has_header? {
            Some(true) => FileKind::Rows(first),
            Some(false) => FileKind::Lines,
            None => FileKind::Other,
        })
    }

    /// Whether the file has dead letters of earlier runs. New ones are appended.
    pub(super) fn has_earlier_letters(&self) -> bool {
        self.files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entries
            .length()
            > 0
    }

    /// Writes an entry. After the first error nothing more is written.
    pub(super) fn write(&self, letter: &Letter<'_>) -> io::Result<Unsynced> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = files.error.as_ref().or(self.sync.error()) {
            return Err(error.kind().into());
        }
        // A cause without its entry does no harm; an entry without its cause would shift the causes of all others.
        let written = files.causes.write(letter.cause.as_bytes());
        let written = written.and_then(|()| {
            let Some(text) = letter.text else { return Ok(()) };
            let written = match letter.header {
                Some(header) if files.entries.length() == 0 => files.entries.write(&[header, b"\n", text].concat()),
                _ => files.entries.write(text),
            };
            written.inspect_err(|_| files.causes.remove_last())
        });
        match written {
            Ok(()) => {
                files.written += u64::from(letter.text.is_some());
                Ok(self.sync.written())
            }
            Err(error) => {
                let kind = error.kind();
                files.error = Some(error);
                Err(kind.into())
            }
        }
    }

    /// How many entries were written, where, and the error that ended it.
    pub(super) fn close(&self) -> LettersWritten {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.entries.remove_if_new_and_empty();
        files.causes.remove_if_new_and_empty();
        let path = self.path.display();
        LettersWritten {
            letters: files.written,
            place: path.to_string(),
            causes: format!("{path}{CAUSES}"),
            error: files.error.as_ref().or(self.sync.error()).map(ToString::to_string),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::sink::Undelivered;

    fn letter(text: &[u8]) -> Letter<'_> {
        let mut undelivered = Undelivered::unattempted(0);
        (undelivered.attempts, undelivered.may_have_been_delivered) = (2, true);
        Letter::of_entry(text, ("a.jsonl", 7), &undelivered)
    }

    #[test]
    fn a_file_is_locked_by_one_load_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead");
        let dead = LetterFiles::open(&path).unwrap();
        let refusal = LetterFiles::open(&path).unwrap_err().to_string();
        assert!(refusal.contains("in use by another load"), "{refusal}");
        drop(dead);
        LetterFiles::open(&path).unwrap();
    }

    #[test]
    fn an_entry_after_a_line_without_an_end_has_a_line_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead");
        fs::write(&path, "{\"id\": 1}\n{\"id\"").unwrap();
        let dead = LetterFiles::open(&path).unwrap();
        dead.write(&letter(b"{\"id\": 2}")).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "{\"id\": 1}\n{\"id\"\n{\"id\": 2}\n"
        );
    }

    #[test]
    fn a_cause_whose_entry_was_not_written_before_the_end_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, causes) = (folder.path().join("dead"), folder.path().join("dead.causes.jsonl"));
        fs::write(&path, "{\"id\": 1}\n{\"id\"").unwrap();
        fs::write(&causes, "first\nsecond\nthird\n").unwrap();
        let dead = LetterFiles::open(&path).unwrap().with_a_cause_for_each().unwrap();
        assert_eq!(fs::read_to_string(&causes).unwrap(), "first\nsecond\n");
        dead.write(&letter(b"{\"id\": 2}")).unwrap();
        assert_eq!(fs::read_to_string(&causes).unwrap().lines().count(), 3);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
    }

    #[test]
    fn the_causes_of_entries_that_were_moved_away_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let causes = folder.path().join("dead.causes.jsonl");
        for entries in ["", "new\n"] {
            fs::write(folder.path().join("dead"), entries).unwrap();
            fs::write(&causes, "first\nsecond\nthird\n").unwrap();
            let dead = LetterFiles::open(&folder.path().join("dead")).unwrap();
            dead.with_a_cause_for_each().unwrap();
            assert_eq!(fs::read_to_string(&causes).unwrap(), "first\nsecond\nthird\n");
        }
    }

    #[test]
    fn an_entry_is_unchanged_has_its_cause_and_is_readable_only_by_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead");
        let dead = LetterFiles::open(&path).unwrap();
        dead.write(&letter(b"{\"id\": 1}")).unwrap();
        assert_eq!(dead.close().letters, 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"id\": 1}\n");
        let causes = fs::read_to_string(folder.path().join("dead.causes.jsonl")).unwrap();
        let cause: serde_json::Value = serde_json::from_str(&causes).unwrap();
        let expected = json!({
            "cause": "not sent: the producer is closed", "code": null, "message": null, "attempts": 2, "may_have_been_delivered": true,
            "file": "a.jsonl", "line": 7,
        });
        assert_eq!(cause, expected);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn files_that_stay_empty_are_not_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead");
        fs::write(&path, "").unwrap();
        LetterFiles::open(&path).unwrap().close();
        let left: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["dead"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_is_written_after_the_disk_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let dead = LetterFiles::open(&path).unwrap();
        for _ in 0..2 {
            dead.write(&letter(b"{}")).unwrap_err();
        }
        let written = dead.close();
        assert_eq!((written.letters, written.error.is_some()), (0, true));
        assert!(!folder.path().join("dead.causes.jsonl").exists());
    }
}
