//! One entry and its state, and the chunk of a call.
//!
//! - `state`: what the engine knows of the entry; `history`: its failed attempts.
//! - `confirmation`: tells the fate of the entry to its sender.
//! - `chunk`: the entries of one call; `space`: the space that is left in a chunk.

mod chunk;
mod confirmation;
mod history;
mod space;
mod state;

pub(crate) use chunk::Chunk;
pub(crate) use confirmation::{Confirmation, Confirms};
pub(crate) use space::Space;
pub(crate) use state::{EntryState, TrackedEntry};
