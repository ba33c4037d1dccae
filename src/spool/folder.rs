//! The folder of a spool, for programs that do not know the type of its entries.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::clock::time;
use super::error::SpoolError;
use super::report::SpoolFigures;
use super::store::{self, EntryKind, Salvage, Store, StoredEntry};
use crate::debug::debug_fields;

/// The most entries that are taken out of a damaged folder at a time.
const KEPT_AT_A_TIME: usize = 1_000;

/// The bytes of entries that are read at a time, unless the first has more.
const BYTES: usize = 4 << 20;

/// The folder of a spool whose entries are not delivered at the moment, for programs that do not know the type of its entries: to
/// inspect it, and to move entries elsewhere.
///
/// ```no_run
/// # use aws_batch_delivery::spool::{SpoolError, SpoolFolder};
/// # fn keep(json: &[u8]) {}
/// # fn main() -> Result<(), SpoolError> {
/// let mut folder = SpoolFolder::open("/var/lib/orders")?;
/// while let Some(last) = {
///     let refused = folder.refused(1_000)?;
///     refused.iter().for_each(|entry| keep(&entry.json));
///     refused.last().cloned()
/// } {
///     folder.remove_until(&last)?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// The functions read and write files, and block.
#[derive(Debug)]
pub struct SpoolFolder {
    store: Store,
}

/// An entry of a spool.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpooledEntry {
    /// Its number, from 0 for the first one of the folder. Later entries have larger ones.
    pub number: u64,
    /// When it was submitted.
    pub spooled_at: SystemTime,
    /// The JSON of the value.
    pub json: Vec<u8>,
    /// Why it was refused, if it was.
    pub cause: Option<String>,
}

/// What was taken out of a damaged folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvaged {
    /// Entries that are to be delivered.
    pub entries: u64,
    /// Entries that were refused for good.
    pub refused: u64,
    /// Entries of both kinds that cannot be read.
    pub lost: u64,
    /// Whether some of the entries may have been delivered or taken out before, and lost ones are not all counted: the file no longer
    /// says which entries were removed.
    pub may_have_been_delivered: bool,
    /// Where the damaged file is.
    pub aside: PathBuf,
}

impl Salvaged {
    fn count(&mut self, kind: EntryKind, entries: usize) {
        match kind {
            EntryKind::Waiting => self.entries += entries as u64,
            EntryKind::Refused => self.refused += entries as u64,
        }
    }
}

