//! Reads entries, and notices those that are missing.

use std::ops::Range;

use super::change::ChangeError;
use super::failure::damaged;
use super::rows::{Damage, EntryKind, StoredEntry, read};
use super::{ReadEntries, Store, gaps};
use crate::spool::error::SpoolError;

impl Store {
    /// Entries from this number on and before `end`, at most this many, and no more than these bytes unless the first has more.
    ///
    /// # Errors
    /// When the first one cannot be read. It is damaged if it is not there, or not as it was written.
    pub(in crate::spool) fn read(
        &mut self,
        from: u64,
        end: u64,
        entries: usize,
        bytes: usize,
    ) -> Result<ReadEntries, SpoolError> {
        let from = from.max(self.totals.first);
        let numbers = from..end.min(self.totals.next).max(from);
        let (read, damage) = self.whole(numbers, entries, bytes)?;
        if let Some(damage) = damage
            && read.end == from
        {
            return Err(self.wrong(ChangeError::Damage(damage.to_string())));
        }
        self.unread = self.unread.max(read.end);
        Ok(read)
    }

    /// The entries before the first that is damaged, and what is wrong with that one.
    fn whole(
        &self,
        numbers: Range<u64>,
        entries: usize,
        bytes: usize,
    ) -> Result<(ReadEntries, Option<Damage>), SpoolError> {
        let read = || {
            let gaps = gaps::within(&self.connection, &numbers)?;
            Ok((
                gaps,
                read(&self.connection, EntryKind::Waiting, numbers.clone(), entries, bytes)?,
            ))
        };
        let (gaps, mut rows) = read().map_err(|error| self.failure(error))?;
        // What was removed before, and what is there, are all numbers.
        let (mut expected, mut gaps_left) = (numbers.start, gaps.iter().peekable());
        let mut past_gaps = |mut number: u64| {
            while let Some(gap) = gaps_left.next_if(|gap| gap.start <= number) {
                number = number.max(gap.end);
            }
            number
        };
        let mut missing = None;
        for (place, entry) in rows.entries.iter().enumerate() {
            expected = past_gaps(expected);
            if entry.number != expected {
                missing = Some((place, expected));
                break;
            }
            expected += 1;
        }
        if let Some((place, number)) = missing {
            rows.entries.truncate(place);
            rows.damage = Some(Damage::Missing(number));
        } else if !rows.is_limited && rows.damage.is_none() {
            expected = past_gaps(expected);
            if expected < numbers.end {
                rows.damage = Some(Damage::Missing(expected));
            }
        }
        let end = expected.min(numbers.end);
        let gaps = gaps
            .into_iter()
            .map(|gap| gap.start..gap.end.min(end))
            .filter(|gap| !gap.is_empty());
        let read = ReadEntries {
            entries: rows.entries,
            gaps: gaps.collect(),
            end,
        };
        Ok((read, rows.damage))
    }

    /// The first entries of one kind, which count as read no more than before.
    ///
    /// # Errors
    /// When the first one cannot be read.
    pub(in crate::spool) fn look(
        &self,
        kind: EntryKind,
        entries: usize,
        bytes: usize,
    ) -> Result<Vec<StoredEntry>, SpoolError> {
        let (entries, damage) = match kind {
            EntryKind::Waiting => {
                let (read, damage) = self.whole(self.totals.first..self.totals.next, entries, bytes)?;
                (read.entries, damage)
            }
            EntryKind::Refused => {
                let read = read(&self.connection, kind, 0..u64::MAX, entries, bytes);
                let mut read = read.map_err(|error| self.failure(error))?;
                let is_short = entries > 0 && read.entries.is_empty() && self.totals.refused > 0;
                if is_short && read.damage.is_none() {
                    read.damage = Some(Damage::Missing(0));
                }
                (read.entries, read.damage)
            }
        };
        match damage {
            Some(damage) if entries.is_empty() => Err(damaged(&self.folder, &damage)),
            _ => Ok(entries),
        }
    }
}
