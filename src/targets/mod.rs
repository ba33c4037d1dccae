//! The services to deliver to.
//!
//! [`BatchTarget`] is all that a service has to implement: its limits, a check of one entry, and one call. A target
//! contains no retries, pace or order; the engine contains no AWS.

mod answer;
#[cfg(feature = "aws")]
mod answer_limit;
#[cfg(feature = "aws")]
mod classify;
#[cfg(feature = "cloudwatch")]
pub mod cloudwatch;
#[cfg(feature = "cloudwatch-logs")]
pub mod cloudwatch_logs;
#[cfg(feature = "_service")]
#[allow(dead_code, reason = "each service uses a part of it")]
mod correlate;
#[cfg(any(feature = "sqs", feature = "sns"))]
mod described;
#[cfg(feature = "dynamodb")]
pub mod dynamo;
mod erased;
#[cfg(feature = "eventbridge")]
pub mod eventbridge;
#[cfg(feature = "firehose")]
pub mod firehose;
mod identity;
#[cfg(feature = "kinesis")]
pub mod kinesis;
mod lane;
#[cfg(test)]
mod limits_tests;
mod lookup;
#[cfg(test)]
mod recording;
#[cfg(feature = "aws")]
#[cfg_attr(not(feature = "_service"), expect(dead_code))]
mod renewal;
#[cfg(feature = "_service")]
mod request;
#[cfg(feature = "s3")]
pub mod s3;
#[cfg(feature = "sns")]
pub mod sns;
#[cfg(feature = "sqs")]
pub mod sqs;
#[cfg(all(test, feature = "dynamodb", feature = "eventbridge"))]
mod stops_tests;
mod target;
#[cfg(feature = "aws")]
mod transmission;
#[cfg(feature = "aws")]
mod whole_body;

pub use self::target::Limits;
pub use answer::{Acknowledgement, Answer, Rejection, Verdict};
#[cfg(feature = "aws")]
pub use answer_limit::AnswerLimit;
#[cfg(any(feature = "dynamodb", feature = "eventbridge"))]
pub(crate) use classify::of_named_resources;
#[cfg(feature = "aws")]
pub use classify::{classify, classify_entry};
pub(crate) use erased::{ErasedTarget, Wanted};
#[cfg(feature = "spool")]
pub(crate) use identity::Doubts;
pub use identity::Identity;
pub use lane::Lane;
pub use lookup::{Lookup, LookupError};
pub use target::BatchTarget;
#[cfg(feature = "aws")]
pub use transmission::Transmission;

pub use crate::fault::{Fault, ThrottlingReason};
