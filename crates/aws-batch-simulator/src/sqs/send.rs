//! `SendMessageBatch`.

use serde_json::{Value, json};

use super::queue::{Queue, Queues, SendEntry};
use super::request::{check, queue_of};
use crate::calls::{Call, Verdict};
use crate::intake::{AnswersById, EntryResult, ErrorText};
use crate::journal::{Acknowledgement, AnswerReceipt};
use crate::wire::{OperationOutcome, Refusal};

/// The error of throttled messages and calls.
pub(super) const THROTTLED: ErrorText = ("RequestThrottled", "Rate exceeded");

pub(super) fn send(queues: &Queues, mut body: Value, answered: &AnswerReceipt) -> Result<OperationOutcome, Refusal> {
    let queue = queue_of(queues, &body)?;
    let call = queue.with_gate(|gate| gate.call(answered));
    let entries = check(&queue, body["Entries"].take()).inspect_err(|_| {
        queue.with_gate(|gate| gate.statistics.refused_calls += 1);
    })?;
    match call.fault.replaces_answer() {
        Some(applied) => Ok(answer_with_fault(applied, &queue, &entries, call)),
        None => answer(&queue, &entries, &call),
    }
}

/// The error of a call in which no message was accepted.
pub(super) fn request_throttled() -> Refusal {
    Refusal::new(THROTTLED.0, THROTTLED.1)
}

/// The answer of a fault. The messages may be enqueued even so.
fn answer_with_fault(applied: bool, queue: &Queue, entries: &[SendEntry], call: Call) -> OperationOutcome {
    let acknowledgement = call.fault.acknowledgement_of_skipped();
    let skipped = if applied {
        let (good, bad) = partition(entries);
        queue.apply(&good, &call, |verdict| verdict.acknowledgement().without_answer());
        queue.record(bad.iter().copied(), &call, acknowledgement);
        bad.len()
    } else {
        queue.record(entries, &call, acknowledgement);
        entries.len()
    };
    queue.with_gate(|gate| gate.count_failed_call(&call.fault, skipped));
    OperationOutcome::Fault(call.fault)
}

fn answer(queue: &Queue, entries: &[SendEntry], call: &Call) -> Result<OperationOutcome, Refusal> {
    let (good, bad) = partition(entries);
    let verdicts = queue.apply(&good, call, Verdict::acknowledgement);
    queue.record(bad.iter().copied(), call, Acknowledgement::Rejected);
    queue.with_gate(|gate| gate.count_refused_entries(bad.len()));
    if bad.is_empty() && verdicts.iter().all(|(verdict, _)| verdict.is_throttled()) {
        queue.with_gate(|gate| gate.statistics.throttled_calls += 1);
        return Err(request_throttled());
    }

    let mut answers = AnswersById::default();
    for entry in bad {
        if let Some(refusal) = &entry.failure {
            answers.refuse(&entry.id, refusal);
        }
    }
    for (entry, (verdict, sequence)) in good.into_iter().zip(verdicts) {
        let result = EntryResult::of(verdict, sequence);
        answers.add(&entry.id, result, THROTTLED, |sequence| success(queue, entry, sequence));
    }
    answers.add_of_fault(&call.fault, |id| {
        let success = json!({"Id": id, "MessageId": queue.message_id(0), "MD5OfMessageBody": ""});
        let failure = json!({"Id": id, "Code": "InternalError", "SenderFault": false});
        [success, failure]
    });
    let answer = json!({"Successful": answers.successful, "Failed": answers.failed});
    Ok(OperationOutcome::Success(answer))
}

/// The entries that may be enqueued, and those that fail by themselves.
fn partition(entries: &[SendEntry]) -> (Vec<&SendEntry>, Vec<&SendEntry>) {
    entries.iter().partition(|entry| entry.failure.is_none())
}

fn success(queue: &Queue, entry: &SendEntry, sequence: u64) -> Value {
    let mut success = json!({
        "Id": entry.id,
        "MessageId": queue.message_id(sequence),
        "MD5OfMessageBody": entry.body_digest,
    });
    if let Some(digest) = &entry.attributes_digest {
        success["MD5OfMessageAttributes"] = json!(digest);
    }
    if let Some(digest) = &entry.system_attributes_digest {
        success["MD5OfMessageSystemAttributes"] = json!(digest);
    }
    if queue.is_fifo() {
        success["SequenceNumber"] = json!(sequence_number(sequence));
    }
    success
}

/// A sequence number of 20 digits, as those of the service.
pub(super) fn sequence_number(sequence: u64) -> String {
    format!("{:020}", 18_000_000_000_000_000_000 + sequence)
}
