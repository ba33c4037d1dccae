//! What can be read of a file that is damaged.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::database::{FILE, Totals, open, totals};
use super::rows::{Kind, StoredEntry, read, unsigned};
use super::{cells, damaged, failure, gaps};
use crate::spool::error::SpoolError;
use crate::spool::location::{FolderLock, Location};

/// Bytes of a page.
const PAGE: usize = 4_096;

/// What the file is called from then on.
const ASIDE: &str = "spool.sqlite3.damaged";

/// A file that is damaged. No other process uses it meanwhile.
#[derive(Debug)]
pub(crate) struct Salvage {
    folder: PathBuf,
    /// `None` if the file is none of a database any more.
    connection: Option<Connection>,
    totals: Option<Totals>,
    gaps: Vec<Range<u64>>,
    /// Where entries are that the database does not find, when that was asked for.
    cells: Option<BTreeMap<(bool, u64), u64>>,
    file: File,
    _lock: FolderLock,
}

impl Salvage {
    pub(crate) fn open(folder: &Path) -> Result<Self, SpoolError> {
        let storage = |error| SpoolError::storage(folder, error);
        let location = Location::create(folder).map_err(storage)?;
        let lock = location.lock()?;
        let folder = location.folder().to_owned();
        let connection = open(&folder, OpenFlags::default());
        let connection = connection.and_then(|connection| {
            // All that is in the log is in the file then.
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(connection)
        });
        let connection = connection.ok();
        let totals = connection
            .as_ref()
            .and_then(|connection| totals(connection).ok().flatten());
        let gaps = connection.as_ref().zip(totals);
        let gaps = gaps.and_then(|(connection, totals)| gaps::within(connection, &(totals.first..totals.next)).ok());
        let file = File::open(folder.join(FILE)).map_err(storage)?;
        Ok(Self {
            folder,
            connection,
            totals,
            gaps: gaps.unwrap_or_default(),
            cells: None,
            file,
            _lock: lock,
        })
    }

    /// The numbers that may have an entry of this kind.
    pub(crate) fn numbers(&mut self, kind: Kind) -> io::Result<Vec<u64>> {
        match (self.totals, &self.connection) {
            (Some(totals), _) if kind == Kind::Waiting => {
                let is_gone = |number: &u64| self.gaps.iter().any(|gap| gap.contains(number));
                Ok((totals.first..totals.next).filter(|number| !is_gone(number)).collect())
            }
            (Some(_), Some(connection)) => Ok(refused(connection).unwrap_or_default()),
            _ => {
                let is_refused = kind == Kind::Refused;
                let found = self.cells()?.keys().filter(|(refused, _)| *refused == is_refused);
                Ok(found.map(|(_, number)| *number).collect())
            }
        }
    }

    /// How many entries of this kind there should be, if that is known.
    pub(crate) fn expected(&self, kind: Kind) -> Option<u64> {
        self.totals.map(|totals| match kind {
            Kind::Waiting => totals.entries,
            Kind::Refused => totals.refused,
        })
    }

    /// Whether it is known which entries were removed. Otherwise some of those that are found may have been delivered.
    pub(crate) fn knows_removed(&self) -> bool {
        self.totals.is_some()
    }

    /// The entry of this kind with this number, if it is as it was written.
    pub(crate) fn entry(&mut self, kind: Kind, number: u64) -> io::Result<Option<StoredEntry>> {
        let by_database = self.connection.as_ref().and_then(|connection| {
            let read = read(connection, kind, number..number + 1, 1, usize::MAX).ok()?;
            read.entries.into_iter().next()
        });
        if by_database.is_some() || (kind == Kind::Refused && self.totals.is_some()) {
            return Ok(by_database);
        }
        let at = self.cells()?.get(&(kind == Kind::Refused, number)).copied();
        at.map_or(Ok(None), |at| cell(&mut self.file, at))
    }

    fn cells(&mut self) -> io::Result<&BTreeMap<(bool, u64), u64>> {
        let cells = match self.cells.take() {
            Some(cells) => cells,
            None => located(&mut self.file)?,
        };
        Ok(self.cells.insert(cells))
    }

    /// Puts the file aside, so that the next spool of the folder begins with an empty one.
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
            .find(|path| !path.exists());
        let aside = aside.ok_or_else(|| damaged(&folder, "there is no name for it"))?;
        let moved = fs::rename(folder.join(FILE), &aside);
        moved.map_err(|error| SpoolError::storage(&folder, error))?;
        for beside in ["-wal", "-shm"] {
            let _ = fs::remove_file(folder.join(format!("{FILE}{beside}")));
        }
        Ok(aside)
    }
}

/// The numbers of the refused entries, as far as they can be read.
fn refused(connection: &Connection) -> rusqlite::Result<Vec<u64>> {
    let mut select = connection.prepare("SELECT number FROM refused ORDER BY number")?;
    let numbers = select.query_map([], |row| row.get(0))?;
    Ok(numbers.map_while(Result::ok).map(unsigned).collect())
}

/// The places of everything in the file that is an entry, by whether it was refused and by its number.
fn located(file: &mut File) -> io::Result<BTreeMap<(bool, u64), u64>> {
    let mut cells = BTreeMap::new();
    let mut page = vec![0; PAGE];
    let mut start = 0;
    loop {
        page.fill(0);
        file.seek(SeekFrom::Start(start))?;
        let length = filled(file, &mut page)?;
        if length == 0 {
            return Ok(cells);
        }
        for place in 0..length {
            if let Some(found) = cells::entry(&page[place..length], |next| overflow(file, next)) {
                let at = start + place as u64;
                cells.insert((found.cause.is_some(), found.number), at);
            }
        }
        start += PAGE as u64;
    }
}

/// The entry at this place.
fn cell(file: &mut File, at: u64) -> io::Result<Option<StoredEntry>> {
    let mut page = vec![0; PAGE - usize::try_from(at % PAGE as u64).unwrap_or(0)];
    file.seek(SeekFrom::Start(at))?;
    let length = filled(file, &mut page)?;
    Ok(cells::entry(&page[..length], |next| overflow(file, next)))
}

/// The page with this number, from 1.
fn overflow(file: &mut File, number: u32) -> Option<Vec<u8>> {
    let start = u64::from(number.checked_sub(1)?) * PAGE as u64;
    let mut page = vec![0; PAGE];
    file.seek(SeekFrom::Start(start)).ok()?;
    file.read_exact(&mut page).ok()?;
    Some(page)
}

fn filled(file: &mut File, page: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < page.len() {
        match file.read(&mut page[length..])? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}
