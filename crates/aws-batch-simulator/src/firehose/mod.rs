//! The part of Firehose that accepts records: `PutRecordBatch`.

mod options;
mod put;
mod stream;

use std::sync::Arc;

use serde_json::Value;

use super::Inner;
use super::journal::Heard;
use super::wire::{Outcome, Refusal, unknown_operation};

pub use self::options::DeliveryStreamOptions;
pub use self::stream::DeliveryStream;

pub(crate) fn operate(simulator: &Arc<Inner>, operation: &str, body: Value, heard: &Heard) -> Outcome {
    match operation {
        "PutRecordBatch" => put::put(simulator, body, heard),
        _ => unknown_operation().into(),
    }
}

/// The answer to a call that is throttled as a whole.
pub(crate) fn unavailable() -> Refusal {
    Refusal::new(THROTTLED.0, THROTTLED.1).status(503)
}

/// Code and message of throttled records and calls.
const THROTTLED: (&str, &str) = ("ServiceUnavailableException", "Slow down.");
