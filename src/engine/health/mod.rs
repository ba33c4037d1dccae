//! Whether the service takes anything at all.
//!
//! - `setup`: whether calls can be made at all, as without credentials or a connection, and the probes that find out.
//! - `refusals`: calls that are refused for a reason that all entries share.
//! - `watch`: notices that nothing is accepted, and logs it.

mod refusals;
mod setup;
mod watch;

pub(crate) use refusals::Refusals;
pub(crate) use setup::Setup;
pub(crate) use watch::Watch;
