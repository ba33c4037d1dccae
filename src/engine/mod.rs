//! The loop that every delivery goes through.
//!
//! ```text
//! input ─▶ fresh ─▶ pack ─▶ gate ─▶ round ─▶ ledger ─▶ delivered, or handed back
//!                    ▲                         │
//!                    └───────── waiting ◀──────┘ rejected
//! ```
//!
//! - `fresh`: entries as they come from the input, checked and measured once.
//! - `waiting`: rejected entries, first at rest, then ready.
//! - `pack`: a chunk of what is ready, topped up with fresh entries.
//! - `slots`: the calls that may be in flight at once, and when each may leave.
//! - `gate`: the queue in front of the shared strategy.
//! - `round`: one call and its answer.
//! - `settle`: from the answer to the fate of each entry.
//! - `setup`: how often a call may fail before it is even made.
//! - `ledger`: the fate of every entry.
//! - `deliver`: the loop itself.
//!
//! It knows no AWS: the service is a [`BatchTarget`](crate::target::BatchTarget). It has no clock but tokio's, so that
//! paused time works.

mod deliver;
mod ending;
mod fresh;
mod gate;
mod ledger;
mod pack;
mod rests;
mod round;
mod settle;
mod setup;
mod slots;
mod ticket;
mod waiting;

pub(crate) use deliver::deliver;
pub(crate) use gate::Gate;
