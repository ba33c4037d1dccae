//! The progress of a running delivery.

mod estimate;
mod ticker;

pub(crate) use self::ticker::{Ticker, Watched};
