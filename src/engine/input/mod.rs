//! The source of the entries.
//!
//! - `source`: an iterator, a stream, or a producer's queue.
//! - `fresh`: entries that were read from the source, checked and measured.

mod fresh;
mod source;

pub(crate) use fresh::{Fresh, Read};
pub(crate) use source::{Batch, Incoming, Input, Streamed};
