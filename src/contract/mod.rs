//! The contract of a target: what the engine asks of a service, and what a service answers.
//!
//! The engine and the services use it. It knows neither AWS nor retries, pace and order of the calls.

mod answer;
mod erased;
mod identity;
mod lane;
mod lookup;
mod target;

pub use answer::{Acknowledgement, Answer, Rejection, Verdict};
pub(crate) use erased::{ErasedTarget, WantedTraits};
#[cfg(feature = "spool")]
pub(crate) use identity::Doubts;
pub use identity::Identity;
pub use lane::Lane;
#[cfg(any(
    feature = "dynamodb",
    feature = "kinesis",
    feature = "s3",
    feature = "sns",
    feature = "sqs"
))]
pub(crate) use lane::hash_of;
#[cfg(any(feature = "dynamodb", feature = "eventbridge", feature = "sns", feature = "sqs"))]
pub(crate) use lookup::Advice;
pub use lookup::{Lookup, LookupError};
pub use target::{BatchTarget, Limits};

pub use crate::fault::{Fault, ThrottlingReason};
