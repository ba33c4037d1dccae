//! The services to deliver to.
//!
//! [`BatchTarget`] is all that a service has to implement: its limits, a check of one entry, and one call. A target knows
//! nothing of retries, pace or order; the loop knows nothing of AWS.

mod answer;
#[cfg(feature = "aws")]
mod classify;
#[cfg(feature = "dynamodb")]
pub mod dynamo;
mod lane;
mod limits;
mod lookup;
#[cfg(test)]
mod recording;
#[cfg(any(feature = "dynamodb", feature = "sqs"))]
mod single_attempt;
#[cfg(feature = "sqs")]
pub mod sqs;
mod target;
mod throttling;
#[cfg(feature = "aws")]
mod transmission;

pub use answer::{Acknowledgement, Answer, Fault, Rejection, Verdict};
#[cfg(feature = "aws")]
pub use classify::{classify, classify_entry};
pub use lane::Lane;
pub use limits::Limits;
pub use lookup::{Lookup, LookupError};
pub use target::BatchTarget;
pub use throttling::ThrottlingReason;
#[cfg(feature = "aws")]
pub use transmission::Transmission;
