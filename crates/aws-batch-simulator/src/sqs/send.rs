//! `SendMessageBatch`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::queue::Queue;
use super::request::{Envelope, check};
use super::{named_queue, request_throttled};
use crate::Inner;
use crate::fault::InjectedFault;
use crate::gate::{Passage, Strike};
use crate::journal::{Acknowledgement, CallMark, Heard};
use crate::wire::Outcome;

pub(super) fn send(simulator: &Arc<Inner>, mut body: Value, heard: &Heard) -> Outcome {
    let queue = match named_queue(simulator, &body) {
        Ok(queue) => queue,
        Err(refusal) => return refusal.into(),
    };
    let (mark, strike) = queue.strike(heard);
    let envelopes = match check(&queue, body["Entries"].take()) {
        Ok(envelopes) => envelopes,
        Err(refusal) => {
            queue.count(|statistics| statistics.refused_calls += 1);
            return refusal.into();
        }
    };
    match strike.fault.replaces_answer() {
        Some(applied) => answer_with(applied, &queue, &envelopes, &mark, strike),
        None => answer(&queue, &envelopes, &mark, &strike),
    }
}

/// The answer of a fault. The messages may be enqueued even so.
fn answer_with(applied: bool, queue: &Queue, envelopes: &[Envelope], mark: &CallMark, strike: Strike) -> Outcome {
    let (good, bad): (Vec<&Envelope>, Vec<&Envelope>) =
        envelopes.iter().partition(|envelope| envelope.failure.is_none());
    let acknowledgement = if strike.fault.is_clear_refusal() {
        Acknowledgement::Rejected
    } else {
        Acknowledgement::Ambiguous { applied: false }
    };
    let lost = if applied {
        queue.apply(&good, mark, &strike, |passage| Acknowledgement::Ambiguous {
            applied: passage.is_applied(),
        });
        queue.skip(bad.iter().copied(), mark, acknowledgement);
        bad.len()
    } else {
        queue.skip(envelopes, mark, acknowledgement);
        envelopes.len()
    };
    let is_throttle = strike.fault.is_throttle();
    queue.count(|statistics| {
        if is_throttle {
            statistics.throttled_calls += 1;
            statistics.throttled += lost as u64;
        } else {
            statistics.failed_calls += 1;
            statistics.failed += lost as u64;
        }
    });
    if is_throttle {
        request_throttled().into()
    } else {
        Outcome::Struck(strike.fault)
    }
}

fn answer(queue: &Queue, envelopes: &[Envelope], mark: &CallMark, strike: &Strike) -> Outcome {
    let (good, bad): (Vec<&Envelope>, Vec<&Envelope>) =
        envelopes.iter().partition(|envelope| envelope.failure.is_none());
    let passages = queue.apply(&good, mark, strike, |passage| match passage {
        Passage::Passed => Acknowledgement::Accepted,
        Passage::Omitted { applied } => Acknowledgement::Ambiguous { applied: *applied },
        Passage::Throttled(_) | Passage::Failed { .. } => Acknowledgement::Rejected,
    });
    queue.skip(bad.iter().copied(), mark, Acknowledgement::Rejected);
    queue.count(|statistics| statistics.failed += bad.len() as u64);
    let is_throttled = |(passage, _): &(Passage, u64)| matches!(passage, Passage::Throttled(_));
    if bad.is_empty() && passages.iter().all(is_throttled) {
        queue.count(|statistics| statistics.throttled_calls += 1);
        return request_throttled().into();
    }

    let mut successful = Vec::new();
    let mut failed: Vec<Value> = bad.into_iter().filter_map(own_failure).collect();
    for (envelope, (passage, sequence)) in good.into_iter().zip(passages) {
        match passage {
            Passage::Passed => successful.push(success(queue, envelope, sequence)),
            Passage::Throttled(_) => failed.push(failure(envelope, "RequestThrottled", true, "Rate exceeded")),
            Passage::Failed { code, sender_fault } => {
                failed.push(failure(envelope, &code, sender_fault, "Simulated failure"));
            }
            Passage::Omitted { .. } => {}
        }
    }
    match strike.fault {
        InjectedFault::Repeated(_) => failed.extend_from_within(..),
        InjectedFault::Unknown(count) => {
            for number in 0..count {
                let id = format!("never-sent-{number}");
                successful.push(json!({"Id": id, "MessageId": message_id(0), "MD5OfMessageBody": ""}));
                failed.push(json!({"Id": id, "Code": "InternalError", "SenderFault": false}));
            }
        }
        _ => {}
    }
    let answer = json!({"Successful": successful, "Failed": failed});
    match strike.fault {
        InjectedFault::Slow(delay) => Outcome::Late(answer, delay),
        _ => Outcome::Success(answer),
    }
}

fn success(queue: &Queue, envelope: &Envelope, sequence: u64) -> Value {
    let mut success = json!({
        "Id": envelope.id,
        "MessageId": message_id(sequence),
        "MD5OfMessageBody": envelope.body_digest,
    });
    if let Some(digest) = &envelope.attributes_digest {
        success["MD5OfMessageAttributes"] = json!(digest);
    }
    if queue.is_fifo() {
        success["SequenceNumber"] = json!(sequence_number(sequence));
    }
    success
}

fn own_failure(envelope: &Envelope) -> Option<Value> {
    let refusal = envelope.failure.as_ref()?;
    Some(failure(envelope, refusal.short_code(), true, refusal.message()))
}

fn failure(envelope: &Envelope, code: &str, sender_fault: bool, message: &str) -> Value {
    json!({"Id": envelope.id, "Code": code, "SenderFault": sender_fault, "Message": message})
}

pub(super) fn message_id(sequence: u64) -> String {
    format!("00000000-0000-4000-9000-{sequence:012x}")
}

/// A sequence number of 20 digits, as those of the service.
pub(super) fn sequence_number(sequence: u64) -> String {
    format!("{:020}", 18_000_000_000_000_000_000 + sequence)
}
