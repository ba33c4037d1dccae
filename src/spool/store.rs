//! The entries on disk, in order.
//!
//! A file of SQLite with a write-ahead log. Each change is one transaction: after a kill or a loss of power it is there or not, and what
//! a torn write has left in the log is recognized by its checksum and ignored. A full disk fails the transaction alone. Removed entries
//! leave pages that later ones use, so the file grows no further than its entries, and its last pages go back to the file system.
//!
//! Of the others, `fjall` 3.1.13 does not open a folder whose last batch has lost a page within a value, as an unfinished write of the
//! device leaves it, keeps 64 MiB of journal, and takes no more writes after one has failed; `redb` 4.6 loses what is not synced when
//! the process is killed; `okaywal` and `yaque` have not been released since 2023.

mod cells;
mod change;
mod database;
mod doubts;
mod failure;
mod files;
mod gaps;
mod pages;
mod reading;
mod rows;
mod salvage;
mod syncing;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

pub(super) use self::change::{Change, NewEntry, Refusal};
use self::change::{ChangeError, remove_until};
pub(super) use self::database::Totals;
use self::database::{
    FILE, Spool, is_emptied, known_totals, log, open, open_or_create, open_unchanging, shared, spool,
};
use self::failure::{damaged, failure, is_without_space};
use self::files::Files;
pub(super) use self::rows::{EntryKind, StoredEntry, cost};
use self::rows::{first, is_damage, length, removed, signed, unsigned};
pub(super) use self::salvage::Salvage;
use super::error::SpoolError;
use super::location::{FolderLock, Location};
use super::reserve::Reserve;

/// Free pages that are kept for later entries, 4 MiB.
const SPARE_PAGES: i64 = 1_024;

/// Pages that are given back to the file system at a time.
const GIVEN_BACK: i64 = 1_024;

/// How long a close gives pages back. A large file takes 18 s for each GiB; later writes continue it.
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
    spool: Spool,
    files: Files,
    /// What is wrong with the file. Then it takes no more entries, and none is read beyond that.
    damage: Option<String>,
    reserve: Reserve,
    _lock: FolderLock,
    /// Whether each sync fails.
    #[cfg(test)]
    fails_to_sync: bool,
}

/// Entries that were read.
#[derive(Debug)]
pub(super) struct ReadEntries {
    pub(super) entries: Vec<StoredEntry>,
    /// Numbers between them whose entries were removed before.
    pub(super) gaps: Vec<Range<u64>>,
    /// These are all entries before this number.
    pub(super) end: u64,
}

impl Store {
    /// Opens the folder, or creates it.
    pub(super) fn open(folder: &Path) -> Result<Self, SpoolError> {
        let location = Location::create(folder).map_err(|error| SpoolError::storage(folder, error))?;
        let lock = location.lock()?;
        let folder = location.folder().to_owned();
        not_emptied(&folder)?;
        location.create_private(FILE);
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
        let spool = spool(&connection).map_err(|error| failure(&folder, error))?;
        let files = [folder.join(FILE), log(&folder, &connection)];
        let shared = shared(&folder, &connection);
        location.keep_private(&[&*files[0], &*files[1], &*shared]);
        Ok(Self {
            files: Files::of(files),
            folder,
            connection,
            totals,
            unread: totals.first,
            is_durable: false,
            is_doubtful: false,
            spool,
            damage: None,
            reserve,
            _lock: lock,
            #[cfg(test)]
            fails_to_sync: false,
        })
    }

    /// By what its entries are distinguished from those of other spools.
    pub(super) fn id(&self) -> u128 {
        self.spool.id
    }

    /// Its entries are for this destination from now on.
    ///
    /// # Errors
    /// When it has entries for another one, unless that `may_change`.
    pub(super) fn set_destination(&mut self, destination: &str, may_change: bool) -> Result<(), SpoolError> {
        let before = self.spool.destination.as_deref();
        if before == Some(destination) {
            return Ok(());
        }
        if let Some(before) = before
            && !may_change
            && self.totals.entries + self.totals.refused > 0
        {
            return Err(SpoolError::OtherDestination {
                folder: self.folder.clone(),
                of: before.to_owned(),
                destination: destination.to_owned(),
            });
        }
        self.with_reserve(|store| {
            store.make_durable(true)?;
            let set = store
                .connection
                .execute("UPDATE spool SET destination = ?1", [destination]);
            set.map(drop).map_err(ChangeError::from)
        })?;
        self.spool.destination = Some(destination.to_owned());
        Ok(())
    }

