//! How far a delivery has come, while it runs.

mod estimate;
mod ticker;

pub(crate) use self::ticker::{Ticker, Watched};
