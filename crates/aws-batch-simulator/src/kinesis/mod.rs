//! The part of Kinesis that accepts records: `PutRecords`, `ListShards` and `DescribeStreamSummary`.

mod options;
mod put;
mod ranges;
mod shards;
mod stream;

use serde_json::Value;

pub use self::options::StreamOptions;
use self::stream::Streams;
pub use self::stream::{Stream, StreamRecord};
use crate::journal::AnswerReceipt;
use crate::wire::{Api, OperationOutcome, Protocol, Refusal};

pub(crate) const API: Api = Api {
    protocol: Protocol::Json11,
    namespace: "",
    has_checksums: false,
    has_query_errors: false,
    throttled: put::throughput_exceeded,
};

pub(crate) fn operate(streams: &Streams, operation: &str, body: Value, answered: &AnswerReceipt) -> OperationOutcome {
    match operation {
        "PutRecords" => put::put(streams, body, answered).into(),
        "ListShards" => shards::list(streams, &body).into(),
        "DescribeStreamSummary" => shards::describe(streams, &body).into(),
        _ => Refusal::unknown_operation().into(),
    }
}
