//! Where records come from: which inputs the arguments name, how these are opened, unpacked and decoded, and in which order their
//! records are read.

mod checksums;
mod compression;
mod counts;
mod encoded_keys;
mod encoding;
mod export;
mod expression;
mod file;
mod gzip;
mod input;
mod listing;
mod named;
mod names;
mod object;
mod part;
mod pattern;
mod read_so_far;
mod reader;
mod record;
mod scanned;
mod segments;
mod settled;
#[cfg(feature = "spool")]
mod spool;
mod turns;
mod unsupported;

pub(crate) use self::compression::read_start;
pub(crate) use self::counts::Counts;
pub(crate) use self::encoded_keys::from_url;
pub(crate) use self::expression::{placeholders, unused_placeholder, words};
pub(crate) use self::input::{Input, InputStorage, STANDARD_INPUT};
pub(crate) use self::named::{described, exactly, named};
pub(crate) use self::names::{SCHEME, names};
pub(crate) use self::part::Part;
pub(crate) use self::read_so_far::{Beginning, ReadProgress};
pub(crate) use self::reader::{RecordBatch, read};
pub(crate) use self::record::{DENIED, Flaw, Format, LineBreaks, Record, Records, may_be_read_elsewhere};
pub(crate) use self::scanned::{
    ItemEntry, PAGE_ITEMS, ReadAhead, ScanPosition, ScanProgress, ScannedItems, TableReads, is_unreachable, read_table,
    unread,
};
pub(crate) use self::segments::{MOST_SEGMENTS, Segments};
pub(crate) use self::settled::SettledRecords;
#[cfg(feature = "spool")]
pub(crate) use self::spool::{Spool, SpooledEntry};
pub(crate) use self::turns::{LinePlace, Order, ReadFailure, Turns};
