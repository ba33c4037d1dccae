//! The journal of a delivery whose records are the items of a table: where its scan is continued.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Identity;
use super::file::{locked, replaced};
use crate::outcome::Failure;

/// A journal that only this process writes.
#[derive(Debug)]
pub(crate) struct ScanState {
    path: PathBuf,
    content: Content,
    file: File,
}

/// The only line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Content {
    identity: Identity,
    /// Where the scan is continued; `None` at its start.
    position: Option<Value>,
    /// Items that all runs have settled.
    items: u64,
    /// Whether the last run has ended without being killed.
    has_ended: bool,
}

/// What earlier runs have left.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ScanFound {
    pub(crate) position: Option<Value>,
    pub(crate) items: u64,
    /// How many items the last run may have delivered without recording them.
    pub(crate) doubtful: u64,
}

impl ScanState {
    /// Opens the journal, or creates one. A journal of another delivery is an error. Blocks.
    pub(crate) fn open(path: &Path, identity: Identity) -> Result<(Self, ScanFound), Failure> {
        let name = path.display();
        let mut text = String::new();
        let mut old = locked(path)?;
        old.read_to_string(&mut text)
            .map_err(|error| Failure::WrongUse(format!("the journal {name} cannot be read: {error}")))?;
        let before: Option<Content> = if text.is_empty() {
            None
        } else {
            let parsed = serde_json::from_str(&text);
            let no_journal = |_| {
                Failure::WrongUse(format!(
                    "{name} is no journal of a table that is read: name another one"
                ))
            };
            Some(parsed.map_err(no_journal)?)
        };
        if let Some(difference) = before
            .as_ref()
            .and_then(|before| identity.difference(&before.identity, None))
        {
            return Err(Failure::WrongUse(format!(
                "{name} is the journal of another run: {difference}. To start over, remove {name}"
            )));
        }
        let found = before.map(|before| ScanFound {
            doubtful: if before.has_ended { 0 } else { before.identity.unsure },
            position: before.position,
            items: before.items,
        });
        let found = found.unwrap_or_default();
        let content = Content {
            identity,
            position: found.position.clone(),
            items: found.items,
            has_ended: false,
        };
        let unwritable = |error| Failure::WrongUse(format!("the journal {name} cannot be written: {error}"));
        let written = serde_json::to_vec(&content).map_err(|error| unwritable(error.into()))?;
        let file = replaced(path, &written, true).map_err(unwritable)?;
        drop(old);
        let state = Self {
            path: path.to_owned(),
            content,
            file,
        };
        Ok((state, found))
    }

    /// The scan is continued there, after `more` items more than at the last call.
    pub(super) fn write(&mut self, position: Value, more: u64) -> io::Result<()> {
        self.content.position = Some(position);
        self.content.items += more;
        self.file = replaced(&self.path, &serde_json::to_vec(&self.content)?, false)?;
        Ok(())
    }

    /// Records that the run has ended and nothing is in flight.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.content.has_ended = true;
        self.file = replaced(&self.path, &serde_json::to_vec(&self.content)?, true)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn identity(destination: &str) -> Identity {
        Identity::new([("destination", destination.to_owned())], &[], 11_000).unwrap()
    }

    #[test]
    fn a_run_that_was_killed_leaves_its_position_and_a_doubt() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let (mut state, found) = ScanState::open(&path, identity("copy")).unwrap();
        assert_eq!(found, ScanFound::default());
        state.write(json!(["start"]), 20).unwrap();
        state.write(json!(["end"]), 5).unwrap();
        drop(state);
        let (mut state, found) = ScanState::open(&path, identity("copy")).unwrap();
        assert_eq!(
            (found.position, found.items, found.doubtful),
            (Some(json!(["end"])), 25, 11_000)
        );
        state.end().unwrap();
        drop(state);
        let (_, found) = ScanState::open(&path, identity("copy")).unwrap();
        assert_eq!((found.items, found.doubtful), (25, 0));
    }

    #[test]
    fn another_delivery_another_file_and_a_journal_in_use_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let refused = |destination: &str| ScanState::open(&path, identity(destination)).unwrap_err().to_string();
        let state = ScanState::open(&path, identity("copy")).unwrap();
        assert!(refused("copy").contains("is in use"));
        drop(state);
        assert!(refused("other").contains("the destination was copy, and is other"));
        std::fs::write(&path, "{}\n").unwrap();
        assert!(refused("copy").contains("is no journal of a table"));
    }
}
