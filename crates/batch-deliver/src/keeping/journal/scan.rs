//! The journal of a delivery whose records are the items of a table: where its scan is continued.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::failures::{FailedRecord, Failures};
use super::super::location::Location;
use super::checked_line::{self, JournalFault};
use super::content::WriterStamp;
use super::owned::StoredContent;
use super::storage::Storage;
use super::{Claim, Identity};
use crate::connection::Connection;
use crate::console::Console;
use crate::outcome::Failure;

/// A journal that only this process writes.
#[derive(Debug)]
pub(crate) struct ScanState {
    content: ScanLine,
    pub(super) storage: Storage,
}

/// The only line of the journal.
#[derive(Debug, Serialize, Deserialize)]
struct ScanLine {
    identity: Identity,
    /// Where the scan is continued; `None` at its start.
    position: Option<Value>,
    /// Items that all runs have settled.
    items: u64,
    /// Whether the last run has ended without being killed.
    has_ended: bool,
    /// Items that it settled behind the position, if it has ended.
    #[serde(default)]
    again: u64,
    /// What all runs have not delivered before the position, and no run of the whole has reported.
    #[serde(default, skip_serializing_if = "Failures::is_empty")]
    failures: Failures,
    /// Which run has written it, in an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    written: Option<WriterStamp>,
}

/// What earlier runs have left.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct EarlierScan {
    pub(crate) position: Option<Value>,
    pub(crate) items: u64,
    pub(crate) failures: Failures,
    /// How many items the last run may have delivered behind the position.
    pub(crate) doubtful: u64,
}

impl EarlierScan {
    /// Reads the text of the journal with this name, for this delivery.
    fn read(name: &str, text: &str, identity: &Identity, claim: Claim, console: &Console) -> Result<Self, Failure> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let before: ScanLine = checked_line::first_line(text).map_err(|unreadable| match unreadable {
            JournalFault::Foreign => Failure::WrongUse(format!(
                "{name} is not a journal of a table that is read: name another one"
            )),
            unreadable => unreadable.of_journal(name),
        })?;
        // Nothing was sent, so the next run begins with everything, even if another one is meant.
        if before.position.is_none() {
            return Ok(Self::default());
        }
        for difference in identity.differences(&before.identity, None, &mut BTreeMap::new()) {
            difference.accept(name, claim, console)?;
        }
        Ok(Self {
            doubtful: if before.has_ended {
                before.again
            } else {
                before.identity.unsure
            },
            position: before.position,
            items: before.items,
            failures: before.failures,
        })
    }

    /// The content with which the next run begins.
    fn content(&self, identity: Identity) -> ScanLine {
        ScanLine {
            identity,
            position: self.position.clone(),
            items: self.items,
            has_ended: false,
            again: 0,
            failures: self.failures.clone(),
            written: None,
        }
    }
}

/// The journal of a scan with this identity.
struct ScanContent<'a>(&'a Identity);

impl StoredContent for ScanContent<'_> {
    type Found = EarlierScan;

    fn read(&self, name: &str, text: &str, claim: Claim, console: &Console) -> Result<EarlierScan, Failure> {
        EarlierScan::read(name, text, self.0, claim, console)
    }

    fn doubtful(found: &EarlierScan) -> u64 {
        found.doubtful
    }

    fn text(&self, found: &EarlierScan, written: Option<WriterStamp>) -> serde_json::Result<Vec<u8>> {
        text(&ScanLine {
            written,
            ..found.content(self.0.clone())
        })
    }
}

/// The journal with this content.
fn text(content: &ScanLine) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::new();
    checked_line::add(&mut text, content)?;
    Ok(text)
}

impl ScanState {
    /// Opens the journal, or creates one. A journal of another delivery is an error, unless it may be replaced.
    pub(crate) async fn open(
        location: &Location,
        identity: Identity,
        claim: Claim,
        connection: &Connection,
        console: &Console,
    ) -> Result<(Self, EarlierScan), Failure> {
        let content = ScanContent(&identity);
        let (storage, found) = Storage::open(location, &content, claim, connection, console).await?;
        let content = found.content(identity);
        Ok((Self { content, storage }, found))
    }

    /// The scan is continued there, after `more` items more than at the last call.
    pub(crate) async fn write(&mut self, position: Value, more: u64) -> io::Result<()> {
        self.content.position = Some(position);
        self.content.items += more;
        self.store().await
    }

    /// Records that the run has ended and nothing is in flight. This many items behind the position are settled and read again.
    pub(crate) async fn end(&mut self, again: u64) -> io::Result<()> {
        (self.content.has_ended, self.content.again) = (true, again);
        self.store().await
    }

    /// This is in the journal with the next position that is behind it.
    pub(super) fn fail(&mut self, failed: &FailedRecord) {
        self.content.failures.add(failed);
    }

    /// Records that all failures were reported to the user.
    pub(super) async fn reported(&mut self) -> io::Result<()> {
        if self.content.failures.is_empty() {
            return Ok(());
        }
        self.content.failures = Failures::default();
        self.store().await
    }

    async fn store(&mut self) -> io::Result<()> {
        let Self { content, storage } = self;
        let text = |written| {
            content.written = written;
            text(content)
        };
        storage.replace(text).await
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    async fn open(path: &Path, identity: Identity) -> Result<(ScanState, EarlierScan), Failure> {
        let (location, console) = (Location::File(path.to_owned()), Console::new(false, true));
        ScanState::open(&location, identity, Claim::Named, &Connection::default(), &console).await
    }

    fn identity(destination: &str) -> Identity {
        Identity::new([("destination", destination.to_owned())], &[], 11_000).unwrap()
    }

    #[tokio::test]
    async fn a_run_leaves_its_position_and_how_many_items_behind_it_may_be_settled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let (mut state, found) = open(&path, identity("copy")).await.unwrap();
        assert_eq!(found, EarlierScan::default());
        state.write(json!(["start"]), 20).await.unwrap();
        state.write(json!(["end"]), 5).await.unwrap();
        drop(state);
        let (mut state, found) = open(&path, identity("copy")).await.unwrap();
        assert_eq!(
            (found.position, found.items, found.doubtful),
            (Some(json!(["end"])), 25, 11_000)
        );
        state.end(3).await.unwrap();
        drop(state);
        let (_, found) = open(&path, identity("copy")).await.unwrap();
        assert_eq!((found.items, found.doubtful), (25, 3));
    }

    #[tokio::test]
    async fn another_delivery_another_file_and_a_journal_in_use_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let refused = async |destination: &str| open(&path, identity(destination)).await.unwrap_err().to_string();
        let (mut state, _) = open(&path, identity("copy")).await.unwrap();
        assert!(refused("copy").await.contains("is in use"));
        drop(state);
        (state, _) = open(&path, identity("other")).await.unwrap();
        drop(state);
        (state, _) = open(&path, identity("copy")).await.unwrap();
        state.write(json!(["start"]), 0).await.unwrap();
        drop(state);
        assert!(
            refused("other")
                .await
                .contains("the destination was copy, and is other")
        );
        std::fs::write(&path, "{}\n").unwrap();
        assert!(refused("copy").await.contains("is not a journal of a table"));
    }
}
