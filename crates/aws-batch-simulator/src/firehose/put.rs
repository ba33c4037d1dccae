//! `PutRecordBatch`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::THROTTLED;
use super::stream::DeliveryStream;
use crate::fault::InjectedFault;
use crate::intake::{Arrival, acknowledged_by_place, by_place, data};
use crate::journal::Heard;
use crate::wire::{Outcome, Refusal};
use crate::{ACCOUNT, Inner};

/// Records in a call at most. From the API reference of `PutRecordBatch`, as all of these.
const MOST_RECORDS: usize = 500;
/// Bytes of the data of a call at most: 4 MiB.
const LARGEST_CALL: usize = 4 * 1024 * 1024;
/// Bytes of a record's data at most: 1,000 KiB.
const LARGEST_RECORD: usize = 1_024_000;

pub(super) fn put(simulator: &Arc<Inner>, mut body: Value, heard: &Heard) -> Outcome {
    let name = body["DeliveryStreamName"].as_str().unwrap_or_default();
    let Some(stream) = simulator.delivery_streams.find(name) else {
        let message = format!("Firehose {name} under account {ACCOUNT} not found.");
        return Refusal::new("ResourceNotFoundException", message).into();
    };
    answer(&stream, body["Records"].take(), heard)
}

fn answer(stream: &DeliveryStream, records: Value, heard: &Heard) -> Outcome {
    let call = stream.intake().call(heard);
    let arrivals = match check(records) {
        Ok(arrivals) => arrivals,
        Err(refusal) => {
            stream.intake().refused();
            return refusal.into();
        }
    };
    let fault = &call.strike.fault;
    let fates = match stream.intake().admit(&call, &arrivals, acknowledged_by_place(fault)) {
        Ok(fates) => fates,
        Err(fault) => return Outcome::Struck(fault),
    };
    let (records, failed) = by_place(
        &arrivals,
        fates,
        fault,
        THROTTLED,
        |_, number| json!({"RecordId": format!("{number:032}")}),
    );
    let answer = json!({"FailedPutCount": failed, "Encrypted": false, "RequestResponses": records});
    match fault {
        InjectedFault::Slow(delay) => Outcome::Late(answer, *delay),
        _ => Outcome::Success(answer),
    }
}

fn check(records: Value) -> Result<Vec<Arrival>, Refusal> {
    let invalid = |what: String| {
        let message = format!("1 validation error detected: Value at 'records' failed to satisfy constraint: {what}");
        Refusal::new("ValidationException", message)
    };
    let records = match records {
        Value::Array(records) if (1..=MOST_RECORDS).contains(&records.len()) => records,
        _ => {
            return Err(invalid(format!(
                "Member must have length less than or equal to {MOST_RECORDS} and greater than or equal to 1"
            )));
        }
    };
    let mut arrivals = Vec::with_capacity(records.len());
    for record in records {
        let bytes = data(&record)?.len();
        if bytes > LARGEST_RECORD {
            return Err(invalid(format!(
                "Member must have data with length less than or equal to {LARGEST_RECORD}"
            )));
        }
        arrivals.push(Arrival::new(record, bytes));
    }
    if arrivals.iter().map(|arrival| arrival.bytes).sum::<usize>() > LARGEST_CALL {
        let message = "Records size exceeds 4 MiB limit";
        return Err(Refusal::new("InvalidArgumentException", message));
    }
    Ok(arrivals)
}
