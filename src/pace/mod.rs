//! When calls may leave: the contract of a strategy, the default strategy, and how all deliveries share one.
//!
//! All deliveries whose options are clones of each other share one strategy. A call waits in the queue until it is first and the
//! strategy admits it, leaves, and its outcome is observed by the strategy.
//!
//! | file | what it is |
//! |---|---|
//! | `contract` | what a strategy is asked and learns: `BackoffStrategy`, `Pace`, and the types that these exchange |
//! | `details` | what the default strategy does beyond it: units, spaced retries, hot keys |
//! | `admission` | the question whether a call may leave, and its answer |
//! | `snapshot` | what a pace is doing, for people |
//! | `adaptive/` | the default strategy; its page explains states, signals and hot keys |
//! | `gate` | the strategy and the queue together, and when a warning was logged last |
//! | `queue` | the calls that wait, in order, and a wait that the service has named |
//! | `permit` | a call that waits, its permit to leave, and the call that has left |
//! | `strategy` | the shared strategy, which may be the caller's code and may panic |
//! | `meter` | converts between estimated and charged units |

mod adaptive;
mod admission;
mod contract;
mod details;
mod gate;
mod meter;
mod permit;
mod queue;
mod snapshot;
mod strategy;

pub use adaptive::Adaptive;
pub use admission::{Admission, Waiter};
pub use contract::{BackoffStrategy, Outcome, Pace, Retry};
pub use details::{KeyOutcome, KeyPace, PaceDetails};
pub(crate) use gate::Gate;
pub(crate) use permit::{Departure, Permit, QueuedUp};
pub use snapshot::{PaceReason, PaceSnapshot, PaceState};
