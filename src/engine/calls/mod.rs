//! The calls.
//!
//! - `slots`: one slot for each call that may be in flight, and when it may be used.
//! - `attempt_timeout`: how long a call may take.
//! - `call`: one call and its answer; `key_counts`: its result for each partition key.
//! - `settle`: from the answer to the fate of each entry.
//! - `pool`: the calls in flight; `queue`: the calls that wait for a task.

mod attempt_timeout;
mod call;
mod key_counts;
mod pool;
mod queue;
mod settle;
mod slots;

pub(crate) use attempt_timeout::AttemptTimeout;
pub(crate) use call::Call;
pub(crate) use pool::{CallPool, KEPT};
#[cfg(model)]
pub(crate) use queue::{CallQueue, Queued};
pub(crate) use settle::Settled;
#[cfg(test)]
pub(crate) use settle::settle;
pub(crate) use slots::{Slot, Slots};
