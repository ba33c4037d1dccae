//! The services of AWS, each a target or a few.
//!
//! A service makes one call and reads its answer. It contains no retries, pace or order.

#[cfg(feature = "_service")]
#[allow(dead_code, reason = "each service uses a part of it")]
mod checks;
#[cfg(feature = "cloudwatch")]
pub mod cloudwatch;
#[cfg(feature = "cloudwatch-logs")]
pub mod cloudwatch_logs;
#[cfg(feature = "_service")]
mod debug;
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
#[cfg(test)]
mod limits_tests;
#[cfg(feature = "s3")]
pub mod s3;
#[cfg(feature = "sns")]
pub mod sns;
#[cfg(feature = "sqs")]
pub mod sqs;
#[cfg(all(test, feature = "dynamodb", feature = "eventbridge"))]
mod stops_tests;
