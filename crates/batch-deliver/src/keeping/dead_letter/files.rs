//! Dead letters in a file, and their causes in a second file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::letter::{Letter, LettersWritten};
use crate::outcome::Failure;

/// The suffix of the file of causes, after the name of the file of dead letters.
pub(crate) const CAUSES: &str = ".causes.jsonl";

/// A file of entries, and a file of their causes.
#[derive(Debug)]
pub(crate) struct LetterFiles {
    path: PathBuf,
    files: Mutex<Files>,
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
                Failure::WrongUse(match error.kind() {
                    io::ErrorKind::WouldBlock => {
                        format!("--dead-letter {path} is in use by another load: name another file")
                    }
                    _ => format!("--dead-letter {path} cannot be written: {error}"),
                })
            })
        };
        Ok(Self {
            path: path.to_owned(),
            files: Mutex::new(Files {
                entries: open(path)?,
                causes: open(Path::new(&causes))?,
                written: 0,
                error: None,
            }),
        })
    }

    /// The files with as many causes as entries, each of which is one line: a load that was killed between two writes leaves a
    /// cause too many.
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
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
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
        self.files.lock().unwrap_or_else(PoisonError::into_inner).entries.length > 0
    }

    /// Writes an entry. After the first error nothing more is written.
    pub(super) fn write(&self, letter: &Letter<'_>) -> io::Result<()> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &files.error {
            return Err(error.kind().into());
        }
        // A cause without its entry does no harm; an entry without its cause would shift the causes of all others.
        let written = files.causes.write(letter.cause.as_bytes());
        let written = written.and_then(|()| {
            let Some(text) = letter.text else { return Ok(()) };
            let written = match letter.header {
                Some(header) if files.entries.length == 0 => files.entries.write(&[header, b"\n", text].concat()),
                _ => files.entries.write(text),
            };
            written.inspect_err(|_| files.causes.remove_last())
        });
        match written {
            Ok(()) => {
                files.written += u64::from(letter.text.is_some());
                Ok(())
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
            error: files.error.as_ref().map(ToString::to_string),
        }
    }
}

/// A file that grows by whole lines.
#[derive(Debug)]
pub(in crate::keeping) struct Appended {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    length: u64,
    /// Bytes of whole lines before the last one.
    before: u64,
    is_new: bool,
}

impl Appended {
    pub(in crate::keeping) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let is_new = !path.exists();
        let mut file = options.read(true).open(path)?;
        // Two loads would truncate each other's lines.
        file.try_lock()?;
        let mut length = file.metadata()?.len();
        if file.metadata()?.is_file() && length > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                // A load may have been killed while it wrote the last line, which becomes a line of its own.
                file.write_all(b"\n")?;
                length += 1;
            }
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            length,
            before: length,
            is_new,
        })
    }

    pub(in crate::keeping) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.before = self.length;
        let line = [line, b"\n"].concat();
        match self.file.write_all(&line) {
            Ok(()) => {
                self.length += line.len() as u64;
                Ok(())
            }
            Err(error) => {
                // The disk may become full in the middle of a line.
                self.remove_last();
                Err(error)
            }
        }
    }

    /// Removes the last line. A file that cannot be truncated, such as a pipe, keeps it.
    fn remove_last(&mut self) {
        self.length = self.before;
        let _ = self.file.set_len(self.length);
    }

    /// Removes the last cause if it has no entry, because a load was killed between the two writes.
    fn remove_last_without(&mut self, entries: &mut Self) -> io::Result<()> {
        let (causes, last) = self.lines()?;
        let (entries, _) = entries.lines()?;
        if causes == entries + 1 {
            self.length = last;
            self.file.set_len(last)?;
        }
        Ok(())
    }

    /// The number of lines, and the position of the last one.
    fn lines(&mut self) -> io::Result<(u64, u64)> {
        let (mut lines, mut last, mut next) = (0, 0, 0);
        if !self.file.metadata()?.is_file() {
            return Ok((lines, last));
        }
        self.file.rewind()?;
        let mut reader = BufReader::new(&self.file);
        loop {
            let length = reader.skip_until(b'\n')? as u64;
            if length == 0 {
                return Ok((lines, last));
            }
            (lines, last, next) = (lines + 1, next, next + length);
        }
    }

    /// What this finds in the first line in which it finds something.
    fn first<T>(&mut self, found: impl Fn(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
        if !self.file.metadata()?.is_file() {
            return Ok(None);
        }
        self.file.rewind()?;
        for line in BufReader::new(&self.file).split(b'\n') {
            if let Some(found) = found(&line?) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn remove_if_new_and_empty(&self) {
        if self.is_new && self.length == 0 {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
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
    fn a_cause_whose_entry_was_not_written_before_a_kill_is_removed() {
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
