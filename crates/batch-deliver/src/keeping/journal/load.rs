//! The journal of a load of inputs, which numbers their records.

use std::io::{self, Write};

use super::super::failures::{FailedRecord, Failures};
use super::super::location::Location;
use super::content::{self, EarlierRun, JournalContent, JournalLine, WriterStamp};
use super::owned::StoredContent;
use super::storage::Storage;
use super::{Claim, Identity, StopLine, checked_line};
use crate::blocking::block_in_place;
use crate::connection::Connection;
use crate::console::Console;
use crate::outcome::Failure;
use crate::source::{Beginning, SettledRecords};

/// Bytes that are appended to a file before it is replaced by the shortest one with the same content.
const LONG: u64 = 4 << 20;

/// A journal that only this process writes.
#[derive(Debug)]
pub(crate) struct LoadState {
    pub(super) storage: Storage,
    identity: Identity,
    pub(crate) kept: JournalContent,
    /// How many entries the last run may have sent without recording them.
    pub(crate) doubtful: u64,
    /// The bad line at which this run has stopped, and that it has ended.
    last: Vec<JournalLine>,
    /// Bytes that were appended to the file.
    appended: u64,
}

impl StoredContent for Identity {
    type Found = EarlierRun;

    fn read(&self, name: &str, text: &str, claim: Claim, console: &Console) -> Result<EarlierRun, Failure> {
        EarlierRun::read(name, text, self, claim, console)
    }

    fn doubtful(found: &EarlierRun) -> u64 {
        found.doubtful
    }

    fn text(&self, found: &EarlierRun, written: Option<WriterStamp>) -> serde_json::Result<Vec<u8>> {
        content::text(self, &found.kept, written, &[])
    }
}

impl LoadState {
    /// Opens the journal of a load, or creates one. A journal of another load is an error, unless it may be replaced.
    pub(crate) async fn open(
        location: &Location,
        identity: Identity,
        claim: Claim,
        connection: &Connection,
        console: &Console,
    ) -> Result<Self, Failure> {
        let (storage, found) = Storage::open(location, &identity, claim, connection, console).await?;
        let EarlierRun { kept, doubtful } = found;
        Ok(Self {
            storage,
            identity,
            kept,
            doubtful,
            last: Vec::new(),
            appended: 0,
        })
    }

    /// Whether an earlier run may have delivered something.
    pub(crate) fn has_begun(&self) -> bool {
        self.kept.settled.len() > 0 || self.doubtful > 0
    }

    /// Records that entries may be sent from now on.
    pub(super) async fn begin(&mut self) -> io::Result<()> {
        if self.kept.has_begun {
            return Ok(());
        }
        self.kept.has_begun = true;
        self.replace().await
    }

    /// Adds settled records, some of which were not delivered, and how far inputs were read for that. Returns what is to be
    /// [written](Self::write) of them.
    pub(super) fn add(
        &mut self,
        settled: SettledRecords,
        failed: Vec<FailedRecord>,
        read: Vec<(usize, Beginning)>,
    ) -> Vec<JournalLine> {
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
        lines
    }

    /// Appends these lines to a file. A killed process loses nothing that it has written, so there is no sync to the disk. An object is
    /// replaced by one with all that is known.
    pub(super) async fn write(&mut self, lines: &[JournalLine]) -> io::Result<()> {
        let Storage::File { file, .. } = &mut self.storage else {
            return self.replace().await;
        };
        let mut text = Vec::new();
        for line in lines {
            checked_line::add(&mut text, line)?;
        }
        block_in_place(|| file.write_all(&text))?;
        self.appended += text.len() as u64;
        if self.appended > LONG {
            self.replace().await
        } else {
            Ok(())
        }
    }

    /// Records that the run has ended and nothing is in flight, and the bad line at which it has stopped.
    pub(super) async fn end(&mut self, stopped: Option<StopLine>) -> io::Result<()> {
        let stopped = stopped.map(JournalLine::Stopped);
        self.last = stopped.into_iter().chain([JournalLine::Ended]).collect();
        self.replace().await
    }

