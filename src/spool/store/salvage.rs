//! What can be read of a file that is damaged.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::database::{FILE, Totals, is_known, open, totals, with_suffix};
use super::failure::{damaged, failure, is_without_space};
use super::gaps;
use super::pages::{CellPlaces, Pages};
use super::rows::{EntryKind, StoredEntry, is_damage, read, unsigned};
use crate::spool::error::SpoolError;
use crate::spool::location::{FolderLock, Location};
use crate::spool::reserve::Reserve;

/// What the file is called from then on.
const ASIDE: &str = "spool.sqlite3.damaged";

/// A file that is damaged. No other process uses it meanwhile, and it is not changed: nor is its log moved into it.
#[derive(Debug)]
pub(crate) struct Salvage {
    folder: PathBuf,
    /// `None` if the file is no longer a database.
    connection: Option<Connection>,
    totals: Option<Totals>,
    /// `None` if it is not known which entries were removed before earlier ones.
    gaps: Option<Vec<Range<u64>>>,
    /// The numbers of the refused entries, when they were asked for.
    refused: Option<BTreeSet<u64>>,
    /// Whether some of the refused entries may have been removed.
    has_stale: bool,
    /// Where entries are that the database does not find, when that was asked for.
    found: Option<CellPlaces>,
    pages: Pages,
    _lock: FolderLock,
}

impl Salvage {
    /// # Errors
    /// When the file is known to be none of a spool, and when the folder cannot be read for another reason than damage.
    pub(crate) fn open(folder: &Path) -> Result<Self, SpoolError> {
        let storage = |error| SpoolError::storage(folder, error);
        let location = Location::create(folder).map_err(storage)?;
        let lock = location.lock()?;
        let folder = location.folder().to_owned();
        let file = fs::canonicalize(folder.join(FILE)).map_err(storage)?;
        // SQLite removes the log of an empty file.
        let connection = match fs::metadata(&file).map_err(storage)?.len() {
            0 => None,
            _ => known(&folder)?,
        };
        let totals = connection
            .as_ref()
            .and_then(|connection| totals(connection).ok().flatten());
        let gaps = connection.as_ref().zip(totals);
        let gaps = gaps.and_then(|(connection, totals)| gaps::within(connection, &(totals.first..totals.next)).ok());
        let pages = Pages::open(&file, &with_suffix(&file, "-wal")).map_err(storage)?;
        Ok(Self {
            folder,
            connection,
            totals,
            gaps,
            refused: None,
            has_stale: false,
            found: None,
            pages,
            _lock: lock,
        })
    }

    /// The numbers that may have an entry of this kind.
    pub(crate) fn numbers(&mut self, kind: EntryKind) -> io::Result<Vec<u64>> {
        if kind == EntryKind::Refused {
            return Ok(self.refused()?.iter().copied().collect());
        }
        if let (Some(totals), Some(gaps)) = (self.totals, &self.gaps) {
            let is_gone = |number: &u64| gaps.iter().any(|gap| gap.contains(number));
            return Ok((totals.first..totals.next).filter(|number| !is_gone(number)).collect());
        }
        // The numbers of refused entries are gaps.
        let refused = self.refused()?.clone();
        let numbers: Vec<u64> = match self.totals {
            Some(totals) => (totals.first..totals.next).collect(),
            None => self
                .found()?
                .keys()
                .filter(|(refused, _)| !refused)
                .map(|(_, number)| *number)
                .collect(),
        };
        Ok(numbers.into_iter().filter(|number| !refused.contains(number)).collect())
    }

    /// The numbers of the refused entries. If some are missing, those that are found in the pages are among them, of which some may have
    /// been removed.
    fn refused(&mut self) -> io::Result<&BTreeSet<u64>> {
        let refused = if let Some(refused) = self.refused.take() {
            refused
        } else {
            let by_database = self.connection.as_ref().map(refused);
            let mut refused = by_database.and_then(Result::ok).unwrap_or_default();
            if self.totals.is_none_or(|totals| (refused.len() as u64) < totals.refused) {
                let known = refused.len();
                let found = self.found()?.keys().filter(|(refused, _)| *refused);
                refused.extend(found.map(|(_, number)| *number));
                self.has_stale |= refused.len() > known;
            }
            refused
        };
        Ok(self.refused.insert(refused))
    }

