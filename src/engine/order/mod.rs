//! The order of entries that must not pass each other.
//!
//! - `lanes`: which entries of each lane are out; `held`: the entries that are held behind them.

mod held;
mod lanes;

pub(crate) use lanes::Lanes;
