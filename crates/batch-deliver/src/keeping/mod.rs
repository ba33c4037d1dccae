//! What is kept of a delivery: the journal of settled records, the dead letters, the bad lines, and why entries were handed back; and the
//! file to which lines are moved.

mod append_file;
mod bad_lines;
mod cause_tally;
mod dead_letter;
mod entries;
mod failed_conditions;
mod failures;
mod feedback;
mod group_sync;
mod journal;
mod location;
mod moved_lines;
mod pairs;
mod places;
mod settlement;
mod window;

pub(crate) use self::bad_lines::{BadLines, InputEnd, ShownLines};
pub(crate) use self::cause_tally::{CauseTally, Reason};
pub(crate) use self::dead_letter::{DeadLetter, LettersWritten};
pub(crate) use self::entries::entries;
pub(crate) use self::failed_conditions::FailedConditions;
pub(crate) use self::failures::Failures;
#[cfg(any(test, fuzzing))]
pub(crate) use self::journal::settled_in;
pub(crate) use self::journal::{Claim, EarlierScan, Identity, Journal, LoadState, ORDER, ScanState};
pub(crate) use self::location::Location;
pub(crate) use self::moved_lines::MovedLines;
pub(crate) use self::pairs::{Comparison, ItemDifference, Pairs, Side};
pub(crate) use self::places::Places;
pub(crate) use self::settlement::Settlement;
pub(crate) use self::window::Window;