    /// How many entries of this kind there should be, if that is known.
    pub(crate) fn expected(&self, kind: EntryKind) -> Option<u64> {
        self.totals.map(|totals| match kind {
            EntryKind::Waiting => totals.entries,
            EntryKind::Refused => totals.refused,
        })
    }

    /// Whether it is known which entries were removed. Otherwise some of those that are found may have been delivered.
    pub(crate) fn knows_removed(&self) -> bool {
        self.totals.is_some() && self.gaps.is_some() && !self.has_stale
    }

    /// The entry of this kind with this number, if it is as it was written.
    pub(crate) fn entry(&mut self, kind: EntryKind, number: u64) -> io::Result<Option<StoredEntry>> {
        let by_database = self.connection.as_ref().and_then(|connection| {
            let read = read(connection, kind, number..number + 1, 1, usize::MAX).ok()?;
            read.entries.into_iter().next()
        });
        if by_database.is_some() {
            return Ok(by_database);
        }
        let place = self.found()?.get(&(kind == EntryKind::Refused, number)).copied();
        let entry = place.map_or(Ok(None), |place| self.pages.entry(place))?;
        Ok(entry.map(|entry| entry.of_kind(kind)))
    }

    fn found(&mut self) -> io::Result<&CellPlaces> {
        let found = match self.found.take() {
            Some(found) => found,
            None => self.pages.entries()?,
        };
        Ok(self.found.insert(found))
    }

    /// Puts the file aside with its log, so that the next spool of the folder begins with an empty one.
    pub(crate) fn put_aside(self) -> Result<PathBuf, SpoolError> {
        let Self { folder, connection, .. } = self;
        if let Some(connection) = connection {
            connection.close().map_err(|(_, error)| failure(&folder, error))?;
        }
        let aside = (1..1_000)
            .map(|number| match number {
                1 => folder.join(ASIDE),
                number => folder.join(format!("{ASIDE}.{number}")),
            })
            .find(|path| !path.exists() && !with_suffix(path, "-wal").exists());
        let aside = aside.ok_or_else(|| damaged(&folder, "there is no name for it"))?;
        let file = folder.join(FILE);
        let moved = fs::rename(&file, &aside);
        moved.map_err(|error| SpoolError::storage(&folder, error))?;
        // There may be none, and that of a file that is elsewhere by a link is there.
        let _ = fs::rename(with_suffix(&file, "-wal"), with_suffix(&aside, "-wal"));
        let _ = fs::remove_file(with_suffix(&file, "-shm"));
        Ok(aside)
    }
}

/// Opens the file of a folder. `None` if it is no longer a database.
fn known(folder: &Path) -> Result<Option<Connection>, SpoolError> {
    let open = || {
        let connection = open(folder, OpenFlags::default())?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        let is_known = is_known(&connection)?;
        Ok((connection, is_known))
    };
    let mut opened = open();
    // The index of the log takes space.
    if opened.as_ref().is_err_and(is_without_space) && Reserve::release_old(folder) {
        opened = open();
    }
    match opened {
        Ok((connection, true)) => Ok(Some(connection)),
        Ok((_, false)) => Err(SpoolError::Unknown {
            folder: folder.to_owned(),
        }),
        Err(error) if is_damage(&error) || error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => Ok(None),
        Err(error) => Err(SpoolError::storage(folder, error)),
    }
}

/// The numbers of the refused entries, as far as they can be read.
fn refused(connection: &Connection) -> rusqlite::Result<BTreeSet<u64>> {
    let mut select = connection.prepare("SELECT number FROM refused ORDER BY number")?;
    let numbers = select.query_map([], |row| row.get(0))?;
    Ok(numbers.map_while(Result::ok).map(unsigned).collect())
}
