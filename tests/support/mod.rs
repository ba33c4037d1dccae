//! What several tests need.

pub(crate) mod cases;
pub(crate) mod corpus;
pub(crate) mod in_flight;
pub(crate) mod key_unknown;
pub(crate) mod log;
pub(crate) mod odd;
pub(crate) mod options;
pub(crate) mod paused;
pub(crate) mod phases;
pub(crate) mod scripted;
