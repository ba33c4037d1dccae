//! The pace that deliveries share if their options are clones of each other.
//!
//! - `strategy`: the strategy, which may be the caller's code and may panic.
//! - `meter`: converts between estimated and charged units.
//! - `queue`: the calls that wait for the strategy; `hold`: a wait that the service has named; `gate`: both together with the
//!   strategy.
//! - `permit`: a call that waits, the permit for it to leave, and the call that has left.
//! - `warnings`: limits the warnings of a stall to one for all deliveries.

mod gate;
mod hold;
mod meter;
mod permit;
mod queue;
mod strategy;
mod warnings;

pub(crate) use gate::Gate;
pub(crate) use permit::{Departure, Permit, QueuedUp};
