//! What is in a spool, and what it has done.

use std::fmt;
use std::time::Duration;

use super::clock::age;
use super::store::Totals;
use crate::report::Report;

/// What is in a spool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpoolFigures {
    /// Entries that are to be delivered. Up to a [window](super::SpoolOptions::window) of them may have been delivered just now.
    pub entries: u64,
    /// Entries that were refused for good and are kept separately.
    pub refused: u64,
    /// What all of them take, as [`SpoolOptions::max_bytes`](super::SpoolOptions::max_bytes) counts it.
    pub bytes: u64,
    /// How long ago the first of those that are to be delivered was submitted, by the clock of the system.
    pub oldest: Option<Duration>,
}

/// What a spool has done from its start to its close, and what it leaves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpoolReport {
    /// The figures of the delivery. [`undelivered`](Report::undelivered) are those that were refused for good.
    pub report: Report,
    /// Entries that are still to be delivered, by the next spool of the folder.
    pub left: u64,
    /// Entries in the folder that were refused for good, earlier ones included.
    pub refused: u64,
    /// Entries that were removed without being delivered, because the spool was [full](super::SpoolOptions::drop_oldest).
    pub dropped: u64,
}

impl SpoolFigures {
    /// `first` is the number of the first entry, and when it was submitted.
    pub(super) fn of(totals: Totals, first: Option<(u64, i64)>) -> Self {
        Self {
            entries: totals.entries,
            refused: totals.refused,
            bytes: totals.bytes,
            oldest: first.map(|(_, spooled_at)| age(spooled_at)),
        }
    }
}

impl fmt::Display for SpoolReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {} left in the spool", self.report, self.left)?;
        if self.refused > 0 {
            write!(f, ", {} refused", self.refused)?;
        }
        if self.dropped > 0 {
            write!(f, ", {} dropped", self.dropped)?;
        }
        Ok(())
    }
}
