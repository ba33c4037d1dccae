//! A journal in a file, which only this process writes.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::super::failures::{FailedRecord, Failures};
use super::content::{self, EarlierRun, JournalContent, JournalLine};
use super::locked_file::LockedFile;
use super::{Claim, Identity, StopLine, checked_line};
use crate::console::Console;
use crate::outcome::Failure;
use crate::source::{Beginning, SettledRecords};

/// A file to which lines are appended.
#[derive(Debug)]
pub(crate) struct JournalFile {
    path: PathBuf,
    identity: Identity,
    file: LockedFile,
    /// Bytes written since the file was created.
    pub(super) written: u64,
    kept: JournalContent,
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
        let mut text = Vec::new();
        let (mut old, path) = LockedFile::open(path)?;
        old.read_to_end(&mut text).map_err(unreadable)?;
        let found = EarlierRun::read(&name, &String::from_utf8_lossy(&text), &identity, claim, console);
        let found = claim.accepted(found, console)?;
        let unwritable = |error| Failure::WrongUse(format!("the journal {name} cannot be written: {error}"));
        let file = made(&path, &identity, &found.kept).map_err(unwritable)?;
        drop(old);
        let journal = Self {
            path,
            identity,
            file,
            written: 0,
            kept: found.kept.clone(),
        };
        Ok((journal, found))
    }

    /// Records that entries may be sent from now on.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if self.kept.has_begun {
            return Ok(());
        }
        self.kept.has_begun = true;
        self.append(&[JournalLine::Begun])?;
        self.file.sync_data()
    }

    /// Adds settled records, some of which were not delivered, and how far inputs were read for that. A killed process loses nothing
    /// that it has written, so there is no sync to the disk.
    pub(super) fn add(
        &mut self,
        settled: SettledRecords,
        failed: Vec<FailedRecord>,
        read: Vec<(usize, Beginning)>,
    ) -> io::Result<()> {
        let mut lines = Vec::new();
        let read = self.kept.note(read);
        if !read.is_empty() {
            lines.push(JournalLine::Read(read));
        }
        if !failed.is_empty() {
            for one in &failed {
                self.kept.fail(one);
            }
            lines.push(JournalLine::Failed(failed));
        }
        if settled.len() > 0 {
            settled
                .runs()
                .for_each(|(first, last)| self.kept.settled.add(first, last));
            lines.push(JournalLine::Settled(settled));
        }
        self.append(&lines)
    }

    /// Records that the run has ended and nothing is in flight, and the bad line at which it has stopped.
    pub(super) fn end(&mut self, stopped: Option<StopLine>) -> io::Result<()> {
        self.compact()?;
        let stopped = stopped.map(JournalLine::Stopped);
        self.append(&stopped.into_iter().chain([JournalLine::Ended]).collect::<Vec<_>>())?;
        self.file.sync_all()
    }

    /// Records that all failures were reported to the user.
    pub(super) fn reported(&mut self) -> io::Result<()> {
        if self.kept.failures.is_empty() {
            return Ok(());
        }
        self.kept.failures = Failures::default();
        self.append(&[JournalLine::Reported])
    }

    /// Replaces the file by the shortest one with the same content.
    pub(super) fn compact(&mut self) -> io::Result<()> {
        self.file = made(&self.path, &self.identity, &self.kept)?;
        self.written = 0;
        Ok(())
    }

    fn append(&mut self, lines: &[JournalLine]) -> io::Result<()> {
        let mut text = Vec::new();
        for line in lines {
            checked_line::add(&mut text, line)?;
        }
        self.written += text.len() as u64;
        self.file.write_all(&text)
    }
}

