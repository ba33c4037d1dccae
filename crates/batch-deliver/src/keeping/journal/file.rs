//! A journal in a file, which only this process writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::super::location::check_is_file;
use super::content::{self, EarlierRun, Line};
use super::{Claim, Identity, Stopped};
use crate::console::Console;
use crate::outcome::Failure;
use crate::source::SettledRecords;

/// The suffix of a new journal, which replaces the old one.
pub(crate) const NEW: &str = ".new";

/// A file to which lines are appended.
#[derive(Debug)]
pub(crate) struct JournalFile {
    path: PathBuf,
    identity: Identity,
    file: File,
    /// Bytes written since the file was created.
    pub(super) written: u64,
    settled: SettledRecords,
}

impl JournalFile {
    /// Opens the journal of a load, or creates one. A journal of another load is an error, unless it may be replaced.
    pub(super) fn open(
        path: &Path,
        identity: Identity,
        claim: Claim,
        console: &Console,
    ) -> Result<(Self, EarlierRun), Failure> {
        let name = path.display().to_string();
        let unreadable = |error| Failure::WrongUse(format!("the journal {name} cannot be read: {error}"));
        let mut text = String::new();
        let mut old = locked(path)?;
        old.read_to_string(&mut text).map_err(unreadable)?;
        let found = claim.accepted(EarlierRun::read(&name, &text, &identity), console)?;
        let unwritable = |error| Failure::WrongUse(format!("the journal {name} cannot be written: {error}"));
        let file = made(path, &identity, &found.settled).map_err(unwritable)?;
        drop(old);
        let journal = Self {
            path: path.to_owned(),
            identity,
            file,
            written: 0,
            settled: found.settled.clone(),
        };
        Ok((journal, found))
    }

    /// Adds these runs of records. A killed process loses nothing that it has written, so there is no sync to the disk.
    pub(super) fn add(&mut self, runs: &[(u64, u64)]) -> io::Result<()> {
        for (first, last) in runs {
            self.settled.add(*first, *last);
        }
        self.append(&Line::Settled(runs.to_vec()))
    }

    /// Records that the run has ended and nothing is in flight, and the bad line at which it has stopped.
    pub(super) fn end(&mut self, stopped: Option<Stopped>) -> io::Result<()> {
        self.compact()?;
        if let Some(stopped) = stopped {
            self.append(&Line::Stopped(stopped))?;
        }
        self.append(&Line::Ended)?;
        self.file.sync_all()
    }

    /// Replaces the file by the shortest one with the same content.
    pub(super) fn compact(&mut self) -> io::Result<()> {
        self.file = made(&self.path, &self.identity, &self.settled)?;
        self.written = 0;
        Ok(())
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = Vec::new();
        content::add(&mut text, line)?;
        self.written += text.len() as u64;
        self.file.write_all(&text)
    }
}

/// Creates the file of a journal atomically: either the old one or the complete new one exists.
fn made(path: &Path, identity: &Identity, settled: &SettledRecords) -> io::Result<File> {
    replaced(path, &content::text(identity, settled)?)
}

/// Replaces the file by one with this content, which is locked. Without the sync, a loss of power could leave an empty file with its name.
pub(super) fn replaced(path: &Path, content: &[u8]) -> io::Result<File> {
    let mut temporary = path.to_owned().into_os_string();
    temporary.push(NEW);
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    // The file is locked before it is renamed, so it is never without a lock.
    file.try_lock()?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    Ok(file)
}

