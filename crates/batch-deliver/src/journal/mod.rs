//! What is settled, so that a load that was interrupted or killed goes on where it was.

mod state;
mod writer;

pub(crate) use self::state::{Identity, State};
pub(crate) use self::writer::Journal;
