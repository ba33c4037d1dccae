//! Which entries may have been delivered although no answer has said so, and since when.

use std::ops::Range;

use rusqlite::{Connection, Transaction};

use super::rows::{signed, unsigned};

/// All of them, with the times in milliseconds since 1970.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<(u64, i64)>> {
    let mut select = connection.prepare("SELECT number, since FROM doubts ORDER BY number")?;
    let doubts = select.query_map([], |row| Ok((unsigned(row.get(0)?), row.get(1)?)))?;
    doubts.collect()
}

/// Since when this entry is in doubt, if it is.
pub(super) fn set(transaction: &Transaction<'_>, number: u64, since: Option<i64>) -> rusqlite::Result<()> {
    match since {
        Some(since) => transaction.execute("INSERT OR REPLACE INTO doubts VALUES (?1, ?2)", [signed(number), since])?,
        None => transaction.execute("DELETE FROM doubts WHERE number = ?1", [signed(number)])?,
    };
    Ok(())
}

/// These entries are gone.
pub(super) fn remove(transaction: &Transaction<'_>, numbers: Range<u64>) -> rusqlite::Result<()> {
    let numbers = [signed(numbers.start), signed(numbers.end)];
    transaction.execute("DELETE FROM doubts WHERE number >= ?1 AND number < ?2", numbers)?;
    Ok(())
}
