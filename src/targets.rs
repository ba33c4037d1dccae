//! The services to deliver to.
//!
//! [`BatchTarget`] is all that a service has to implement: its limits, a check of one entry, and one call. A target
//! contains no retries, pace or order; the engine contains no AWS.
//!
//! - `dynamo`, `sqs` and `kinesis`.
//! - More services: `firehose`, `sns`, `eventbridge`, `s3`, `cloudwatch`, `cloudwatch_logs`.
//!
//! Each is there with the feature of its service.

#[cfg(feature = "aws")]
pub use crate::aws::{AnswerLimit, Transmission, classify, classify_entry};
pub use crate::contract::{
    Acknowledgement, Answer, BatchTarget, Fault, Identity, Lane, Limits, Lookup, LookupError, Rejection,
    ThrottlingReason, Verdict,
};
#[cfg(feature = "cloudwatch")]
pub use crate::services::cloudwatch;
#[cfg(feature = "cloudwatch-logs")]
pub use crate::services::cloudwatch_logs;
#[cfg(feature = "dynamodb")]
pub use crate::services::dynamo;
#[cfg(feature = "eventbridge")]
pub use crate::services::eventbridge;
#[cfg(feature = "firehose")]
pub use crate::services::firehose;
#[cfg(feature = "kinesis")]
pub use crate::services::kinesis;
#[cfg(feature = "s3")]
pub use crate::services::s3;
#[cfg(feature = "sns")]
pub use crate::services::sns;
#[cfg(feature = "sqs")]
pub use crate::services::sqs;
