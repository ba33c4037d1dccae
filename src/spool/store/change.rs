//! What is changed in one transaction, or with many refused entries in several.

use std::ops::Range;

use rusqlite::{Transaction, params};

use super::database::Totals;
use super::rows::{Kind, cost, length, removed, signed};

/// The bytes of refused entries that are moved in one transaction, a fourth of the reserve.
const MOVED_AT_A_TIME: usize = 4 << 20;

/// An entry that is new.
#[derive(Debug)]
pub(crate) struct NewEntry {
    /// Milliseconds since 1970.
    pub(crate) spooled_at: i64,
    pub(crate) json: String,
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
}

impl Change {
    /// Makes it with the first of these refusals, in their order; all of it with the last. Returns how many those are.
    pub(super) fn made(
        &self,
        transaction: &Transaction<'_>,
        totals: &mut Totals,
        refusals: &[&Refusal],
    ) -> rusqlite::Result<usize> {
        let moved = moved(transaction, totals, refusals)?;
        let next = refusals.get(moved).map(|refusal| refusal.number);
        // One that is not moved yet stays where it is.
        let settled_until = next.map_or(self.settled_until, |next| next.min(self.settled_until));
        let settled = (settled_until > 0).then_some(0..settled_until);
        let ahead = self.settled_ahead.iter().filter(|_| next.is_none()).cloned();
        for settled in settled.into_iter().chain(ahead) {
            let (removed, bytes) = removed(transaction, Kind::Waiting, settled)?;
            totals.entries = totals.entries.saturating_sub(removed);
            totals.bytes = totals.bytes.saturating_sub(bytes);
        }
        if next.is_none() && !self.new.is_empty() {
            let mut insert = transaction.prepare("INSERT INTO entries VALUES (?1, ?2, ?3)")?;
            for new in &self.new {
                insert.execute(params![signed(totals.next), new.spooled_at, new.json])?;
                totals.next += 1;
                totals.entries += 1;
                totals.bytes += cost(new.json.len());
            }
        }
        Ok(moved)
    }
}

/// Keeps the first of these entries apart, as many as are moved at a time. Returns their number.
fn moved(transaction: &Transaction<'_>, totals: &mut Totals, refusals: &[&Refusal]) -> rusqlite::Result<usize> {
    if refusals.is_empty() {
        return Ok(0);
    }
    let mut keep = transaction.prepare(
        "INSERT INTO refused SELECT number, spooled_at, entry, ?2 FROM entries WHERE number = ?1
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
        bytes += length + cause.len();
        totals.entries = totals.entries.saturating_sub(1);
        totals.refused += 1;
        totals.bytes += cost(length + cause.len()) - cost(length);
    }
    Ok(refusals.len())
}
