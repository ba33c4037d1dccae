//! The entries on disk, in order.
//!
//! A file of SQLite with a write-ahead log. Each change is one transaction: after a kill or a loss of power it is there or not, and what
//! a torn write has left in the log is recognized by its checksum and ignored. A full disk fails the transaction alone. Removed entries
//! leave pages that later ones use, so the file grows no further than its entries, and the pages at its end go back to the file system.
//!
//! Of the others, `fjall` 3.1.13 does not open a folder whose last batch has lost a page within a value, as an unfinished write of the
//! device leaves it, keeps 64 MiB of journal, and takes no more writes after one has failed; `redb` 4.6 loses what is not synced when
//! the process is killed; `okaywal` and `yaque` have not been released since 2023.

mod change;
mod database;
mod rows;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

pub(super) use self::change::{Change, NewEntry, Refusal};
pub(super) use self::database::Totals;
use self::database::{FILE, known_totals, log, open, open_or_create, open_unchanging};
pub(super) use self::rows::{Kind, StoredEntry, cost};
use self::rows::{first, length, read, removed, signed, unsigned};
use super::error::SpoolError;
use super::location::{FolderLock, Location};
use super::reserve::Reserve;

/// Free pages that are kept for later entries, 4 MiB.
const SPARE_PAGES: i64 = 1_024;

/// Pages that are given back to the file system at a time.
const GIVEN_BACK: i64 = 1_024;

/// How long a close gives pages back. A large file takes 18 s for each GiB; later writes go on with it.
const SHRINKS_FOR: Duration = Duration::from_millis(300);

/// The only connection that writes to the file.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    connection: Connection,
    totals: Totals,
    /// The first entry that was never read.
    unread: u64,
    /// Whether a commit waits for the device.
    is_durable: bool,
    /// Whether a sync of the log has failed. Another one may then say that all is well of what the device never had.
    is_doubtful: bool,
    reserve: Reserve,
    _lock: FolderLock,
}

impl Store {
    /// Opens the folder, or creates it.
    pub(super) fn open(folder: &Path) -> Result<Self, SpoolError> {
        let location = Location::create(folder).map_err(|error| SpoolError::storage(folder, error))?;
        let lock = location.lock()?;
        let folder = location.folder().to_owned();
        let mut opened = open_or_create(&folder);
        if opened.as_ref().is_err_and(is_without_space) && Reserve::release_old(&folder) {
            opened = open_or_create(&folder);
        }
        let connection = opened.map_err(|error| failure(&folder, error))?;
        let totals = known_totals(&folder, &connection)?;
        // Not before it is known that no other program uses the folder.
        let reserve = Reserve::of(&folder);
        // The names of the new files and folders.
        location.sync().map_err(|error| SpoolError::storage(&folder, error))?;
        let first = first(&connection).map_err(|error| failure(&folder, error))?;
        Ok(Self {
            folder,
            connection,
            totals,
            unread: first.map_or(totals.next, |(number, _)| number),
            is_durable: false,
            is_doubtful: false,
            reserve,
            _lock: lock,
        })
    }

    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    /// The number of the first entry, and when it was spooled.
    pub(super) fn first(&self) -> Result<Option<(u64, i64)>, SpoolError> {
        first(&self.connection).map_err(|error| self.failure(error))
    }

    /// Makes the changes. If it is `durable`, they survive a loss of power when it returns. After an error there is none of the new
    /// entries; others may have been moved or removed, and are so no more when it is tried again.
    ///
    /// New entries need the reserve; changes without them may use its space.
    pub(super) fn apply(&mut self, change: &Change, durable: bool) -> Result<Totals, SpoolError> {
        if !change.new.is_empty() {
            let made = self.reserve.make();
            made.map_err(|error| SpoolError::storage(&self.folder, error))?;
        }
        let mut refusals: Vec<_> = change.refusals.iter().collect();
        refusals.sort_unstable_by_key(|refusal| refusal.number);
        let mut left = &*refusals;
        loop {
            let apply = |store: &mut Self| {
                store.make_durable(durable)?;
                store.in_transaction(|transaction, totals| change.made(transaction, totals, left))
            };
            let moved = if change.new.is_empty() {
                self.with_reserve(apply)?
            } else {
                apply(self).map_err(|error| self.failure(error))?
            };
            left = &left[moved..];
            if left.is_empty() {
                return Ok(self.totals);
            }
        }
    }

