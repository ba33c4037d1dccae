//! Numbers of entries that were removed before earlier ones: what else is missing, a device has lost.

use std::ops::Range;

use rusqlite::{Connection, Transaction};

use super::rows::{signed, unsigned};

/// The gaps within these numbers, in order.
pub(super) fn within(connection: &Connection, numbers: &Range<u64>) -> rusqlite::Result<Vec<Range<u64>>> {
    let mut select = connection.prepare("SELECT start, end FROM gaps WHERE start < ?2 AND end > ?1 ORDER BY start")?;
    let mut rows = select.query([signed(numbers.start), signed(numbers.end)])?;
    let mut gaps = Vec::new();
    while let Some(row) = rows.next()? {
        let (start, end) = (unsigned(row.get(0)?), unsigned(row.get(1)?));
        gaps.push(start.max(numbers.start)..end.min(numbers.end));
    }
    Ok(gaps)
}

/// How many of these numbers have an entry.
pub(super) fn entries(connection: &Connection, numbers: &Range<u64>) -> rusqlite::Result<u64> {
    let missing = within(connection, numbers)?;
    let missing: u64 = missing.iter().map(|gap| gap.end.saturating_sub(gap.start)).sum();
    Ok((numbers.end.saturating_sub(numbers.start)).saturating_sub(missing))
}

/// These numbers no longer have entries, although earlier ones have.
pub(super) fn add(transaction: &Transaction<'_>, numbers: &Range<u64>) -> rusqlite::Result<()> {
    let around = within(transaction, numbers)?;
    if around.first().is_some_and(|gap| gap == numbers) {
        return Ok(());
    }
    let changes = [
        "UPDATE gaps SET end = ?1 WHERE start < ?1 AND end > ?1 AND end <= ?2",
        "DELETE FROM gaps WHERE start >= ?1 AND end <= ?2",
        "UPDATE gaps SET start = ?2 WHERE start >= ?1 AND start < ?2",
        "INSERT INTO gaps VALUES (?1, ?2)",
    ];
    for change in changes {
        transaction.execute(change, [signed(numbers.start), signed(numbers.end)])?;
    }
    Ok(())
}

/// No entry before this number is left, so nothing needs to be known of its gaps.
pub(super) fn remove_until(transaction: &Transaction<'_>, number: u64) -> rusqlite::Result<()> {
    let number = [signed(number)];
    transaction.execute("DELETE FROM gaps WHERE end <= ?1", number)?;
    transaction.execute("UPDATE gaps SET start = ?1 WHERE start < ?1", number)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_each_number_once_whatever_is_added() {
        let mut connection = Connection::open_in_memory().unwrap();
        let table = "CREATE TABLE gaps (start INTEGER PRIMARY KEY, end INTEGER NOT NULL)";
        connection.execute_batch(table).unwrap();
        let transaction = connection.transaction().unwrap();
        for gap in [10..20, 12..15, 5..12, 30..31, 18..40, 0..2] {
            add(&transaction, &gap).unwrap();
        }
        let numbers = |gaps: Vec<Range<u64>>| gaps.into_iter().flatten().collect::<Vec<_>>();
        let all = (0..2).chain(5..40).collect::<Vec<_>>();
        assert_eq!(numbers(within(&transaction, &(0..100)).unwrap()), all);
        assert_eq!(
            numbers(within(&transaction, &(19..32)).unwrap()),
            (19..32).collect::<Vec<_>>()
        );
        assert_eq!(entries(&transaction, &(0..100)).unwrap(), 63);
        remove_until(&transaction, 7).unwrap();
        assert_eq!(
            numbers(within(&transaction, &(0..100)).unwrap()),
            (7..40).collect::<Vec<_>>()
        );
    }
}
