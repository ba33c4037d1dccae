//! The rows of the file: their texts, and what they take.

use std::ops::Range;

use rusqlite::{Connection, ErrorCode, Row, Transaction};

const PAGE: u64 = 4_096;

/// What a row takes in addition to its text: number, time, form, checksum, lengths and its place in the page.
const ROW: u64 = 26;

/// What a row may take in a page. The rest of a longer one has pages of its own.
const LONGEST_IN_PAGE: u64 = PAGE - 35;

/// What an entry with a text of this length takes on disk.
pub(crate) fn cost(length: usize) -> u64 {
    let bytes = length as u64 + ROW;
    if bytes <= LONGEST_IN_PAGE {
        // As many as fit share a page.
        PAGE / (PAGE / bytes)
    } else {
        // At least an eighth of a page stays in the page of the row.
        bytes.next_multiple_of(PAGE) + PAGE / 8
    }
}

/// An entry of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredEntry {
    pub(crate) number: u64,
    pub(crate) spooled_at: i64,
    /// Its JSON.
    pub(crate) json: Vec<u8>,
    /// How the JSON is read, which the store does not know.
    pub(crate) form: i64,
    /// Why it was refused, if it was.
    pub(crate) cause: Option<String>,
}

impl StoredEntry {
    /// The same as one of this kind. The checksum does not include the cause, and one without would not look refused.
    pub(super) fn of_kind(mut self, kind: EntryKind) -> Self {
        if kind == EntryKind::Refused {
            self.cause.get_or_insert_with(|| "the cause is damaged".to_owned());
        }
        self
    }
}

/// The checksum of an entry, by which damage of the device is recognized.
pub(super) fn checksum(number: u64, spooled_at: i64, form: i64, json: &[u8]) -> i32 {
    let mut hasher = crc32fast::Hasher::new();
    for field in [signed(number), spooled_at, form] {
        hasher.update(&field.to_le_bytes());
    }
    hasher.update(json);
    hasher.finalize().cast_signed()
}

/// Which entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Waiting,
    Refused,
}

/// The number of the first entry, and when it was spooled.
pub(super) fn first(connection: &Connection) -> rusqlite::Result<Option<(u64, i64)>> {
    let mut first = connection.prepare("SELECT number, spooled_at FROM entries ORDER BY number LIMIT 1")?;
    let mut rows = first.query([])?;
    rows.next()?
        .map(|row| Ok((unsigned(row.get(0)?), row.get(1)?)))
        .transpose()
}

/// What was read of one kind of entries, in order.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Those before the first that is damaged.
    pub(crate) entries: Vec<StoredEntry>,
    /// Whether there may be more.
    pub(crate) is_limited: bool,
    /// What is wrong with the next one.
    pub(crate) damage: Option<Damage>,
}

/// What is wrong with the file.
#[derive(Debug)]
pub(crate) enum Damage {
    /// This entry is not as it was written.
    Changed(u64),
    /// This entry is not there.
    Missing(u64),
    /// The structure of the file.
    Structure(rusqlite::Error),
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Changed(number) => write!(f, "entry {number} is not as it was written"),
            Self::Missing(number) => write!(f, "entry {number} is missing"),
            Self::Structure(error) => error.fmt(f),
        }
    }
}

/// Entries of one kind from this number on and before `end`, at most this many, and no more than these bytes unless the first has more.
pub(super) fn read(
    connection: &Connection,
    kind: EntryKind,
    numbers: Range<u64>,
    entries: usize,
    bytes: usize,
) -> rusqlite::Result<Rows> {
    let mut select = connection.prepare(match kind {
        EntryKind::Waiting => {
            "SELECT number, spooled_at, entry, form, sum, NULL FROM entries WHERE number >= ?1 AND number < ?2 ORDER BY number"
        }
        EntryKind::Refused => {
            "SELECT number, spooled_at, entry, form, sum, cause FROM refused WHERE number >= ?1 AND number < ?2 ORDER BY number"
        }
    })?;
    let mut rows = select.query([signed(numbers.start), signed(numbers.end)])?;
    let (mut read, mut left, mut least) = (Rows::default(), bytes, numbers.start);
    loop {
        if left == 0 || read.entries.len() >= entries {
            read.is_limited = true;
            break;
        }
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => break,
            Err(error) if is_damage(&error) => {
                read.damage = Some(Damage::Structure(error));
                break;
            }
            Err(error) => return Err(error),
        };
        let entry = match stored(row) {
            Ok(entry) => entry.filter(|entry| entry.number >= least),
            Err(error) if is_damage(&error) => None,
            Err(error) => return Err(error),
        };
        let Some(entry) = entry.map(|entry| entry.of_kind(kind)) else {
            read.damage = Some(Damage::Changed(least));
            break;
        };
        least = entry.number + 1;
        left = left.saturating_sub(entry.json.len());
        read.entries.push(entry);
    }
    Ok(read)
}

/// The entry of a row. `None` if it is not as it was written.
fn stored(row: &Row<'_>) -> rusqlite::Result<Option<StoredEntry>> {
    let entry = StoredEntry {
        number: unsigned(row.get(0)?),
        spooled_at: row.get(1)?,
        json: row.get_ref(2)?.as_bytes()?.to_vec(),
        form: row.get(3)?,
        cause: row.get(5)?,
    };
    let sum = checksum(entry.number, entry.spooled_at, entry.form, &entry.json);
    Ok((row.get::<_, i32>(4)? == sum).then_some(entry))
}

/// Whether the error says that the file is not as it was written.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::QueryReturnedNoRows
        | rusqlite::Error::Utf8Error(..) => true,
        error => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::TypeMismatch | ErrorCode::ConstraintViolation)
        ),
    }
}

/// Removes the entries of one kind with these numbers. Returns how many they were, and what they took.
pub(super) fn removed(
    transaction: &Transaction<'_>,
    kind: EntryKind,
    numbers: Range<u64>,
) -> rusqlite::Result<(u64, u64)> {
    let (lengths, delete) = match kind {
        EntryKind::Waiting => (
            "SELECT octet_length(entry) FROM entries WHERE number >= ?1 AND number < ?2",
            "DELETE FROM entries WHERE number >= ?1 AND number < ?2",
        ),
        EntryKind::Refused => (
            "SELECT octet_length(entry) + octet_length(cause) FROM refused WHERE number >= ?1 AND number < ?2",
            "DELETE FROM refused WHERE number >= ?1 AND number < ?2",
        ),
    };
    let numbers = [signed(numbers.start), signed(numbers.end)];
    let mut bytes = 0;
    {
        let mut lengths = transaction.prepare(lengths)?;
        let mut rows = lengths.query(numbers)?;
        while let Some(row) = rows.next()? {
            bytes += cost(length(row.get(0)?));
        }
    }
    let removed = transaction.execute(delete, numbers)?;
    Ok((removed as u64, bytes))
}

/// SQLite has no unsigned numbers. Those of entries are counted from 0, so none is ever too large.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Not all versions of the database's crate read a length as one.
pub(super) fn length(bytes: i64) -> usize {
    usize::try_from(bytes).unwrap_or(0)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
