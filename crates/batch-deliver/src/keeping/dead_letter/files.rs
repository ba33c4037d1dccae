//! Dead letters in a file, and their causes in a second file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::letter::{Letter, LettersWritten};
use super::unit::{WITHIN, cause_of, remove_unfinished};
use crate::keeping::append_file::{AppendFile, unopened};
use crate::keeping::feedback::Feedback;
use crate::keeping::group_sync::{GroupSync, UnsyncedWrite};
use crate::outcome::Failure;
use crate::output::FileIdentity;

/// The suffix of the file of causes, after the name of the file of dead letters.
const CAUSES: &str = ".causes.jsonl";

/// A file of entries, and a file of their causes.
#[derive(Debug)]
pub(crate) struct LetterFiles {
    path: PathBuf,
    store: Arc<LetterStore>,
    sync: Arc<GroupSync>,
    fed_back: Option<Feedback>,
}

/// What is in a file, as far as it decides what can be added.
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
    pub(super) fn of(letter: &Letter) -> Self {
        letter.header.clone().map_or(Self::Lines, Self::Rows)
    }
}

#[derive(Debug)]
struct FilePair {
    entries: AppendFile,
    causes: AppendFile,
    written: u64,
    /// The error after which nothing is written.
    error: Option<io::Error>,
}

/// The letters of a run that wait to be stored with others, and their files.
#[derive(Debug)]
struct LetterStore {
    waiting: Mutex<Vec<Letter>>,
    files: Mutex<FilePair>,
}

