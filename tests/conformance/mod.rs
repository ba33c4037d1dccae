//! Every target of the crate keeps the contract of a target, whatever its service answers.
//!
//! 50 random deliveries for each target, times `CASES`.

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
    crate::support::cases::cases(50).into()
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
