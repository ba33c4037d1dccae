//! Where the entries come from.
//!
//! - `source`: an iterator, a stream, or a producer's queue.
//! - `fresh`: entries as they come from there, checked and measured once.

mod fresh;
mod source;

pub(crate) use fresh::{Fresh, Read};
pub(crate) use source::{Batch, Incoming, Input, Streamed};
