//! Checks records as Kinesis does.

use serde_json::Value;

use super::ranges::hash_key;
use super::stream::Stream;
use super::{invalid, invalid_argument};
use crate::intake::{Arrival, data};
use crate::wire::Refusal;

/// Records in a call at most. From the API reference of `PutRecords`, as all of these.
const MOST_RECORDS: usize = 500;
/// Bytes of a call at most, partition keys included: 10 MiB.
const LARGEST_CALL: usize = 10 * 1024 * 1024;
/// Characters of a partition key at most.
const LONGEST_KEY: usize = 256;

/// Refuses the whole call, or finds the shard of each record. `call` is the number of the call.
pub(super) fn check(stream: &Stream, records: Value, call: u64) -> Result<Vec<Arrival>, Refusal> {
    let records = match records {
        Value::Array(records) if (1..=MOST_RECORDS).contains(&records.len()) => records,
        _ => {
            return Err(invalid(format!(
                "1 validation error detected: Value at 'records' failed to satisfy constraint: Member must have length less \
                 than or equal to {MOST_RECORDS} and greater than or equal to 1"
            )));
        }
    };
    let arrivals = records.into_iter().zip(call..);
    let arrivals = arrivals.map(|(record, number)| check_record(stream, record, number));
    let arrivals = arrivals.collect::<Result<Vec<_>, _>>()?;
    if arrivals.iter().map(|arrival| arrival.bytes).sum::<usize>() > LARGEST_CALL {
        return Err(invalid_argument("Records size exceeds 10 MiB limit"));
    }
    Ok(arrivals)
}

fn check_record(stream: &Stream, record: Value, number: u64) -> Result<Arrival, Refusal> {
    let key = record["PartitionKey"].as_str();
    if key.is_some_and(|key| !(1..=LONGEST_KEY).contains(&key.chars().count())) {
        return Err(invalid(format!(
            "1 validation error detected: Value at 'records.member.partitionKey' failed to satisfy constraint: Member must have \
             length less than or equal to {LONGEST_KEY} and greater than or equal to 1"
        )));
    }
    if let Some(key) = record["ExplicitHashKey"].as_str()
        && (key.parse::<u128>().is_err() || key.len() > 1 && key.starts_with(['0', '+']))
    {
        return Err(invalid_argument("Invalid ExplicitHashKey."));
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
        usize::try_from(number % ranges.count() as u64).unwrap_or_default()
    } else {
        let hash_key = hash_key(&record).ok_or_else(|| invalid("PartitionKey is required for this stream."))?;
        ranges.of(hash_key)
    };
    Ok(Arrival {
        key,
        shard,
        ..Arrival::new(record, bytes)
    })
}