    /// Does what needs space to remove something. If the disk has none, it may use that of the reserve.
    fn with_reserve<R>(&mut self, act: impl Fn(&mut Self) -> rusqlite::Result<R>) -> Result<R, SpoolError> {
        let mut done = act(self);
        if done.as_ref().is_err_and(is_without_space) && self.reserve.release() {
            done = act(self);
        }
        done.map_err(|error| self.failure(error))
    }

    /// Entries from this number on and before `end`, at most so many, and no more than these bytes unless the first has more.
    pub(super) fn read(
        &mut self,
        from: u64,
        end: u64,
        entries: usize,
        bytes: usize,
    ) -> Result<Vec<StoredEntry>, SpoolError> {
        let read = read(&self.connection, Kind::Waiting, from, end, entries, bytes);
        let read = read.map_err(|error| self.failure(error))?;
        if let Some(last) = read.last() {
            self.unread = self.unread.max(last.number + 1);
        }
        Ok(read)
    }

    /// The same of entries of one kind, which count as read no more than before.
    pub(super) fn look(
        &self,
        kind: Kind,
        from: u64,
        entries: usize,
        bytes: usize,
    ) -> Result<Vec<StoredEntry>, SpoolError> {
        let read = read(&self.connection, kind, from, u64::MAX, entries, bytes);
        read.map_err(|error| self.failure(error))
    }

    /// Removes the oldest entries that were not read, until they free these bytes or none is left. Returns their number.
    pub(super) fn drop_oldest(&mut self, bytes: u64) -> Result<u64, SpoolError> {
        let unread = self.unread;
        self.with_reserve(|store| {
            store.in_transaction(|transaction, totals| {
                let (mut end, mut freed) = (unread, 0);
                {
                    let mut oldest = transaction.prepare(
                        "SELECT number, octet_length(entry) FROM entries WHERE number >= ?1 ORDER BY number",
                    )?;
                    let mut rows = oldest.query([signed(unread)])?;
                    while freed < bytes
                        && let Some(row) = rows.next()?
                    {
                        end = unsigned(row.get(0)?) + 1;
                        freed += cost(length(row.get(1)?));
                    }
                }
                let dropped = transaction.execute(
                    "DELETE FROM entries WHERE number >= ?1 AND number < ?2",
                    [signed(unread), signed(end)],
                )?;
                totals.entries = totals.entries.saturating_sub(dropped as u64);
                totals.bytes = totals.bytes.saturating_sub(freed);
                Ok(dropped as u64)
            })
        })
    }

    /// Removes the entries of one kind before this number.
    pub(super) fn remove(&mut self, kind: Kind, until: u64) -> Result<Totals, SpoolError> {
        self.with_reserve(|store| {
            store.make_durable(true)?;
            store.in_transaction(|transaction, totals| {
                let (removed, bytes) = removed(transaction, kind, 0..until)?;
                let count = match kind {
                    Kind::Waiting => &mut totals.entries,
                    Kind::Refused => &mut totals.refused,
                };
                *count = count.saturating_sub(removed);
                totals.bytes = totals.bytes.saturating_sub(bytes);
                Ok(())
            })
        })?;
        Ok(self.totals)
    }

    /// Gives free pages back to the file system, if they are many. Returns whether there may be more.
    pub(super) fn shrink(&mut self) -> Result<bool, SpoolError> {
        let shrink = || {
            let free: i64 = self
                .connection
                .query_row("PRAGMA freelist_count", [], |row| row.get(0))?;
            let more = free - SPARE_PAGES;
            if more <= 0 {
                return Ok(false);
            }
            let pages = more.min(GIVEN_BACK);
            let mut vacuum = self
                .connection
                .prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
            let mut steps = vacuum.query([])?;
            while steps.next()?.is_some() {}
            Ok(more > pages)
        };
        shrink().map_err(|error| failure(&self.folder, error))
    }

    /// Asks the device for all that was written.
    pub(super) fn sync(&mut self) -> Result<(), SpoolError> {
        match self.log_to_sync()? {
            Some(log) => self.synced(log.sync_data()),
            None => Ok(()),
        }
    }

    /// The log of changes, to be synced while others are made, after which [`synced`](Self::synced) has the result. `None` if all that
    /// was written has been synced now in another way.
    pub(super) fn log_to_sync(&mut self) -> Result<Option<File>, SpoolError> {
        if self.is_doubtful {
            self.checkpoint()?;
            self.is_doubtful = false;
            return Ok(None);
        }
        let log = File::options().write(true).open(log(&self.folder, &self.connection));
        log.map(Some).map_err(|error| SpoolError::storage(&self.folder, error))
    }

