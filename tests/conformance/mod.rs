//! Every target of the crate keeps the contract of a target, whatever its service answers.
//!
//! `CONFORMANCE_CASES` is the number of random deliveries for each target. Default: 200.

mod broken;
#[cfg(feature = "cloudwatch")]
mod cloudwatch;
#[cfg(feature = "cloudwatch-logs")]
mod cloudwatch_logs;
mod dynamo;
#[cfg(feature = "eventbridge")]
mod eventbridge;
#[cfg(feature = "firehose")]
mod firehose;
#[cfg(feature = "kinesis")]
mod kinesis;
#[cfg(feature = "s3")]
mod s3;
#[cfg(feature = "sns")]
mod sns;
mod sqs;
mod throttles;
mod wire;

fn cases() -> u64 {
    let set = std::env::var("CONFORMANCE_CASES").ok();
    set.map_or(200, |cases| cases.parse().expect("CONFORMANCE_CASES is a number"))
}

/// The text of an entry: its number, and `bytes` letters.
fn text(number: usize, bytes: usize) -> String {
    format!("{number} {}", "x".repeat(bytes))
}

/// The number that a [`text`] begins with.
fn number(text: &str) -> usize {
    let digits = text.split(|letter: char| !letter.is_ascii_digit()).next();
    digits
        .and_then(|digits| digits.parse().ok())
        .expect("an entry begins with its number")
}
