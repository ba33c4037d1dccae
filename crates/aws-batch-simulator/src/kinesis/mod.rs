//! The part of Kinesis that accepts records: `PutRecords`, `ListShards` and `DescribeStreamSummary`.

mod describe;
mod list;
mod options;
mod put;
mod ranges;
mod request;
mod stream;

use std::sync::Arc;

use serde_json::Value;

use super::journal::Heard;
use super::wire::{Outcome, Refusal, unknown_operation};
use super::{ACCOUNT, Inner};

pub use self::options::StreamOptions;
pub use self::stream::{Stream, StreamRecord};

pub(crate) fn operate(simulator: &Arc<Inner>, operation: &str, body: Value, heard: &Heard) -> Outcome {
    match operation {
        "PutRecords" => put::put(simulator, body, heard),
        "ListShards" => list::list(simulator, &body).into(),
        "DescribeStreamSummary" => describe::describe(simulator, &body).into(),
        _ => unknown_operation().into(),
    }
}

/// The answer to a call that is throttled as a whole.
pub(crate) fn throughput_exceeded() -> Refusal {
    Refusal::new(THROTTLED, "Rate exceeded for the stream")
}

/// The code of throttled records and calls.
const THROTTLED: &str = "ProvisionedThroughputExceededException";

fn invalid_argument(message: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new("InvalidArgumentException", message)
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new("ValidationException", message)
}

/// The stream that a request names, by its name or its ARN.
fn named_stream(simulator: &Inner, body: &Value) -> Result<Stream, Refusal> {
    let of_arn = body["StreamARN"].as_str().and_then(|arn| arn.rsplit_once(":stream/"));
    let name = of_arn.map(|(_, name)| name).or(body["StreamName"].as_str());
    let name = name.ok_or_else(|| invalid_argument("Either StreamName or StreamARN should be provided."))?;
    find_stream(simulator, name)
}

fn find_stream(simulator: &Inner, name: &str) -> Result<Stream, Refusal> {
    simulator.streams.find(name).ok_or_else(|| {
        Refusal::new(
            "ResourceNotFoundException",
            format!("Stream {name} under account {ACCOUNT} not found."),
        )
    })
}
