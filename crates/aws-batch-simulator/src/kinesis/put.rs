//! `PutRecords`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::request::check;
use super::stream::{sequence_number, shard_id};
use super::{THROTTLED, named_stream};
use crate::Inner;
use crate::fault::InjectedFault;
use crate::intake::{acknowledged_by_place, by_place};
use crate::journal::Heard;
use crate::wire::Outcome;

pub(super) fn put(simulator: &Arc<Inner>, mut body: Value, heard: &Heard) -> Outcome {
    let stream = match named_stream(simulator, &body) {
        Ok(stream) => stream,
        Err(refusal) => return refusal.into(),
    };
    let call = stream.intake().call(heard);
    let arrivals = match check(&stream, body["Records"].take(), call.mark.call) {
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
    let throttled = (THROTTLED, "Rate exceeded for the shard");
    let (records, failed) = by_place(
        &arrivals,
        fates,
        fault,
        throttled,
        |arrival, number| json!({"SequenceNumber": sequence_number(number), "ShardId": shard_id(arrival.shard)}),
    );
    let answer = json!({"FailedRecordCount": failed, "Records": records});
    match fault {
        InjectedFault::Slow(delay) => Outcome::Late(answer, *delay),
        _ => Outcome::Success(answer),
    }
}
