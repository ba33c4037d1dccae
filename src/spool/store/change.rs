//! What is changed in one transaction, or with many refused entries in several.

use std::ops::Range;

use rusqlite::{Transaction, params};

use super::database::Totals;
use super::rows::{EntryKind, checksum, cost, length, removed, signed};
use super::{doubts, gaps};

/// The bytes of refused entries that are moved in one transaction, a fourth of the reserve.
const MOVED_AT_A_TIME: usize = 4 << 20;

/// Why a change was not made.
#[derive(Debug)]
pub(super) enum ChangeError {
    Database(rusqlite::Error),
    /// The file does not have what it should.
    Damage(String),
}

impl From<rusqlite::Error> for ChangeError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// An entry that is new.
#[derive(Debug)]
pub(crate) struct NewEntry {
    /// Milliseconds since 1970.
    pub(crate) spooled_at: i64,
    pub(crate) json: String,
    /// How the JSON is read, which the store does not know.
    pub(crate) form: i64,
}

/// An entry that was refused for good.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) number: u64,
    pub(crate) cause: String,
}

/// Changes that are made together.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) new: Vec<NewEntry>,
    pub(crate) refusals: Vec<Refusal>,
    /// All entries before this number are removed.
    pub(crate) settled_until: u64,
    /// And these.
    pub(crate) settled_ahead: Vec<Range<u64>>,
    /// Entries that may have been delivered since these times, in milliseconds since 1970, and those of which that is no longer in doubt.
    pub(crate) doubts: Vec<(u64, Option<i64>)>,
}

impl Change {
    /// Makes it with the first of these refusals, in their order; all of it with the last. Returns how many those are.
    pub(super) fn made(
        &self,
        transaction: &Transaction<'_>,
        totals: &mut Totals,
        refusals: &[&Refusal],
    ) -> Result<usize, ChangeError> {
        let moved = moved(transaction, totals, refusals)?;
        let next = refusals.get(moved).map(|refusal| refusal.number);
        // One that is not moved yet stays where it is.
        let settled_until = next.map_or(self.settled_until, |next| next.min(self.settled_until));
        remove_until(transaction, totals, settled_until)?;
        if next.is_some() {
            return Ok(moved);
        }
        for settled in &self.settled_ahead {
            let settled = settled.start.max(totals.first)..settled.end.max(totals.first);
            remove(transaction, totals, &settled)?;
            gaps::add(transaction, &settled)?;
            doubts::remove(transaction, settled)?;
        }
        for (number, since) in &self.doubts {
            doubts::set(transaction, *number, *since)?;
        }
        if !self.new.is_empty() {
            let mut insert = transaction.prepare("INSERT INTO entries VALUES (?1, ?2, ?3, ?4, ?5)")?;
            for NewEntry { spooled_at, json, form } in &self.new {
                let sum = checksum(totals.next, *spooled_at, *form, json.as_bytes());
                insert.execute(params![signed(totals.next), spooled_at, json, form, sum])?;
                totals.next += 1;
                totals.entries += 1;
                totals.bytes += cost(json.len());
            }
        }
        Ok(moved)
    }
}

/// Removes the entries that wait before this number, all of them.
pub(super) fn remove_until(transaction: &Transaction<'_>, totals: &mut Totals, until: u64) -> Result<(), ChangeError> {
    let until = until.min(totals.next);
    if until > totals.first {
        remove(transaction, totals, &(totals.first..until))?;
        gaps::remove_until(transaction, until)?;
        doubts::remove(transaction, 0..until)?;
        totals.first = until;
    }
    Ok(())
}

/// Removes entries that wait, each of which is there unless it is known to be gone.
fn remove(transaction: &Transaction<'_>, totals: &mut Totals, numbers: &Range<u64>) -> Result<(), ChangeError> {
    let expected = gaps::entries(transaction, numbers)?;
    let (removed, bytes) = removed(transaction, EntryKind::Waiting, numbers.clone())?;
    if removed != expected {
        return Err(ChangeError::Damage(format!(
            "there are {removed} entries from {} to {}, and not {expected}",
            numbers.start,
            numbers.end.saturating_sub(1)
        )));
    }
    totals.entries = totals.entries.saturating_sub(removed);
    totals.bytes = totals.bytes.saturating_sub(bytes);
    Ok(())
}

/// Keeps the first of these entries apart, as many as are moved at a time. Returns their number.
fn moved(transaction: &Transaction<'_>, totals: &mut Totals, refusals: &[&Refusal]) -> rusqlite::Result<usize> {
    if refusals.is_empty() {
        return Ok(0);
    }
    let mut keep = transaction.prepare(
        "INSERT INTO refused SELECT number, spooled_at, entry, form, sum, ?2 FROM entries WHERE number = ?1
         RETURNING octet_length(entry)",
    )?;
    let mut remove = transaction.prepare("DELETE FROM entries WHERE number = ?1")?;
    let mut bytes = 0;
    for (before, Refusal { number, cause }) in refusals.iter().enumerate() {
        if bytes >= MOVED_AT_A_TIME {
            return Ok(before);
        }
        let mut kept = keep.query(params![signed(*number), cause])?;
        // It may have been kept before an error that was reported after that.
        let Some(row) = kept.next()? else { continue };
        let length = length(row.get(0)?);
        while kept.next()?.is_some() {}
        remove.execute([signed(*number)])?;
        gaps::add(transaction, &(*number..number + 1))?;
        doubts::remove(transaction, *number..number + 1)?;
        bytes += length + cause.len();
        totals.entries = totals.entries.saturating_sub(1);
        totals.refused += 1;
        totals.bytes += cost(length + cause.len()) - cost(length);
    }
    Ok(refusals.len())
}