/// Creates the file of a journal atomically: either the old one or the complete new one exists.
fn made(path: &Path, identity: &Identity, kept: &JournalContent) -> io::Result<LockedFile> {
    LockedFile::replacing(path, &content::text(identity, kept)?)
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

    fn four() -> SettledRecords {
        SettledRecords::try_from(vec![(0, 3)]).unwrap()
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
            state.begin().unwrap();
            let settled = |first, last| SettledRecords::try_from(vec![(first, last)]).unwrap();
            let begun = fs::read(load.path()).unwrap().len();
            let mut sure = SettledRecords::default();
            for (number, (first, more)) in records.iter().enumerate() {
                state.add(settled(*first, first + more), Vec::new(), Vec::new()).unwrap();
                if number == compact_at {
                    state.compact().unwrap();
                    sure = state.kept.settled.clone();
                }
            }
            let all = state.kept.settled.clone();
            drop(state);
            let whole = fs::read(load.path()).unwrap();
            let is_compact = records.len() > compact_at;
            let least = if is_compact { whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(2).unwrap().0 + 1 } else { begun };
            let length = least + (whole.len() - least) * kept / 100;
            fs::write(load.path(), &whole[..length]).unwrap();
            let (_, resumed) = load.open().unwrap();
            prop_assert_eq!(resumed.doubtful, 400);
            for number in 0..60 {
                prop_assert!(!sure.contains(number) || resumed.kept.settled.contains(number));
                prop_assert!(!resumed.kept.settled.contains(number) || all.contains(number));
            }
            if length == whole.len() {
                prop_assert_eq!(resumed.kept.settled, all);
            }
        }
    }

    #[test]
    fn a_journal_is_free_when_it_is_closed_even_if_a_process_is_being_started() {
        let load = Load::new();
        let (state, _) = load.open().unwrap();
        // Until it is another program, a new process has all open files.
        let _inherited = state.file.try_clone().unwrap();
        drop(state);
        load.open().unwrap();
    }

    #[test]
    fn a_run_that_has_ended_leaves_no_doubt() {
        let load = Load::new();
        let (mut state, _) = load.open().unwrap();
        state.add(four(), Vec::new(), Vec::new()).unwrap();
        state.end(None).unwrap();
        drop(state);
        let (_, state) = load.open().unwrap();
        assert_eq!((state.doubtful, state.kept.settled.len()), (0, 4));
    }

    #[test]
    fn the_journal_of_a_run_that_has_sent_nothing_is_as_good_as_none() {
        for has_begun in [false, true] {
            let load = Load::new();
            let (mut state, _) = load.open().unwrap();
            if has_begun {
                state.begin().unwrap();
                state.end(None).unwrap();
            }
            drop(state);
            let (state, found) = load.open_to("movies", Claim::Named).unwrap();
            assert_eq!(found, EarlierRun::default());
            drop(state);
            fs::write(load.folder.path().join("a.jsonl"), "{ }").unwrap();
            assert_eq!(load.open().unwrap().1, EarlierRun::default());
        }
    }

    #[test]
    fn the_journal_of_another_load_is_refused_with_what_differs() {
        let load = Load::new();
        let (mut state, _) = load.open().unwrap();
        state.begin().unwrap();
        drop(state);
        let other = load.open_to("movies", Claim::Named).unwrap_err().to_string();
        assert!(other.contains("the destination was films, and is movies"), "{other}");
        fs::write(load.folder.path().join("a.jsonl"), "{ }").unwrap();
        assert!(load.refusal().contains("a.jsonl has changed"), "{}", load.refusal());
        fs::write(load.path(), "{\"id\":1}\n").unwrap();
        assert!(load.refusal().contains("not a journal of this program"));
    }

    #[test]
    fn a_run_that_ends_before_it_begins_makes_no_journal() {
        let load = Load::new();
        drop(load.open().unwrap());
        let journal = fs::read_to_string(load.path()).unwrap();
        for run in [(9, 5), (0, u64::MAX)] {
            let mut line = Vec::new();
            checked_line::add(&mut line, &serde_json::json!({"settled": [run]})).unwrap();
            fs::write(load.path(), format!("{journal}{}", String::from_utf8_lossy(&line))).unwrap();
            assert!(load.refusal().contains("is damaged in line 3"), "{}", load.refusal());
        }
    }

    #[test]
    fn a_journal_that_may_be_replaced_may_be_of_another_load() {
        let load = Load::new();
        let (mut state, _) = load.open().unwrap();
        state.add(four(), Vec::new(), Vec::new()).unwrap();
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