    /// Records that all failures were reported to the user.
    pub(super) async fn reported(&mut self) -> io::Result<()> {
        if self.kept.failures.is_empty() {
            return Ok(());
        }
        self.kept.failures = Failures::default();
        self.write(&[JournalLine::Reported]).await
    }

    /// Replaces the journal by the shortest one with the same content.
    async fn replace(&mut self) -> io::Result<()> {
        let (identity, kept, last) = (&self.identity, &self.kept, &self.last);
        let text = |written| content::text(identity, kept, written, last);
        self.storage.replace(text).await?;
        self.appended = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Barrier;
    use std::{fs, thread};

    use proptest::prelude::*;

    use super::*;
    use crate::blocking::wait;
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

        fn open(&self) -> Result<LoadState, Failure> {
            self.open_to("films", Claim::Named)
        }

        fn open_to(&self, destination: &str, claim: Claim) -> Result<LoadState, Failure> {
            let (location, console) = (Location::File(self.path()), Console::new(false, true));
            let identity = self.identity(destination);
            wait(LoadState::open(
                &location,
                identity,
                claim,
                &Connection::default(),
                &console,
            ))
        }

        fn refusal(&self) -> String {
            self.open().unwrap_err().to_string()
        }
    }

    fn add(state: &mut LoadState, settled: SettledRecords) {
        let lines = state.add(settled, Vec::new(), Vec::new());
        wait(state.write(&lines)).unwrap();
    }

    fn is_as_good_as_none(state: &LoadState) -> bool {
        state.kept == JournalContent::default() && state.doubtful == 0
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
            let mut state = load.open().unwrap();
            wait(state.begin()).unwrap();
            let settled = |first, last| SettledRecords::try_from(vec![(first, last)]).unwrap();
            let begun = fs::read(load.path()).unwrap().len();
            let mut sure = SettledRecords::default();
            for (number, (first, more)) in records.iter().enumerate() {
                add(&mut state, settled(*first, first + more));
                if number == compact_at {
                    wait(state.replace()).unwrap();
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
            let resumed = load.open().unwrap();
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
        let state = load.open().unwrap();
        let Storage::File { file, .. } = &state.storage else {
            panic!("it is in a file")
        };
        // Until it is another program, a new process has all open files.
        let _inherited = file.try_clone().unwrap();
        drop(state);
        load.open().unwrap();
    }

    #[test]
    fn a_run_that_has_ended_leaves_no_doubt() {
        let load = Load::new();
        let mut state = load.open().unwrap();
        add(&mut state, four());
        wait(state.end(None)).unwrap();
        drop(state);
        let state = load.open().unwrap();
        assert_eq!((state.doubtful, state.kept.settled.len()), (0, 4));
    }

    #[test]
    fn the_journal_of_a_run_that_has_sent_nothing_is_as_good_as_none() {
        for has_begun in [false, true] {
            let load = Load::new();
            let mut state = load.open().unwrap();
            if has_begun {
                wait(state.begin()).unwrap();
                wait(state.end(None)).unwrap();
            }
            drop(state);
            assert!(is_as_good_as_none(&load.open_to("movies", Claim::Named).unwrap()));
            fs::write(load.folder.path().join("a.jsonl"), "{ }").unwrap();
            assert!(is_as_good_as_none(&load.open().unwrap()));
        }
    }

    #[test]
    fn the_journal_of_another_load_is_refused_with_what_differs() {
        let load = Load::new();
        let mut state = load.open().unwrap();
        wait(state.begin()).unwrap();
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
        let mut state = load.open().unwrap();
        add(&mut state, four());
        drop(state);
        assert!(is_as_good_as_none(&load.open_to("movies", Claim::Granted).unwrap()));
    }

    #[test]
    fn a_journal_is_for_one_process_at_a_time_and_only_for_its_owner() {
        let load = Load::new();
        let mut state = load.open().unwrap();
        assert!(load.refusal().contains("in use by another load"), "{}", load.refusal());
        wait(state.replace()).unwrap();
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
