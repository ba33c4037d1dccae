//! The fate of the entries.
//!
//! - `ledger`: counts the fate of every entry, in the shared figures as well; `hand_backs`: undelivered entries on the way back, after the target has cleaned up.
//! - `ending`: why a delivery ends before everything is delivered.
//! - `delivered`: what a delivery comes to.

mod delivered;
mod ending;
mod hand_backs;
mod ledger;

pub(crate) use delivered::{Delivered, delivery_span};
pub(crate) use ending::Ending;
pub(crate) use ledger::Ledger;
