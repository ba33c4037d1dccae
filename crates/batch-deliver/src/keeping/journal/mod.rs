//! The journal of settled records, by which a load that was interrupted or killed continues where it stopped.

mod checked_line;
mod claim;
mod content;
mod file;
mod identity;
mod object;
mod owned;
mod scan;
mod state;
mod writer;
mod writing;

pub(crate) use self::claim::Claim;
#[cfg(any(test, fuzzing))]
pub(crate) use self::content::settled_in;
pub(crate) use self::identity::{Identity, ORDER, Stopped};
pub(crate) use self::scan::{ScanFound, ScanState};
pub(crate) use self::state::{State, remove};
pub(crate) use self::writer::Journal;
