//! What was not delivered, in the form of its input so that it can be an input again: undelivered entries, and lines that could not
//! be read. The causes are written separately.

mod bad_lines;
mod files;
mod letter;
mod objects;
mod unit;

use std::io;
use std::path::Path;

pub(super) use self::bad_lines::BAD;
use self::bad_lines::BadLineFiles;
use self::files::LetterFiles;
pub(super) use self::files::causes_of;
pub(crate) use self::letter::{Letter, LettersWritten};
use self::objects::LetterObjects;
use super::append_file::AppendFile;
use super::group_sync::UnsyncedWrite;
use super::location::{Location, check_is_file};
use crate::connection::Connection;
use crate::outcome::Failure;
use crate::output::FileIdentity;

#[derive(Debug)]
pub(crate) enum DeadLetter {
    Files {
        entries: LetterFiles,
        bad_lines: BadLineFiles,
    },
    Objects {
        entries: LetterObjects,
        bad_lines: LetterObjects,
    },
}

/// A letter that was passed on, but may not be stored yet.
pub(crate) enum LetterReceipt {
    Written(UnsyncedWrite),
    Waiting(objects::PieceReceipt),
}

impl DeadLetter {
    /// Opens the place of the dead letters. Earlier ones stay. If they come back by one of these pipes, it is an error of a later write.
    pub(crate) async fn open(
        location: &Location,
        connection: &Connection,
        pipes: &[FileIdentity],
    ) -> Result<Self, Failure> {
        match location {
            Location::File(path) => {
                check_is_file(path)
                    .map_err(|words| Failure::WrongUse(format!("--dead-letter {}: {words}", path.display())))?;
                Ok(Self::Files {
                    entries: LetterFiles::open(path)?.recognizing(pipes),
                    bad_lines: BadLineFiles::open(path, pipes)?,
                })
            }
            Location::Object { bucket, key } => {
                let client = connection.bucket(bucket).await?;
                let folder = key.trim_end_matches('/');
                let bad_lines = if folder.is_empty() {
                    "bad".to_owned()
                } else {
                    format!("{folder}/bad")
                };
                Ok(Self::Objects {
                    bad_lines: LetterObjects::open(client.clone(), bucket, &bad_lines),
                    entries: LetterObjects::open(client, bucket, key),
                })
            }
        }
    }

    /// Whether there are dead letters of earlier runs. New ones are added to them.
    pub(crate) fn has_earlier_letters(&self) -> bool {
        match self {
            Self::Files { entries, .. } => entries.has_earlier_letters(),
            Self::Objects { .. } => false,
        }
    }

    /// Writes an undelivered entry. After the first error nothing more is written.
    pub(crate) async fn write(&self, letter: Letter) -> io::Result<LetterReceipt> {
        match self {
            Self::Files { entries, .. } => entries.write(letter).map(LetterReceipt::Written),
            Self::Objects { entries, .. } => Ok(LetterReceipt::Waiting(entries.write(letter).await)),
        }
    }

    /// Writes a line that could not be read. After the first error nothing more is written.
    pub(crate) async fn write_bad_line(&self, letter: Letter) -> io::Result<LetterReceipt> {
        match self {
            Self::Files { bad_lines, .. } => bad_lines.write(letter).map(LetterReceipt::Written),
            Self::Objects { bad_lines, .. } => Ok(LetterReceipt::Waiting(bad_lines.write(letter).await)),
        }
    }

    /// How many entries and how many bad lines were written. Called at the end of a delivery.
    pub(crate) fn close(&self) -> (LettersWritten, LettersWritten) {
        match self {
            Self::Files { entries, bad_lines } => (entries.close(), bad_lines.close()),
            Self::Objects { entries, bad_lines } => (entries.close(), bad_lines.close()),
        }
    }
}

impl LetterReceipt {
    /// Returns when the letter is stored.
    pub(crate) async fn stored(self) -> io::Result<()> {
        match self {
            Self::Written(unsynced) => unsynced.synced().await,
            Self::Waiting(storing) => storing.stored().await,
        }
    }
}

/// Checks that a file, if it is one of dead letters, ends with a whole one. It does not while a run writes it, or if that was killed.
pub(super) fn check_is_whole(path: &Path) -> Result<(), Failure> {
    let causes = causes_of(path);
    if !causes.is_file() || !path.is_file() {
        return Ok(());
    }
    let whole =
        AppendFile::read_only(path).and_then(|letters| unit::whole_letters(&letters, &AppendFile::read_only(&causes)?));
    match whole {
        Ok(Some(bytes)) => {
            let path = path.display();
            Err(Failure::WrongUse(format!(
                "{path} ends with a part of a dead letter, which a run is writing, or has left when it was killed: run that command again, \
                 or cut the file to {bytes} bytes"
            )))
        }
        // Reading it says what is wrong.
        Ok(None) | Err(_) => Ok(()),
    }
}
