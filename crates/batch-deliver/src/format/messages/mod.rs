//! Messages, records and events, one on each line.

mod attribute;
mod group;
mod inventory;
mod listed;
mod objects;
#[cfg(feature = "put")]
pub(crate) mod put;
mod queue;
mod trace;

pub(crate) use self::group::Groups;
pub(crate) use self::objects::Keys;
pub(crate) use self::queue::Messages;
pub(crate) use self::trace::traced;
