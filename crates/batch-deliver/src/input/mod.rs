//! The inputs: which ones the arguments name, how they are read, and in which order.

mod checksums;
mod compression;
mod document;
mod encoding;
mod export;
mod foreign;
mod gzip;
mod joined;
mod lines;
#[cfg(feature = "s3")]
mod listing;
mod named;
mod near;
#[cfg(feature = "s3")]
mod object;
mod object_name;
mod part;
mod read_bytes;
mod reader;
mod settled;
mod turns;

pub(crate) use self::document::{Document, Members};
pub(crate) use self::lines::{BYTE_ORDER_MARK, LONGEST_LINE, Line, Lines, append_block};
pub(crate) use self::named::{Input, STANDARD_INPUT, Storage};
pub(crate) use self::object_name::{SCHEME, names};
pub(crate) use self::part::Part;
pub(crate) use self::read_bytes::ReadBytes;
pub(crate) use self::reader::{Counts, Received, read};
pub(crate) use self::settled::Settled;
pub(crate) use self::turns::{Place, Turns};
