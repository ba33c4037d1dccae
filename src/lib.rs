//! Delivers any number of entries to DynamoDB and SQS.

// A test may unwrap.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

pub mod backoff;
mod delivery;
mod engine;
mod invalid;
mod options;
mod progress;
mod report;
#[cfg(feature = "simulator")]
pub mod simulator;
pub mod target;

pub use delivery::Delivery;
pub use invalid::{InvalidEntry, InvalidOption};
pub use options::DeliveryOptions;
pub use progress::{Progress, Snapshot};
pub use report::{Cause, DeliveryError, Report, Undelivered};
