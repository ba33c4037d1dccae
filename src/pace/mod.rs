//! Deliveries whose options are clones of each other share one pace.
//!
//! - `strategy`: the strategy, which is not this crate's and may panic.
//! - `meter`: what entries count for with a strategy that counts units of capacity.
//! - `queue`: the calls that wait for it; `gate`: both together.
//! - `permit`: a call that waits, the permission for it to leave, and the call that has left.
//! - `warnings`: limits the warnings of a stall to one for all of them.

mod gate;
mod meter;
mod permit;
mod queue;
mod strategy;
mod warnings;

pub(crate) use gate::Gate;
pub(crate) use permit::{Departure, Permit, QueuedUp};
