//! What is settled, so that a load that was interrupted or killed goes on where it was.

mod identity;
mod state;
mod writer;

pub(crate) use self::identity::Identity;
pub(crate) use self::state::State;
pub(crate) use self::writer::Journal;