impl SpoolFolder {
    /// Opens the folder of a spool for this process alone.
    ///
    /// # Errors
    /// When there is no spool in it, when it is in use, and when it cannot be read.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, SpoolError> {
        let folder = known(folder.as_ref())?;
        Ok(Self {
            store: Store::open(&folder)?,
        })
    }

    /// What is in a folder, which may be in use: then it takes the right to write in it, as SQLite needs to share a file.
    ///
    /// # Errors
    /// When there is no spool in it, and when it cannot be read.
    pub fn inspect(folder: impl AsRef<Path>) -> Result<SpoolFigures, SpoolError> {
        let folder = known(folder.as_ref())?;
        let (totals, first) = store::inspect(&folder)?;
        Ok(SpoolFigures::of(totals, first))
    }

    /// The first entries that are to be delivered, in their order: at most this many, and 4 MiB of them.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn entries(&self, at_most: usize) -> Result<Vec<SpooledEntry>, SpoolError> {
        self.look(EntryKind::Waiting, at_most)
    }

    /// The first entries that were refused for good, in the order in which they were submitted: at most this many, and 4 MiB of them.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn refused(&self, at_most: usize) -> Result<Vec<SpooledEntry>, SpoolError> {
        self.look(EntryKind::Refused, at_most)
    }

    /// Removes this entry and all before it: of those that are to be delivered, or of those that were refused for good if it is one of
    /// them. They are removed when it returns, also after a loss of power.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn remove_until(&mut self, last: &SpooledEntry) -> Result<(), SpoolError> {
        let kind = if last.cause.is_some() {
            EntryKind::Refused
        } else {
            EntryKind::Waiting
        };
        self.store.remove(kind, last.number.saturating_add(1)).map(drop)
    }

    /// Gives the space of removed entries back to the file system, as far as it can be, and closes the folder. A large file takes 18 s
    /// for each GiB. A folder that is dropped instead is closed as well, and its file stays large.
    ///
    /// # Errors
    /// When the folder cannot be closed.
    pub fn close(mut self) -> Result<(), SpoolError> {
        // A file that stays large, because a full disk has no space for the change, loses nothing.
        while self.store.shrink().is_ok_and(|may_be_more| may_be_more) {}
        self.store.close()
    }

    /// Takes out what can be read of a folder that is [damaged](SpoolError::Damaged): gives `keep` the entries that are to be delivered and
    /// those that were refused, of each kind in their order, some hundreds at a time. Then puts the damaged file aside in the folder, as
    /// `spool.sqlite3.damaged` and with its log, so that the next spool begins with an empty one. After an error it stays, and the next
    /// call gives all entries again.
    ///
    /// Each entry has a checksum, so those that are given are as they were submitted. Those that are lost are counted as far as
    /// they can be.
    ///
    /// # Errors
    /// When there is no spool in the folder, or one of a [format](SpoolError::Unknown) that this version does not know; when it is in use;
    /// when it cannot be read for another reason than damage, such as a full disk; and those of `keep`.
    pub fn salvage<E: From<SpoolError>>(
        folder: impl AsRef<Path>,
        mut keep: impl FnMut(&[SpooledEntry]) -> Result<(), E>,
    ) -> Result<Salvaged, E> {
        let folder = known(folder.as_ref())?;
        let mut salvage = Salvage::open(&folder)?;
        let mut salvaged = Salvaged::default();
        for kind in [EntryKind::Waiting, EntryKind::Refused] {
            let mut kept = Vec::new();
            let mut bytes = 0;
            let storage = |error| SpoolError::storage(&folder, error);
            let before = salvaged.entries + salvaged.refused;
            for number in salvage.numbers(kind).map_err(storage)? {
                let entry = salvage.entry(kind, number).map_err(storage)?;
                let Some(entry) = entry.map(SpooledEntry::of) else {
                    continue;
                };
                bytes += entry.json.len();
                kept.push(entry);
                if kept.len() >= KEPT_AT_A_TIME || bytes >= BYTES {
                    keep(&kept)?;
                    salvaged.count(kind, kept.drain(..).len());
                    bytes = 0;
                }
            }
            if !kept.is_empty() {
                keep(&kept)?;
                salvaged.count(kind, kept.len());
            }
            let taken = salvaged.entries + salvaged.refused - before;
            salvaged.lost += salvage
                .expected(kind)
                .map_or(0, |expected| expected.saturating_sub(taken));
        }
        salvaged.may_have_been_delivered = !salvage.knows_removed();
        salvaged.aside = salvage.put_aside()?;
        Ok(salvaged)
    }

    fn look(&self, kind: EntryKind, at_most: usize) -> Result<Vec<SpooledEntry>, SpoolError> {
        let stored = self.store.look(kind, at_most, BYTES)?;
        Ok(stored.into_iter().map(SpooledEntry::of).collect())
    }
}

impl SpooledEntry {
    fn of(stored: StoredEntry) -> Self {
        Self {
            number: stored.number,
            spooled_at: time(stored.spooled_at),
            json: stored.json,
            cause: stored.cause,
        }
    }
}

debug_fields!(SpooledEntry, number, spooled_at, cause);

/// The folder, if there is a spool in it: to look for one creates none.
fn known(folder: &Path) -> Result<PathBuf, SpoolError> {
    if store::is_there(folder) {
        return Ok(folder.to_owned());
    }
    Err(SpoolError::Unknown {
        folder: folder.to_owned(),
    })
}

#[cfg(test)]
mod tests;
