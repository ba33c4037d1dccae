//! The file: its settings, its tables, and its version.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction};

use super::failure::{damaged, failure};
use super::gaps;
use super::rows::{signed, unsigned};
use crate::spool::error::SpoolError;

/// The file of the entries.
pub(super) const FILE: &str = "spool.sqlite3";

/// Distinguishes the file from other files of SQLite: `spol`.
const APPLICATION: i32 = 0x7370_6f6c;

/// The version of the tables.
const FORMAT: i32 = 2;

/// Before the tables: pages as large as those of memory and of file systems; a cache of 2 MiB; a log that is cut to 4 MiB after each
/// time that it was longer; on macOS a sync that reaches the device; removed entries that are not overwritten, which an SQLite of the system
/// may do by default; commits that do not wait for the device until they are to; and a look at the structure of each page that is read.
const SETTINGS: &str = "
    PRAGMA page_size = 4096;
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    PRAGMA journal_size_limit = 4194304;
    PRAGMA cache_size = -2048;
    PRAGMA fullfsync = ON;
    PRAGMA secure_delete = OFF;
    PRAGMA synchronous = NORMAL;
    PRAGMA cell_size_check = ON;
";

const TABLES: &str = "
    CREATE TABLE entries (
        number INTEGER PRIMARY KEY, spooled_at INTEGER NOT NULL, entry TEXT NOT NULL, form INTEGER NOT NULL, sum INTEGER NOT NULL);
    CREATE TABLE refused (
        number INTEGER PRIMARY KEY, spooled_at INTEGER NOT NULL, entry TEXT NOT NULL, form INTEGER NOT NULL, sum INTEGER NOT NULL,
        cause TEXT NOT NULL);
    CREATE TABLE gaps (start INTEGER PRIMARY KEY, end INTEGER NOT NULL);
    CREATE TABLE doubts (number INTEGER PRIMARY KEY, since INTEGER NOT NULL);
    CREATE TABLE totals (
        first INTEGER NOT NULL, next INTEGER NOT NULL, entries INTEGER NOT NULL, refused INTEGER NOT NULL, bytes INTEGER NOT NULL,
        sum INTEGER NOT NULL);
    CREATE TABLE spool (id BLOB NOT NULL, destination TEXT);
";

/// What is in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// All entries before this number were removed.
    pub(crate) first: u64,
    /// The number of the next entry.
    pub(crate) next: u64,
    pub(crate) entries: u64,
    pub(crate) refused: u64,
    /// What all of them take.
    pub(crate) bytes: u64,
}

impl Totals {
    /// The columns, with their checksum.
    fn row(self) -> [i64; 6] {
        let [first, next, entries, refused, bytes] =
            [self.first, self.next, self.entries, self.refused, self.bytes].map(signed);
        let mut hasher = crc32fast::Hasher::new();
        for field in [first, next, entries, refused, bytes] {
            hasher.update(&field.to_le_bytes());
        }
        [first, next, entries, refused, bytes, i64::from(hasher.finalize())]
    }

    /// Writes them to the file.
    pub(super) fn written(self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let update = "UPDATE totals SET first = ?1, next = ?2, entries = ?3, refused = ?4, bytes = ?5, sum = ?6";
        transaction.execute(update, self.row()).map(drop)
    }
}

/// By what the entries of the file are distinguished from those of others, and where they go.
#[derive(Debug, Clone)]
pub(super) struct Spool {
    pub(super) id: u128,
    pub(super) destination: Option<String>,
}