    /// Which entries may have been delivered, and since when, in milliseconds since 1970.
    pub(super) fn doubts(&self) -> Result<Vec<(u64, i64)>, SpoolError> {
        doubts::all(&self.connection).map_err(|error| self.failure(error))
    }

    /// What is wrong with the file, if something is.
    pub(super) fn damage(&self) -> Result<(), SpoolError> {
        match &self.damage {
            Some(damage) => Err(damaged(&self.folder, damage)),
            None => Ok(()),
        }
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
    /// New entries need the reserve; changes without them may use its space. They also need a file that is not damaged and still in its
    /// folder, and a device that has answered the last sync.
    pub(super) fn apply(&mut self, change: &Change, durable: bool) -> Result<Totals, SpoolError> {
        let has_new = !change.new.is_empty();
        if has_new {
            self.damage()?;
            self.is_in_place()?;
            let made = self.reserve.make();
            made.map_err(|error| SpoolError::storage(&self.folder, error))?;
            if self.is_doubtful {
                self.sync()?;
            }
        }
        let mut refusals: Vec<_> = change.refusals.iter().collect();
        refusals.sort_unstable_by_key(|refusal| refusal.number);
        let mut left = &*refusals;
        loop {
            let apply = |store: &mut Self| {
                store.make_durable(durable)?;
                store.in_transaction(|transaction, totals| change.made(transaction, totals, left))
            };
            let moved = if has_new {
                apply(self).map_err(|wrong| self.wrong(wrong))?
            } else {
                self.with_reserve(apply)?
            };
            left = &left[moved..];
            if left.is_empty() {
                break;
            }
        }
        if has_new {
            self.is_in_place()?;
        }
        Ok(self.totals)
    }

    /// Whether the open files are those of the folder.
    fn is_in_place(&self) -> Result<(), SpoolError> {
        let are_there = self.files.are_there();
        are_there.map_err(|error| SpoolError::storage(&self.folder, error))
    }

    /// Does what needs space to remove something. If the disk has none, it may use that of the reserve.
    fn with_reserve<R>(&mut self, act: impl Fn(&mut Self) -> Result<R, ChangeError>) -> Result<R, SpoolError> {
        let mut done = act(self);
        if matches!(&done, Err(ChangeError::Database(error)) if is_without_space(error)) && self.reserve.release() {
            done = act(self);
        }
        done.map_err(|wrong| self.wrong(wrong))
    }

    /// Removes the oldest entries that nothing waits for, until they free these bytes or none is left: first those that were refused, then
    /// those that were not read. Returns their number.
    pub(super) fn drop_oldest(&mut self, bytes: u64) -> Result<u64, SpoolError> {
        let unread = self.unread;
        self.with_reserve(|store| {
            store.in_transaction(|transaction, totals| {
                let refused = "SELECT number, octet_length(entry) + octet_length(cause) FROM refused WHERE number >= ?1 ORDER BY number";
                let (end, of_refused) = oldest(transaction, refused, 0, bytes)?;
                let (refused, freed) = removed(transaction, EntryKind::Refused, 0..end)?;
                totals.refused = totals.refused.saturating_sub(refused);
                totals.bytes = totals.bytes.saturating_sub(freed);
                let waiting = "SELECT number, octet_length(entry) FROM entries WHERE number >= ?1 ORDER BY number";
                let (end, _) = oldest(transaction, waiting, unread, bytes.saturating_sub(of_refused))?;
                let (dropped, freed) = removed(transaction, EntryKind::Waiting, unread..end)?;
                if end > unread {
                    gaps::add(transaction, &(unread..end))?;
                }
                totals.entries = totals.entries.saturating_sub(dropped);
                totals.bytes = totals.bytes.saturating_sub(freed);
                Ok(refused + dropped)
            })
        })
    }

    /// Removes the entries of one kind before this number.
    pub(super) fn remove(&mut self, kind: EntryKind, until: u64) -> Result<Totals, SpoolError> {
        self.with_reserve(|store| {
            store.make_durable(true)?;
            store.in_transaction(|transaction, totals| {
                if kind == EntryKind::Waiting {
                    return remove_until(transaction, totals, until);
                }
                let (removed, bytes) = removed(transaction, kind, 0..until)?;
                totals.refused = totals.refused.saturating_sub(removed);
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

    /// Closes the file, after it was made somewhat smaller if it has many free pages. It has no log then.
    ///
    /// # Errors
    /// When it is damaged, is no longer in its folder, or could not be closed.
    pub(super) fn close(mut self) -> Result<(), SpoolError> {
        let state = self.damage().and_then(|()| self.is_in_place());
        self.reserve.release();
        self.make_durable(true).map_err(|error| self.failure(error))?;
        let began = Instant::now();
        // A file that stays large loses nothing.
        while began.elapsed() < SHRINKS_FOR && self.shrink().is_ok_and(|may_be_more| may_be_more) {}
        let folder = self.folder;
        state.and(self.connection.close().map_err(|(_, error)| failure(&folder, error)))
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

    /// From now on each sync fails, or none does.
    #[cfg(test)]
    pub(super) fn set_fails_to_sync(&mut self, fails: bool) {
        self.fails_to_sync = fails;
    }

    /// From now on each change fails, or none does.
    #[cfg(test)]
    pub(super) fn set_writable(&self, is_writable: bool) -> Result<(), SpoolError> {
        let set = self.connection.pragma_update(None, "query_only", !is_writable);
        set.map_err(|error| self.failure(error))
    }

    /// Makes changes and counts them, all or none.
    fn in_transaction<R>(
        &mut self,
        change: impl FnOnce(&Transaction<'_>, &mut Totals) -> Result<R, ChangeError>,
    ) -> Result<R, ChangeError> {
        let mut totals = self.totals;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = change(&transaction, &mut totals)?;
        totals.written(&transaction)?;
        transaction.commit()?;
        self.totals = totals;
        Ok(result)
    }

    /// Remembers damage, and makes an error of it.
    fn wrong(&mut self, wrong: ChangeError) -> SpoolError {
        let damage = match wrong {
            ChangeError::Database(error) if !is_damage(&error) => return self.failure(error),
            ChangeError::Database(error) => error.to_string(),
            ChangeError::Damage(damage) => damage,
        };
        damaged(&self.folder, &*self.damage.get_or_insert(damage))
    }

    fn failure(&self, error: rusqlite::Error) -> SpoolError {
        failure(&self.folder, error)
    }
}

/// The number after the oldest entries that free these bytes, and what they free.
fn oldest(transaction: &Transaction<'_>, select: &str, from: u64, bytes: u64) -> rusqlite::Result<(u64, u64)> {
    let (mut end, mut freed) = (from, 0);
    let mut oldest = transaction.prepare(select)?;
    let mut rows = oldest.query([signed(from)])?;
    while freed < bytes
        && let Some(row) = rows.next()?
    {
        end = unsigned(row.get(0)?) + 1;
        freed += cost(length(row.get(1)?));
    }
    Ok((end, freed))
}

/// # Errors
/// When opening the file would remove what is left of the entries.
fn not_emptied(folder: &Path) -> Result<(), SpoolError> {
    if is_emptied(folder) {
        return Err(damaged(folder, "it is empty, but there is a log of its changes"));
    }
    Ok(())
}

/// Inspects a folder that may be in use.
pub(super) fn inspect(folder: &Path) -> Result<(Totals, Option<(u64, i64)>), SpoolError> {
    not_emptied(folder)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let look = |connection: &Connection| {
        let totals = known_totals(folder, connection)?;
        let first = first(connection).map_err(|error| failure(folder, error))?;
        Ok((totals, first))
    };
    let connection = open(folder, flags).map_err(|error| failure(folder, error))?;
    match look(&connection) {
        // To share a file takes the right to write next to it. One that no process has open has nothing in a log, and does not change.
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

#[cfg(test)]
mod tests;
