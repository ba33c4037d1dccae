//! The services to deliver to.
//!
//! [`BatchTarget`] is all that a service has to implement: its limits, a check of one entry, and one call. A target
//! contains no retries, pace or order; the engine contains no AWS.

mod answer;
#[cfg(feature = "aws")]
mod classify;
#[cfg(feature = "cloudwatch")]
pub mod cloudwatch;
#[cfg(feature = "cloudwatch-logs")]
pub mod cloudwatch_logs;
#[cfg(any(
    feature = "cloudwatch",
    feature = "cloudwatch-logs",
    feature = "sqs",
    feature = "kinesis",
    feature = "firehose",
    feature = "s3",
    feature = "sns",
    feature = "eventbridge"
))]
mod correlate;
#[cfg(any(feature = "sqs", feature = "sns"))]
mod described;
#[cfg(feature = "dynamodb")]
pub mod dynamo;
#[cfg(feature = "eventbridge")]
pub mod eventbridge;
#[cfg(feature = "firehose")]
pub mod firehose;
#[cfg(feature = "kinesis")]
pub mod kinesis;
mod lane;
mod lookup;
#[cfg(test)]
mod recording;
#[cfg(feature = "aws")]
#[cfg_attr(
    not(any(
        feature = "cloudwatch",
        feature = "cloudwatch-logs",
        feature = "dynamodb",
        feature = "eventbridge",
        feature = "firehose",
        feature = "kinesis",
        feature = "s3",
        feature = "sns",
        feature = "sqs"
    )),
    expect(dead_code)
)]
mod renewal;
#[cfg(any(
    feature = "cloudwatch",
    feature = "cloudwatch-logs",
    feature = "dynamodb",
    feature = "sqs",
    feature = "kinesis",
    feature = "firehose",
    feature = "s3",
    feature = "sns",
    feature = "eventbridge"
))]
mod request;
#[cfg(feature = "s3")]
pub mod s3;
#[cfg(any(
    feature = "cloudwatch",
    feature = "cloudwatch-logs",
    feature = "dynamodb",
    feature = "sqs",
    feature = "kinesis",
    feature = "firehose",
    feature = "s3",
    feature = "sns",
    feature = "eventbridge"
))]
mod single_attempt;
#[cfg(feature = "sns")]
pub mod sns;
#[cfg(feature = "sqs")]
pub mod sqs;
mod target;
#[cfg(feature = "aws")]
mod transmission;

pub use self::target::Limits;
pub use answer::{Acknowledgement, Answer, Rejection, Verdict};
#[cfg(feature = "aws")]
pub use classify::{classify, classify_entry};
pub use lane::Lane;
pub use lookup::{Lookup, LookupError};
pub use target::BatchTarget;
#[cfg(feature = "aws")]
pub use transmission::Transmission;

pub use crate::fault::{Fault, ThrottlingReason};
