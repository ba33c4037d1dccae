//! The functions that are fuzzed, which the tests run as well.

#![allow(dead_code, reason = "each target uses a part")]

#[path = "../../tests/answers/bytes.rs"]
mod bytes;
#[path = "../../tests/spool/changed.rs"]
mod changed;
#[path = "../../tests/answers/delivering.rs"]
mod delivering;
#[path = "../../tests/answers/dynamo.rs"]
mod dynamo;
#[path = "../../tests/answers/expressions.rs"]
mod expressions;
#[path = "../../tests/answers/kinesis.rs"]
mod kinesis;
#[path = "../../tests/answers/nonsense.rs"]
mod nonsense;
#[path = "../../tests/answers/service.rs"]
mod service;
#[path = "../../tests/answers/sizes.rs"]
mod sizes;
#[path = "../../tests/answers/sqs.rs"]
mod sqs;

/// Answers of DynamoDB.
pub fn dynamo_answers(data: &[u8]) {
    dynamo::answers(data);
}

/// Answers of SQS.
pub fn sqs_answers(data: &[u8]) {
    sqs::answers(data);
}

/// Answers of Kinesis.
pub fn kinesis_answers(data: &[u8]) {
    kinesis::answers(data);
}

/// Items of any size.
pub fn dynamo_sizes(data: &[u8]) {
    sizes::of_writes(data);
}

/// Messages of any size.
pub fn sqs_sizes(data: &[u8]) {
    sizes::of_messages(data);
}

/// Files that `batch-deliver` reads.
pub fn inputs(data: &[u8]) {
    batch_deliver::fuzzing::inputs(data);
}

/// Journals of `batch-deliver`.
pub fn journals(data: &[u8]) {
    batch_deliver::fuzzing::journals(data);
}

/// Updates and conditions.
pub fn expressions(data: &[u8]) {
    expressions::of_changes(data);
}

/// Files of a spool of which anything is changed.
pub fn spools(data: &[u8]) {
    changed::of_bytes(data);
}