    /// The result of a sync of the log.
    pub(super) fn synced(&mut self, synced: io::Result<()>) -> Result<(), SpoolError> {
        self.is_doubtful |= synced.is_err();
        synced.map_err(|error| SpoolError::storage(&self.folder, error))
    }

    /// Moves all that is in the log into the file, and asks the device for that. The log begins anew, without what the device may not have.
    fn checkpoint(&self) -> Result<(), SpoolError> {
        let is_held_up = self
            .connection
            .query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get::<_, bool>(0));
        if is_held_up.map_err(|error| self.failure(error))? {
            let error = io::Error::other("another process looks into it");
            return Err(SpoolError::storage(&self.folder, error));
        }
        Ok(())
    }

    /// Closes the file, after it was made somewhat smaller if it has many free pages. It has no log then.
    pub(super) fn close(mut self) -> Result<(), SpoolError> {
        self.reserve.release();
        self.make_durable(true).map_err(|error| self.failure(error))?;
        let began = Instant::now();
        // A file that stays large loses nothing.
        while began.elapsed() < SHRINKS_FOR && self.shrink().is_ok_and(|may_be_more| may_be_more) {}
        let folder = self.folder;
        self.connection.close().map_err(|(_, error)| failure(&folder, error))
    }

    /// Whether commits wait for the device from now on.
    fn make_durable(&mut self, durable: bool) -> rusqlite::Result<()> {
        if self.is_durable != durable {
            let level = if durable { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level)?;
            self.is_durable = durable;
        }
        Ok(())
    }

    /// The level of durability as SQLite has it.
    #[cfg(test)]
    pub(super) fn synchronous(&self) -> i64 {
        let level = self.connection.query_row("PRAGMA synchronous", [], |row| row.get(0));
        level.unwrap()
    }

    /// The file takes no more pages than these, as on a full disk, or than it has.
    #[cfg(test)]
    pub(super) fn limit_pages(&self, pages: i64) -> Result<(), SpoolError> {
        let limit = format!("PRAGMA max_page_count = {pages}");
        let limited = self.connection.query_row(&limit, [], |_| Ok(()));
        limited.map_err(|error| self.failure(error))
    }

    /// From now on each change fails, or none does any more.
    #[cfg(test)]
    pub(super) fn set_writable(&self, is_writable: bool) -> Result<(), SpoolError> {
        let set = self.connection.pragma_update(None, "query_only", !is_writable);
        set.map_err(|error| self.failure(error))
    }

    /// Makes changes and counts them, all or none.
    fn in_transaction<R>(
        &mut self,
        change: impl FnOnce(&Transaction<'_>, &mut Totals) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<R> {
        let mut totals = self.totals;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = change(&transaction, &mut totals)?;
        transaction.execute(
            "UPDATE totals SET next = ?1, entries = ?2, refused = ?3, bytes = ?4",
            [totals.next, totals.entries, totals.refused, totals.bytes].map(signed),
        )?;
        transaction.commit()?;
        self.totals = totals;
        Ok(result)
    }

    fn failure(&self, error: rusqlite::Error) -> SpoolError {
        failure(&self.folder, error)
    }
}

/// Looks into a folder that may be in use.
pub(super) fn inspect(folder: &Path) -> Result<(Totals, Option<(u64, i64)>), SpoolError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let look = |connection: &Connection| {
        let totals = known_totals(folder, connection)?;
        let first = first(connection).map_err(|error| failure(folder, error))?;
        Ok((totals, first))
    };
    let connection = open(folder, flags).map_err(|error| failure(folder, error))?;
    match look(&connection) {
        // To share a file takes the right to write beside it. One that no process has open has nothing in a log, and does not change.
        Err(SpoolError::Storage { .. }) if fs::metadata(log(folder, &connection)).map_or(0, |log| log.len()) == 0 => {
            let connection = open_unchanging(folder, flags).map_err(|error| failure(folder, error))?;
            look(&connection)
        }
        looked => looked,
    }
}

/// Whether there is a spool in the folder.
pub(super) fn is_there(folder: &Path) -> bool {
    folder.join(FILE).is_file()
}

/// Whether the disk may be full. Some file systems have an I/O error then.
fn is_without_space(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    code.is_some_and(|code| matches!(code, ErrorCode::DiskFull | ErrorCode::SystemIoFailure))
}

fn failure(folder: &Path, error: rusqlite::Error) -> SpoolError {
    SpoolError::storage(folder, error)
}

#[cfg(test)]
mod tests;
