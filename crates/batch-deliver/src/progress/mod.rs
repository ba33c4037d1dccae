//! The progress of a running delivery, and its result.

mod estimate;
mod summary;
mod ticker;

pub(crate) use self::summary::{Summary, unindexed, vectors_json};
pub(crate) use self::ticker::{Ticker, WatchedDelivery};
