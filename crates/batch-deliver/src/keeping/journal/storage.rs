//! Where a journal is: a file or an object that only this process writes.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::super::location::Location;
use super::Claim;
use super::content::WriterStamp;
use super::locked_file::LockedFile;
use super::owned::{OwnObject, StoredContent};
use crate::blocking::block_in_place;
use crate::connection::Connection;
use crate::console::Console;
use crate::outcome::Failure;

#[derive(Debug)]
pub(super) enum Storage {
    File { path: PathBuf, file: LockedFile },
    Object(Box<OwnObject>),
}

impl Storage {
    /// Opens the journal, or creates one. A journal of another delivery is an error, unless it may be replaced.
    pub(super) async fn open<J: StoredContent>(
        location: &Location,
        journal: &J,
        claim: Claim,
        connection: &Connection,
        console: &Console,
    ) -> Result<(Self, J::Found), Failure> {
        match location {
            Location::File(path) => block_in_place(|| Self::open_file(path, journal, claim, console)),
            Location::Object { bucket, key } => {
                let (object, found) = OwnObject::open(bucket, key, journal, claim, connection, console).await?;
                Ok((Self::Object(Box::new(object)), found))
            }
        }
    }

    fn open_file<J: StoredContent>(
        path: &Path,
        journal: &J,
        claim: Claim,
        console: &Console,
    ) -> Result<(Self, J::Found), Failure> {
        let name = path.display().to_string();
        let failed = |words, error| Failure::WrongUse(format!("the journal {name} cannot be {words}: {error}"));
        let unwritable = |error: io::Error| failed("written", error);
        let mut text = Vec::new();
        let (mut old, path) = LockedFile::open(path)?;
        old.read_to_end(&mut text).map_err(|error| failed("read", error))?;
        let found = journal.read(&name, &String::from_utf8_lossy(&text), claim, console);
        let found = claim.accepted(found, console)?;
        let text = journal.text(&found, None).map_err(|error| unwritable(error.into()))?;
        let file = LockedFile::replacing(&path, &text).map_err(unwritable)?;
        drop(old);
        Ok((Self::File { path, file }, found))
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// Replaces the whole text, to which an object adds which run has written it. A loss of power loses nothing of it.
    pub(super) async fn replace(
        &mut self,
        text: impl FnOnce(Option<WriterStamp>) -> serde_json::Result<Vec<u8>>,
    ) -> io::Result<()> {
        match self {
            Self::File { path, file } => {
                *file = block_in_place(|| LockedFile::replacing(path, &text(None)?))?;
                Ok(())
            }
            Self::Object(object) => object.put(|written| text(Some(written))).await,
        }
    }
}