/// Opens the file of a folder.
pub(super) fn open(folder: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(folder.join(FILE), flags)?;
    // One that looks at the file holds up the one that writes, and the other way round, for moments.
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

/// Whether the file of a folder is empty next to a log with changes. SQLite treats an empty file as a new one, and removes its log.
pub(super) fn is_emptied(folder: &Path) -> bool {
    let Ok(file) = fs::canonicalize(folder.join(FILE)) else {
        return false;
    };
    let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    length(&file) == 0 && length(&with_suffix(&file, "-wal")) > 0
}

/// Opens the file of a folder, which does not change meanwhile.
pub(super) fn open_unchanging(folder: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let mut uri = "file:".to_owned();
    for byte in folder.join(FILE).as_os_str().as_encoded_bytes() {
        let _into_a_string = write!(uri, "%{byte:02X}");
    }
    uri.push_str("?immutable=1");
    Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
}

/// The log of changes that are not in the file yet. The file may be elsewhere by a symbolic link, and the log is next to it.
pub(super) fn log(folder: &Path, connection: &Connection) -> PathBuf {
    beside(folder, connection, "-wal")
}

/// The index of the log, which processes share.
pub(super) fn shared(folder: &Path, connection: &Connection) -> PathBuf {
    beside(folder, connection, "-shm")
}

fn beside(folder: &Path, connection: &Connection, suffix: &str) -> PathBuf {
    let file = connection.path().map_or_else(|| folder.join(FILE), PathBuf::from);
    with_suffix(&file, suffix)
}

pub(super) fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Opens the file of a folder to write to it, or creates it. A file of others is not changed.
pub(super) fn open_or_create(folder: &Path) -> rusqlite::Result<Connection> {
    let connection = open(folder, OpenFlags::default())?;
    let version = version(&connection)?;
    let is_empty = version == (0, 0) && schema_entries(&connection)? == 0;
    // The settings change a file, and one of others stays as it is.
    if is_empty || version == (APPLICATION, FORMAT) {
        connection.execute_batch(SETTINGS)?;
    }
    if is_empty {
        create(&connection)?;
    }
    Ok(connection)
}

fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};"
    ))?;
    connection.execute(
        "INSERT INTO totals VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        Totals::default().row(),
    )?;
    let id = rand::random::<u128>().to_le_bytes();
    connection.execute("INSERT INTO spool VALUES (?1, NULL)", [&id[..]])?;
    connection.execute_batch("COMMIT")
}

/// The application that the file belongs to, and the version of its tables.
fn version(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    let application = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok((application, version))
}

/// Whether the file is one of a spool, in the known format.
pub(super) fn is_known(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(version(connection)? == (APPLICATION, FORMAT))
}

fn schema_entries(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

/// The totals, if they are as they were written.
pub(super) fn totals(connection: &Connection) -> rusqlite::Result<Option<Totals>> {
    connection.query_row(
        "SELECT first, next, entries, refused, bytes, sum FROM totals",
        [],
        |row| {
            let totals = Totals {
                first: unsigned(row.get(0)?),
                next: unsigned(row.get(1)?),
                entries: unsigned(row.get(2)?),
                refused: unsigned(row.get(3)?),
                bytes: unsigned(row.get(4)?),
            };
            Ok((totals.row()[5] == row.get::<_, i64>(5)? && totals.first <= totals.next).then_some(totals))
        },
    )
}

/// The totals of a file of the known format.
pub(super) fn known_totals(folder: &Path, connection: &Connection) -> Result<Totals, SpoolError> {
    if !is_known(connection).map_err(|error| failure(folder, error))? {
        return Err(SpoolError::Unknown {
            folder: folder.to_owned(),
        });
    }
    let Some(totals) = totals(connection).map_err(|error| failure(folder, error))? else {
        return Err(damaged(
            folder,
            "the counts of its entries are not as they were written",
        ));
    };
    let expected = gaps::entries(connection, &(totals.first..totals.next)).map_err(|error| failure(folder, error))?;
    if expected != totals.entries {
        let words = format!("it has {} entries, and not {expected}", totals.entries);
        return Err(damaged(folder, &words));
    }
    Ok(totals)
}

/// By what the entries of a file are distinguished from those of others, and where they go.
pub(super) fn spool(connection: &Connection) -> rusqlite::Result<Spool> {
    connection.query_row("SELECT id, destination FROM spool", [], |row| {
        Ok(Spool {
            id: u128::from_le_bytes(row.get(0)?),
            destination: row.get(1)?,
        })
    })
}
