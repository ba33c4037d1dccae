//! `PutRecords`.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::ranges::hash_key;
use super::stream::{Stream, Streams, invalid_argument, shard_id};
use crate::intake::{Entry, acknowledged_by_place, by_place, data, entries_of};
use crate::journal::AnswerReceipt;
use crate::wire::{OperationOutcome, Refusal};

/// Records in a call at most. From the API reference of `PutRecords`, as all of these.
const MOST_RECORDS: usize = 500;
/// Bytes of a call at most, partition keys included: 10 MiB.
const LARGEST_CALL: usize = 10 * 1024 * 1024;
/// Characters of a partition key at most.
const LONGEST_KEY: usize = 256;
/// Digits of an explicit hash key at most.
const LONGEST_HASH_KEY: usize = 39;

/// The code of throttled records and calls.
const THROTTLED: &str = "ProvisionedThroughputExceededException";

pub(super) fn put(streams: &Streams, mut body: Value, answered: &AnswerReceipt) -> Result<OperationOutcome, Refusal> {
    let stream = streams.of_request(&body)?;
    let call = stream.intake().call(answered);
    let records = check(&stream, body["Records"].take(), call.info.number);
    let acknowledgement = acknowledged_by_place(&call.fault);
    let throttled = (THROTTLED, "Rate exceeded for the shard");
    let answer = stream.intake().answer(&call, records, acknowledgement, |records, results| {
        let accepted = |record: &Entry, number| json!({"SequenceNumber": sequence_number(number), "ShardId": shard_id(record.shard)});
        let (records, failed) = by_place(records, results, &call.fault, throttled, accepted);
        OperationOutcome::Success(json!({"FailedRecordCount": failed, "Records": records}))
    });
    Ok(answer)
}

/// The error of a call that is throttled as a whole.
pub(super) fn throughput_exceeded() -> Refusal {
    Refusal::new(THROTTLED, "Rate exceeded for the stream")
}

/// A sequence number with as many digits as those of the service.
fn sequence_number(number: u64) -> String {
    format!("49{number:054}")
}

/// Refuses the whole call, or finds the shard of each record. `call` is the number of the call.
fn check(stream: &Stream, records: Value, call: u64) -> Result<Vec<Entry>, Refusal> {
    let records = entries_of(records, "records", MOST_RECORDS)?.into_iter().zip(call..);
    let records = records.map(|(record, number)| check_record(stream, record, number));
    let records = records.collect::<Result<Vec<_>, _>>()?;
    if records.iter().map(|record| record.bytes).sum::<usize>() > LARGEST_CALL {
        return Err(invalid_argument("Records size exceeds 10 MiB limit"));
    }
    Ok(records)
}

fn check_record(stream: &Stream, record: Value, number: u64) -> Result<Entry, Refusal> {
    let key = record["PartitionKey"].as_str();
    if key.is_some_and(|key| !(1..=LONGEST_KEY).contains(&key.chars().count())) {
        return Err(invalid(format!(
            "1 validation error detected: Value at 'records.member.partitionKey' failed to satisfy constraint: Member must have \
             length less than or equal to {LONGEST_KEY} and greater than or equal to 1"
        )));
    }
    if let Some(key) = record["ExplicitHashKey"].as_str() {
        check_hash_key(key)?;
    }
    let key = key.unwrap_or_default().to_owned();
    let bytes = data(&record)?.len() + key.len();
    let limit = stream.options().largest_record;
    if bytes > limit {
        return Err(invalid_argument(format!(
            "The record has {bytes} bytes, and the stream takes records of at most {limit} bytes."
        )));
    }
    let ranges = stream.ranges();
    let shard = if stream.options().is_spreading {
        let place = usize::try_from(number % ranges.count() as u64);
        ranges.shards().start + place.unwrap_or_default()
    } else {
        let hash_key = hash_key(&record).ok_or_else(|| invalid("PartitionKey is required for this stream."))?;
        ranges.of(hash_key)
    };
    Ok(Entry {
        key,
        shard,
        ..Entry::new(record, bytes)
    })
}

/// A hash key of another form breaks the pattern of the model, one that is too large a rule of the operation.
fn check_hash_key(key: &str) -> Result<(), Refusal> {
    let is_number = key == "0" || !key.starts_with('0') && key.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || !(1..=LONGEST_HASH_KEY).contains(&key.len()) {
        return Err(invalid(
            "1 validation error detected: Value at 'records.member.explicitHashKey' failed to satisfy constraint: Member must \
             satisfy regular expression pattern: 0|([1-9]\\d{0,38})",
        ));
    }
    if key.parse::<u128>().is_err() {
        return Err(invalid_argument(
            "Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1].",
        ));
    }
    Ok(())
}

fn invalid(message: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::new("ValidationException", message)
}
