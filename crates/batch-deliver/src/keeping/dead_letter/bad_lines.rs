//! Files of lines that could not be read. Rows are below their header, so each header has a file of its own.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::files::{FileKind, LetterFiles};
use super::letter::{Letter, LettersWritten};
use crate::keeping::group_sync::UnsyncedWrite;
use crate::outcome::Failure;
use crate::output::FileIdentity;

/// The suffix of the first file, after the name of the file of dead letters. The others have a number behind it.
pub(crate) const BAD: &str = ".bad";

/// `FILE.bad`, `FILE.bad.2`, …, each with a file of its reasons.
#[derive(Debug)]
pub(crate) struct BadLineFiles {
    path: PathBuf,
    /// The pipes from which the input comes.
    pipes: Vec<FileIdentity>,
    open: Mutex<Vec<BadLineFile>>,
}

#[derive(Debug)]
struct BadLineFile {
    content: FileKind,
    files: LetterFiles,
}

impl BadLineFiles {
    /// Opens the first file next to the file of dead letters with this path.
    pub(super) fn open(dead_letters: &Path, pipes: &[FileIdentity]) -> Result<Self, Failure> {
        let mut path = dead_letters.to_owned().into_os_string();
        path.push(BAD);
        let first = BadLineFile::open(path.as_ref(), pipes)?;
        Ok(Self {
            path: path.into(),
            pipes: pipes.to_vec(),
            open: Mutex::new(vec![first]),
        })
    }

    pub(super) fn write(&self, letter: Letter) -> io::Result<UnsyncedWrite> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let content = FileKind::of(&letter);
        let index = loop {
            let fitting = open.iter().position(|file| file.content == content);
            let empty = || open.iter().position(|file| file.content == FileKind::Nothing);
            if let Some(index) = fitting.or_else(empty) {
                break index;
            }
            let mut path = self.path.clone().into_os_string();
            path.push(format!(".{}", open.len() + 1));
            let next = BadLineFile::open(path.as_ref(), &self.pipes);
            open.push(next.map_err(|failure| io::Error::other(failure.to_string()))?);
        };
        let file = &mut open[index];
        let has_text = letter.text.is_some();
        let unsynced = file.files.write(letter)?;
        if has_text {
            file.content = content;
        }
        Ok(unsynced)
    }

    pub(super) fn close(&self) -> LettersWritten {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let written: Vec<LettersWritten> = open.iter().map(|file| file.files.close()).collect();
        let used = |written: &&LettersWritten| written.letters > 0;
        let names = |name: fn(&LettersWritten) -> &str| {
            let names: Vec<&str> = written.iter().filter(used).map(name).collect();
            if names.is_empty() {
                written.first().map_or("", name).to_owned()
            } else {
                names.join(", ")
            }
        };
        LettersWritten {
            letters: written.iter().map(|written| written.letters).sum(),
            place: names(|written| &written.place),
            causes: names(|written| &written.causes),
            error: written.iter().find_map(|written| written.error.clone()),
        }
    }
}

impl BadLineFile {
    fn open(path: &Path, pipes: &[FileIdentity]) -> Result<Self, Failure> {
        let files = LetterFiles::open(path)?.recognizing(pipes);
        let content = files
            .content()
            .map_err(|error| Failure::WrongUse(format!("{} cannot be read: {error}", path.display())))?;
        Ok(Self { content, files })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::source::Flaw;

    fn write(files: &BadLineFiles, header: Option<&str>, text: Option<&str>) {
        let letter = Letter::of_bad_line(
            header.map(str::as_bytes),
            text.map(str::as_bytes),
            ("a.csv", 7),
            &Flaw::new("no"),
        );
        files.write(letter).unwrap();
    }

    proptest! {
        /// The letters of several runs, with three headers or none.
        #[test]
        fn each_file_is_one_header_and_its_rows_in_order(runs in prop::collection::vec(prop::collection::vec((0_usize..4, "[ -~]{1,5}"), 0..6), 1..4)) {
            let headers = [None, Some("id,name"), Some("id;name\r\n"), Some("id")];
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("dead");
            for run in &runs {
                let files = BadLineFiles::open(&path, &[]).unwrap();
                for (header, text) in run {
                    write(&files, headers[*header], Some(text));
                }
                prop_assert_eq!(files.close().letters, run.len() as u64);
            }
            let mut found = Vec::new();
            for number in 1..=4 {
                let name = if number == 1 { "dead.bad".to_owned() } else { format!("dead.bad.{number}") };
                let text = fs::read_to_string(folder.path().join(&name)).unwrap_or_default();
                let causes = fs::read_to_string(folder.path().join(name + ".causes.jsonl")).unwrap_or_default();
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                let Some(cause) = causes.lines().next() else { continue };
                let cause: serde_json::Value = serde_json::from_str(cause).unwrap();
                let header = (cause["has_header"] == true).then(|| lines.remove(0));
                prop_assert_eq!(causes.lines().count(), lines.len());
                found.push((header, lines));
            }
            let mut expected: Vec<(Option<String>, Vec<String>)> = Vec::new();
            for (header, text) in runs.into_iter().flatten() {
                let header = headers[header].map(|header| header.trim_end().to_owned());
                match expected.iter_mut().find(|(known, _)| *known == header) {
                    Some((_, lines)) => lines.push(text),
                    None => expected.push((header, vec![text])),
                }
            }
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_line_that_is_too_long_has_only_its_place_and_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let files = BadLineFiles::open(&folder.path().join("dead"), &[]).unwrap();
        write(&files, None, None);
        write(&files, Some("id,name"), Some("1,\"a\nb"));
        assert_eq!(files.close().letters, 1);
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("dead.bad"), "id,name\n1,\"a\nb\n");
        let causes = read("dead.bad.causes.jsonl");
        let kept: Vec<bool> = causes.lines().map(|cause| cause.contains("\"kept\":true")).collect();
        assert_eq!(kept, [false, true]);
    }

    #[test]
    fn a_file_of_something_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dead.bad");
        fs::write(&path, "mine\n").unwrap();
        let files = BadLineFiles::open(&folder.path().join("dead"), &[]).unwrap();
        write(&files, None, Some("oops"));
        let written = files.close();
        assert!(written.place.ends_with("dead.bad.2"), "{}", written.place);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
        assert!(!folder.path().join("dead.bad.causes.jsonl").exists());
    }
}
