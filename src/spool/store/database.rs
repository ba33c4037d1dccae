//! The file: its settings, its tables, and its version.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::rows::unsigned;
use crate::spool::error::SpoolError;

/// The file of the entries.
pub(super) const FILE: &str = "spool.sqlite3";

/// Tells the file from other files of SQLite: `spol`.
const APPLICATION: i32 = 0x7370_6f6c;

/// The version of the tables.
const FORMAT: i32 = 1;

/// Before the tables: pages as large as those of memory and of file systems; a cache of 2 MiB; a log that is cut to 4 MiB after each
/// time that it was longer; on macOS a sync that reaches the device; removed entries that are not overwritten, which an SQLite of the system
/// may do by default; and commits that do not wait for the device until they are to.
const SETTINGS: &str = "
    PRAGMA page_size = 4096;
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    PRAGMA journal_size_limit = 4194304;
    PRAGMA cache_size = -2048;
    PRAGMA fullfsync = ON;
    PRAGMA secure_delete = OFF;
    PRAGMA synchronous = NORMAL;
";

const TABLES: &str = "
    CREATE TABLE entries (number INTEGER PRIMARY KEY, spooled_at INTEGER NOT NULL, entry TEXT NOT NULL);
    CREATE TABLE refused (number INTEGER PRIMARY KEY, spooled_at INTEGER NOT NULL, entry TEXT NOT NULL, cause TEXT NOT NULL);
    CREATE TABLE totals (next INTEGER NOT NULL, entries INTEGER NOT NULL, refused INTEGER NOT NULL, bytes INTEGER NOT NULL);
    INSERT INTO totals VALUES (0, 0, 0, 0);
";

/// What is in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// The number of the next entry.
    pub(crate) next: u64,
    pub(crate) entries: u64,
    pub(crate) refused: u64,
    /// What all of them take.
    pub(crate) bytes: u64,
}

/// Opens the file of a folder.
pub(super) fn open(folder: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(folder.join(FILE), flags)?;
    // One that looks at the file holds up the one that writes, and the other way round, for moments.
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
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

/// The log of changes that are not in the file yet. The file may be elsewhere by a symbolic link, and the log is beside it.
pub(super) fn log(folder: &Path, connection: &Connection) -> PathBuf {
    let file = connection.path().map_or_else(|| folder.join(FILE), PathBuf::from);
    let mut log = file.into_os_string();
    log.push("-wal");
    log.into()
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
        "BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; COMMIT;"
    ))
}

/// The application that the file belongs to, and the version of its tables.
fn version(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    let application = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok((application, version))
}

fn schema_entries(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

/// The totals of a file of the known format.
pub(super) fn known_totals(folder: &Path, connection: &Connection) -> Result<Totals, SpoolError> {
    if version(connection).map_err(|error| SpoolError::storage(folder, error))? != (APPLICATION, FORMAT) {
        return Err(SpoolError::Unknown {
            folder: folder.to_owned(),
        });
    }
    let totals = connection.query_row("SELECT next, entries, refused, bytes FROM totals", [], |row| {
        Ok(Totals {
            next: unsigned(row.get(0)?),
            entries: unsigned(row.get(1)?),
            refused: unsigned(row.get(2)?),
            bytes: unsigned(row.get(3)?),
        })
    });
    totals.map_err(|error| SpoolError::storage(folder, error))
}
