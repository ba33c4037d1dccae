//! What was read and waits to be sent, and when a leftover goes again.
//!
//! - `decision`: whether and when an entry that was rejected goes again; `rests`: the leftovers of a call share a delay.
//! - `queue`: rejected entries, first at rest, then ready.
//! - `bisection`: refused calls, halved until the entries at fault are found.
//! - `key_lines`: entries that wait by their partition key.
//! - `backlog`: owns the queue, the bisections, the key lines and the lanes.

mod backlog;
mod bisection;
mod decision;
mod key_lines;
mod queue;
mod rests;

pub(crate) use backlog::Backlog;
pub(crate) use bisection::Bisection;
pub(crate) use decision::{Decision, Retries};
