//! `PublishBatch`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::request::check;
use super::{THROTTLED, named_topic, throttled};
use crate::Inner;
use crate::fault::InjectedFault;
use crate::intake::{Fate, acknowledged_by_id, by_id};
use crate::journal::Heard;
use crate::wire::Outcome;

pub(super) fn publish(simulator: &Arc<Inner>, mut body: Value, heard: &Heard) -> Outcome {
    let topic = match named_topic(simulator, &body) {
        Ok(topic) => topic,
        Err(refusal) => return refusal.into(),
    };
    let call = topic.intake().call(heard);
    let arrivals = match check(&topic, body["PublishBatchRequestEntries"].take()) {
        Ok(arrivals) => arrivals,
        Err(refusal) => {
            topic.intake().refused();
            return refusal.into();
        }
    };
    let fates = match topic.intake().admit(&call, &arrivals, acknowledged_by_id) {
        Ok(fates) => fates,
        Err(fault) => return Outcome::Struck(fault),
    };
    if fates.iter().all(|fate| matches!(fate, Fate::Throttled)) {
        topic.intake().throttled();
        return throttled().into();
    }
    let fault = &call.strike.fault;
    let answer = by_id(&arrivals, fates, fault, THROTTLED, |id, number| {
        let mut accepted = json!({"Id": id, "MessageId": format!("00000000-0000-4000-b000-{number:012x}")});
        if topic.is_fifo() {
            accepted["SequenceNumber"] = json!(format!("{:020}", 10_000_000_000_000_000_000 + number));
        }
        accepted
    });
    let answer = json!({"Successful": {"member": answer.successful}, "Failed": {"member": answer.failed}});
    match fault {
        InjectedFault::Slow(delay) => Outcome::Late(answer, *delay),
        _ => Outcome::Success(answer),
    }
}
