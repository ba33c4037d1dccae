//! The entries that wait, and when a rejected one is sent again.
//!
//! - `decision`: whether and when a rejected entry is sent again; `delays`: rejected entries of one call share a delay.
//! - `queue`: rejected entries, before and after the moment of their retry.
//! - `bisection`: refused calls, halved until the entries at fault are alone.
//! - `key_lines`: entries that wait by partition key.
//! - `expiries`: when to look for entries whose time is used up.
//! - `backlog`: owns the queue, the bisections, the key lines and the lanes.

mod backlog;
mod bisection;
mod decision;
mod delays;
mod expiries;
mod key_lines;
mod queue;

pub(crate) use backlog::Backlog;
pub(crate) use bisection::Bisection;
pub(crate) use decision::{Decision, Retries};
pub(crate) use expiries::{Expiries, Search};
