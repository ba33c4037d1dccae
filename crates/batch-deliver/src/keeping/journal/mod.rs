//! The journal of settled records, by which a load that was interrupted or killed continues where it stopped.

mod checked_line;
mod claim;
mod content;
mod identity;
mod load;
mod locked_file;
mod owned;
mod scan;
mod storage;
mod writer;
mod writing;

pub(crate) use self::claim::Claim;
#[cfg(any(test, fuzzing))]
pub(crate) use self::content::settled_in;
pub(crate) use self::identity::{Identity, ORDER, StopLine};
pub(crate) use self::load::LoadState;
pub(crate) use self::scan::{EarlierScan, ScanState};
pub(crate) use self::writer::Journal;
