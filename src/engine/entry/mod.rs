//! One entry on its way.
//!
//! - `state`: what is known of it; `history`: what came of sending it in vain.
//! - `confirmation`: what travels with it and is told its fate.
//! - `chunk`: the entries of one call; `space`: what a chunk has space for.

mod chunk;
mod confirmation;
mod history;
mod space;
mod state;

pub(crate) use chunk::Chunk;
pub(crate) use confirmation::{Confirmation, Confirms};
pub(crate) use space::Space;
pub(crate) use state::{EntryState, TrackedEntry};
