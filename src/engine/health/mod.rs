//! Whether the service accepts anything at all.
//!
//! - `setup`: whether calls can be made (credentials, connection), and the probes that test it.
//! - `disputes`: whether refusals are those of single entries or of all calls.
//! - `refusals`: refusals for a reason that all entries share.
//! - `size_limit`: calls that are refused for their size.
//! - `watch`: notices that nothing is accepted, and logs it.

mod disputes;
mod refusals;
mod setup;
mod size_limit;
mod watch;

pub(crate) use disputes::{Disputes, Ruling};
pub(crate) use refusals::Refusals;
pub(crate) use setup::Setup;
pub(crate) use size_limit::SizeLimit;
pub(crate) use watch::{Outage, Watch};
