//! The fate of the entries.
//!
//! - `ledger`: counts the fate of every entry, also in the shared figures.
//! - `hand_backs`: hands back undelivered entries, after the target has cleaned up.
//! - `ending`: why a delivery ends early.
//! - `delivered`: the result of a delivery.

mod delivered;
mod ending;
mod hand_backs;
mod ledger;

pub(crate) use delivered::{Delivered, delivery_span};
pub(crate) use ending::Ending;
pub(crate) use ledger::Ledger;
