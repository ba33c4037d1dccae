//! The rows of the file: their texts, and what they take.

use std::ops::Range;

use rusqlite::{Connection, Transaction};

const PAGE: u64 = 4_096;

/// What a row takes besides its text: number, time, lengths and its place in the page.
const ROW: u64 = 20;

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
    /// Its JSON. A device may have changed it since.
    pub(crate) json: Vec<u8>,
    /// Why it was refused, if it was.
    pub(crate) cause: Option<String>,
}

/// Which entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
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

/// Entries of one kind from this number on and before `end`, at most so many, and no more than these bytes unless the first has more.
pub(super) fn read(
    connection: &Connection,
    kind: Kind,
    from: u64,
    end: u64,
    entries: usize,
    bytes: usize,
) -> rusqlite::Result<Vec<StoredEntry>> {
    let mut select = connection.prepare(match kind {
        Kind::Waiting => {
            "SELECT number, spooled_at, entry, NULL FROM entries WHERE number >= ?1 AND number < ?2 ORDER BY number LIMIT ?3"
        }
        Kind::Refused => {
            "SELECT number, spooled_at, entry, cause FROM refused WHERE number >= ?1 AND number < ?2 ORDER BY number LIMIT ?3"
        }
    })?;
    let mut rows = select.query([signed(from), signed(end), signed(entries as u64)])?;
    let (mut read, mut left) = (Vec::new(), bytes);
    while left > 0
        && let Some(row) = rows.next()?
    {
        let entry = StoredEntry {
            number: unsigned(row.get(0)?),
            spooled_at: row.get(1)?,
            json: row.get_ref(2)?.as_bytes()?.to_vec(),
            cause: row.get(3)?,
        };
        left = left.saturating_sub(entry.json.len());
        read.push(entry);
    }
    Ok(read)
}

/// Removes the entries of one kind with these numbers. Returns how many they were, and what they took.
pub(super) fn removed(transaction: &Transaction<'_>, kind: Kind, numbers: Range<u64>) -> rusqlite::Result<(u64, u64)> {
    let (lengths, delete) = match kind {
        Kind::Waiting => (
            "SELECT octet_length(entry) FROM entries WHERE number >= ?1 AND number < ?2",
            "DELETE FROM entries WHERE number >= ?1 AND number < ?2",
        ),
        Kind::Refused => (
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
