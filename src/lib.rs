//! Delivers any number of entries to DynamoDB and SQS.

pub mod backoff;
mod invalid;
#[cfg(feature = "simulator")]
pub mod simulator;
pub mod target;

pub use invalid::{InvalidEntry, InvalidOption};
