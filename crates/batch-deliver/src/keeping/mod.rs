//! What is kept of a delivery: the journal of settled records, the dead letters, the bad lines, and why entries were handed back; and the
//! file to which lines are moved.

mod appended;
mod bad_lines;
mod dead_letter;
mod entries;
mod failed_conditions;
mod failures;
mod fed_back;
mod group_sync;
mod handed_back;
mod journal;
mod location;
mod moved_lines;
mod pairs;
mod places;
mod settling;
mod window;

pub(crate) use self::bad_lines::{BadLines, Ended, ShownLines};
pub(crate) use self::dead_letter::{DeadLetter, LettersWritten};
pub(crate) use self::entries::entries;
pub(crate) use self::failed_conditions::FailedConditions;
pub(crate) use self::failures::Failures;
pub(crate) use self::handed_back::{HandedBack, Reason};
#[cfg(any(test, fuzzing))]
pub(crate) use self::journal::settled_in;
pub(crate) use self::journal::{Claim, Identity, Journal, ORDER, ScanFound, ScanState, State, remove};
pub(crate) use self::location::Location;
pub(crate) use self::moved_lines::MovedLines;
pub(crate) use self::pairs::{Compared, Difference, Pairs, Side};
pub(crate) use self::places::Places;
pub(crate) use self::settling::Settling;
pub(crate) use self::window::Window;
