//! The calls.
//!
//! - `slots`: one for each call that may be in flight, and when it may leave.
//! - `call`: one call and its answer; `key_counts`: what it came to, key by key.
//! - `settle`: from the answer to the fate of each entry.
//! - `pool`: the calls in flight; `queue`: those that wait for a task.

mod call;
mod key_counts;
mod pool;
mod queue;
mod settle;
mod slots;

pub(crate) use call::Call;
pub(crate) use pool::{CallPool, KEPT};
pub(crate) use settle::Settled;
pub(crate) use slots::{Slot, Slots};