impl LetterFiles {
    /// Opens both files, which only their owner may read. Their contents stay, without what a run that was killed has left unfinished.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let causes = causes_of(path);
        let refused = |path: &Path, error| unopened(&format!("--dead-letter {}", path.display()), "load", &error);
        let open = |path: &Path| {
            let opened = AppendFile::open(path).and_then(AppendFile::for_its_owner_alone);
            opened.map_err(|error| refused(path, error))
        };
        let (mut entries, mut causes) = (open(path)?, open(&causes)?);
        remove_unfinished(&mut entries, &mut causes)
            .and_then(|()| entries.end_line())
            .map_err(|error| refused(path, error))?;
        let store = Arc::new(LetterStore {
            waiting: Mutex::default(),
            files: Mutex::new(FilePair {
                entries,
                causes,
                written: 0,
                error: None,
            }),
        });
        let storing = Arc::clone(&store);
        Ok(Self {
            path: path.to_owned(),
            store,
            sync: Arc::new(GroupSync::new(move || storing.store_all())),
            fed_back: None,
        })
    }

    /// The same, which stops when its letters come back by these pipes.
    pub(super) fn recognizing(self, pipes: &[FileIdentity]) -> Self {
        let fed_back = Feedback::new(self.store.files().entries.opened(), pipes);
        Self { fed_back, ..self }
    }

    /// What is in the file, by its first line and the first cause of a line in it.
    pub(super) fn content(&self) -> io::Result<FileKind> {
        let files = self.store.files();
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
        self.store.files().entries.length() > 0
    }

    /// Takes an entry, which is stored when it is synced. After the first error nothing more is written.
    pub(super) fn write(&self, letter: Letter) -> io::Result<UnsyncedWrite> {
        if let Some(error) = self.sync.error() {
            return Err(error.kind().into());
        }
        if let (Some(fed_back), Some(text)) = (&self.fed_back, &letter.text)
            && let Err(error) = fed_back.check(text)
        {
            let kind = error.kind();
            self.store.files().error.get_or_insert(error);
            return Err(kind.into());
        }
        self.store.waiting().push(letter);
        Ok(self.sync.written())
    }

    /// How many entries were written, where, and the error that ended it.
    pub(super) fn close(&self) -> LettersWritten {
        let _ = self.store.store_all();
        let mut files = self.store.files();
        files.check_names();
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

/// The file of the causes of this file of letters.
pub(in crate::keeping) fn causes_of(path: &Path) -> PathBuf {
    let mut causes = path.to_owned().into_os_string();
    causes.push(CAUSES);
    causes.into()
}

impl LetterStore {
    fn waiting(&self) -> MutexGuard<'_, Vec<Letter>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self) -> MutexGuard<'_, FilePair> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores all that wait. Returns when they are on the disk.
    fn store_all(&self) -> io::Result<()> {
        let mut files = self.files();
        let group = std::mem::take(&mut *self.waiting());
        if let Some(error) = &files.error {
            return Err(error.kind().into());
        }
        if group.is_empty() {
            return Ok(());
        }
        let (entries, causes) = (files.entries.length(), files.causes.length());
        match files.store(&group) {
            Ok(()) => {
                files.written += group.iter().filter(|letter| letter.text.is_some()).count() as u64;
                Ok(())
            }
            Err(error) => {
                files.entries.take_back(entries);
                files.causes.take_back(causes);
                let kind = error.kind();
                files.error = Some(error);
                Err(kind.into())
            }
        }
    }
}

impl FilePair {
    fn store(&mut self, group: &[Letter]) -> io::Result<()> {
        let (mut causes, mut letters) = (Vec::new(), Vec::new());
        for letter in group {
            let begin = letters.len();
            let at = self.entries.length() + begin as u64;
            if let Some(text) = &letter.text {
                let header = letter.header.iter().filter(|_| at == 0);
                for line in header.chain([text]) {
                    letters.extend_from_slice(line);
                    letters.push(b'\n');
                }
            }
            let own = letter.text.is_some().then_some(&letters[begin..]);
            if !causes.is_empty() {
                causes.extend_from_slice(WITHIN);
            }
            causes.extend(cause_of(letter.cause.clone(), own, at)?);
        }
        self.causes.append(&causes)?;
        self.causes.opened().sync()?;
        self.entries.append(&letters)?;
        self.entries.opened().sync()?;
        self.causes.append(b"\n")
    }

    fn check_names(&mut self) {
        for file in [&self.entries, &self.causes] {
            if let Err(error) = file.opened().check_name()
                && self.error.is_none()
            {
                self.error = Some(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::sink::UndeliveredEntry;

    fn letter(text: &[u8]) -> Letter {
        let mut undelivered = UndeliveredEntry::unattempted(0);
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
        fs::write(&path, "{\"id\": 1}\nmine").unwrap();
        let dead = LetterFiles::open(&path).unwrap();
        dead.write(letter(b"{\"id\": 2}")).unwrap();
        assert_eq!(dead.close().letters, 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"id\": 1}\nmine\n{\"id\": 2}\n");
    }

    #[test]
    fn a_letter_that_was_not_written_to_its_end_is_removed_with_its_cause() {
        let folder = tempfile::tempdir().unwrap();
        let (path, causes) = (folder.path().join("dead"), folder.path().join("dead.causes.jsonl"));
        let dead = LetterFiles::open(&path).unwrap();
        for id in 1..=3 {
            dead.write(letter(format!("{{\"id\": {id}}}").as_bytes())).unwrap();
        }
        dead.close();
        drop(dead);
        let (entries, whole) = (fs::read(&path).unwrap(), fs::read(&causes).unwrap());
        for length in 0..=entries.len() {
            fs::write(&path, &entries[..length]).unwrap();
            // The line end behind a group is written when its letters are on the disk.
            fs::write(&causes, &whole[..whole.len() - 1]).unwrap();
            let dead = LetterFiles::open(&path).unwrap();
            let lines = length / "{\"id\": 1}\n".len();
            assert_eq!(fs::read(&path).unwrap(), &entries[..lines * 10], "{length}");
            assert_eq!(fs::read_to_string(&causes).unwrap().lines().count(), lines);
            dead.write(letter(b"{\"id\": 4}")).unwrap();
            dead.close();
            assert_eq!(fs::read_to_string(&causes).unwrap().lines().count(), lines + 1);
            assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), lines + 1);
        }
    }

    #[test]
    fn the_causes_of_entries_that_were_moved_away_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let causes = folder.path().join("dead.causes.jsonl");
        for entries in ["", "new\n"] {
            fs::write(folder.path().join("dead"), entries).unwrap();
            fs::write(&causes, "first\nsecond\nthird\n").unwrap();
            LetterFiles::open(&folder.path().join("dead")).unwrap();
            assert_eq!(fs::read_to_string(&causes).unwrap(), "first\nsecond\nthird\n");
        }
    }

    #[test]
    fn an_entry_is_unchanged_has_its_cause_and_is_readable_only_by_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead");
        fs::write(&path, "").unwrap();
        let dead = LetterFiles::open(&path).unwrap();
        dead.write(letter(b"{\"id\": 1}")).unwrap();
        assert_eq!(dead.close().letters, 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"id\": 1}\n");
        let causes = fs::read_to_string(folder.path().join("dead.causes.jsonl")).unwrap();
        let cause: serde_json::Value = serde_json::from_str(&causes).unwrap();
        let expected = json!({
            "cause": "not sent: the producer is closed", "code": null, "message": null, "attempts": 2, "may_have_been_delivered": true,
            "file": "a.jsonl", "line": 7, "at": 0, "bytes": 10, "crc32": crc32fast::hash(b"{\"id\": 1}\n"),
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
        dead.write(letter(b"{}")).unwrap();
        let written = dead.close();
        assert_eq!((written.letters, written.error.is_some()), (0, true));
        assert!(!folder.path().join("dead.causes.jsonl").exists());
    }
}
