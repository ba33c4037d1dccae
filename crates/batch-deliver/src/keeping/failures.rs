//! What was not delivered and will not be sent again, of all runs with one journal.

use serde::{Deserialize, Serialize};

use super::cause_tally::CauseTally;
use crate::source::LinePlace;

/// Entries that were given up, and lines that could not be read and were kept elsewhere: the runs that follow skip them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failures {
    pub(crate) given_up: CauseTally,
    pub(crate) bad_lines: CauseTally,
}

/// A record that is settled without being delivered. It has none of the record's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FailedRecord {
    /// Its number among the records of all inputs.
    pub(crate) number: u64,
    pub(crate) place: LinePlace,
    /// Why it was given up, or what is wrong with the line.
    pub(crate) words: String,
    pub(crate) is_bad_line: bool,
    /// Whether it is among the dead letters.
    pub(crate) is_kept: bool,
}

impl Failures {
    pub(crate) fn add(&mut self, failed: &FailedRecord) {
        let of_kind = if failed.is_bad_line {
            &mut self.bad_lines
        } else {
            &mut self.given_up
        };
        of_kind.add(failed.place, failed.words.clone(), failed.is_kept);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.given_up.count() + self.bad_lines.count() == 0
    }
}