/// Opens or creates the file with this name, and locks it for this process.
pub(super) fn locked(path: &Path) -> Result<File, Failure> {
    let name = path.display();
    check_is_file(path).map_err(|words| Failure::WrongUse(format!("--resume {name}: {words}")))?;
    let mut options = OpenOptions::new();
    options.create(true).read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let unusable = |error| Failure::WrongUse(format!("the journal {name} cannot be written: {error}"));
    let in_use = || Failure::InUse(content::in_use(&name.to_string()));
    let file = options.open(path).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use()),
        Err(TryLockError::Error(error)) => {
            return Err(Failure::WrongUse(format!(
                "the journal {name} cannot be locked: {error}"
            )));
        }
    }
    // Another load may have replaced this file before it was locked.
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let here = file.metadata().map_err(unusable)?;
        if std::fs::metadata(path).ok().map(identity) != Some(identity(here)) {
            return Err(in_use());
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::{fs, thread};

    use proptest::prelude::*;

    use super::*;
    use crate::source::Input;

    struct Load {
        folder: tempfile::TempDir,
    }

    impl Load {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("a.jsonl"), "{}").unwrap();
            Self { folder }
        }

        fn identity(&self, destination: &str) -> Identity {
            let inputs = [Input::file(&self.folder.path().join("a.jsonl")).unwrap()];
            Identity::new([("destination", destination.to_owned())], &inputs, 400).unwrap()
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("state")
        }

        fn open(&self) -> Result<(JournalFile, EarlierRun), Failure> {
            self.open_to("films", Claim::Named)
        }

        fn open_to(&self, destination: &str, claim: Claim) -> Result<(JournalFile, EarlierRun), Failure> {
            let console = Console::new(false, true);
            JournalFile::open(&self.path(), self.identity(destination), claim, &console)
        }

        fn refusal(&self) -> String {
            self.open().unwrap_err().to_string()
        }
    }

    proptest! {
        /// A killed process leaves any part of what it has written.
        #[test]
        fn records_that_were_written_before_a_kill_are_settled(
            records in prop::collection::vec((0_u64..50, 0_u64..4), 1..12),
            compact_at in 0_usize..12,
            kept in 0_usize..=100,
        ) {
            let load = Load::new();
            let (mut state, _) = load.open().unwrap();
            let begun = fs::read(load.path()).unwrap().len();
            let mut sure = SettledRecords::default();
            for (number, (first, more)) in records.iter().enumerate() {
                state.add(&[(*first, first + more)]).unwrap();
                if number == compact_at {
                    state.compact().unwrap();
                    sure = state.settled.clone();
                }
            }
            let all = state.settled.clone();
            drop(state);
            let whole = fs::read(load.path()).unwrap();
            let is_compact = records.len() > compact_at;
            let least = if is_compact { whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1 } else { begun };
            let length = least + (whole.len() - least) * kept / 100;
            fs::write(load.path(), &whole[..length]).unwrap();
            let (_, resumed) = load.open().unwrap();
            prop_assert_eq!(resumed.doubtful, 400);
            for number in 0..60 {
                prop_assert!(!sure.contains(number) || resumed.settled.contains(number));
                prop_assert!(!resumed.settled.contains(number) || all.contains(number));
            }
            if length == whole.len() {
                prop_assert_eq!(resumed.settled, all);
            }
        }
    }

    #[test]
    fn a_run_that_has_ended_leaves_no_doubt() {
        let load = Load::new();
        let (mut state, _) = load.open().unwrap();
        state.add(&[(0, 3)]).unwrap();
        state.end(None).unwrap();
        drop(state);
        let (_, state) = load.open().unwrap();
        assert_eq!((state.doubtful, state.settled.len()), (0, 4));
    }

    #[test]
    fn the_journal_of_another_load_is_refused_with_what_differs() {
        let load = Load::new();
        drop(load.open().unwrap());
        let other = load.open_to("movies", Claim::Named).unwrap_err().to_string();
        assert!(other.contains("the destination was films, and is movies"), "{other}");
        fs::write(load.folder.path().join("a.jsonl"), "{ }").unwrap();
        assert!(load.refusal().contains("a.jsonl has changed"), "{}", load.refusal());
        fs::write(load.path(), "{\"id\":1}\n").unwrap();
        assert!(load.refusal().contains("no journal of this program"));
    }

    #[test]
    fn a_run_that_ends_before_it_begins_makes_no_journal() {
        let load = Load::new();
        drop(load.open().unwrap());
        let journal = fs::read_to_string(load.path()).unwrap();
        for run in ["[9,5]", "[0,18446744073709551615]"] {
            fs::write(load.path(), format!("{journal}{{\"settled\":[{run}]}}\n")).unwrap();
            assert!(load.refusal().contains("no journal of this program"));
        }
    }

    #[cfg(feature = "distributed")]
    #[test]
    fn a_journal_that_may_be_replaced_may_be_of_another_load() {
        let load = Load::new();
        let (mut state, _) = load.open().unwrap();
        state.add(&[(0, 3)]).unwrap();
        drop(state);
        let (_, found) = load.open_to("movies", Claim::Granted).unwrap();
        assert_eq!(found, EarlierRun::default());
    }

    #[test]
    fn a_journal_is_for_one_process_at_a_time_and_only_for_its_owner() {
        let load = Load::new();
        let (mut state, _) = load.open().unwrap();
        assert!(load.refusal().contains("in use by another load"), "{}", load.refusal());
        state.compact().unwrap();
        assert!(load.refusal().contains("in use by another load"), "{}", load.refusal());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(load.path()).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn of_two_first_runs_at_the_same_time_only_one_gets_the_journal() {
        for _ in 0..50 {
            let load = Load::new();
            let barrier = Barrier::new(4);
            let opened: Vec<_> = thread::scope(|scope| {
                let runs = [0; 4].map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        load.open()
                    })
                });
                runs.into_iter().map(|run| run.join().unwrap()).collect()
            });
            assert_eq!(opened.iter().filter(|opened| opened.is_ok()).count(), 1);
        }
    }
}
