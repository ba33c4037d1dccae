//! The entries of answers.

use serde_json::{Value, json};

use super::entry::{Entry, EntryResult};
use crate::fault::InjectedFault;
use crate::journal::Acknowledgement;

/// The code and the message of an error.
pub(crate) type ErrorText = (&'static str, &'static str);

/// The answers to the entries by their places, and how many of them are failures.
///
/// `accepted` returns the answer to an entry that was accepted with this number.
pub(crate) fn by_place(
    entries: &[Entry],
    results: Vec<EntryResult>,
    fault: &InjectedFault,
    throttled: ErrorText,
    accepted: impl Fn(&Entry, u64) -> Value,
) -> (Vec<Value>, usize) {
    let mut answers = Vec::with_capacity(results.len());
    let mut failures = 0;
    for (entry, result) in entries.iter().zip(results) {
        let failure = match result {
            EntryResult::Accepted(number) => {
                answers.push(accepted(entry, number));
                continue;
            }
            EntryResult::Omitted { .. } => continue,
            EntryResult::Throttled => failed(throttled.0, throttled.1),
            EntryResult::Failed { code, .. } => failed(of_json(&code), "Simulated failure"),
            EntryResult::Refused(refusal) => failed(refusal.short_code(), refusal.message()),
        };
        if matches!(fault, InjectedFault::Repeated(_)) {
            answers.push(failure.clone());
        }
        answers.push(failure);
        failures += 1;
    }
    if let (InjectedFault::Unknown(count), Some(entry)) = (fault, entries.first()) {
        answers.extend((0..*count).map(|_| accepted(entry, 0)));
    }
    (answers, failures)
}

fn failed(code: &str, message: &str) -> Value {
    json!({"ErrorCode": code, "ErrorMessage": message})
}

/// The services that answer by place call an internal error `InternalFailure`.
fn of_json(code: &str) -> &str {
    match code {
        "InternalError" => "InternalFailure",
        code => code,
    }
}

/// The answers to the entries by their ids.
#[derive(Default)]
pub(crate) struct EntryAnswers {
    pub(crate) successful: Vec<Value>,
    pub(crate) failed: Vec<Value>,
}

/// The two lists of an answer. `accepted` returns the answer to the entry with this id that was accepted with this number.
pub(crate) fn by_id(
    entries: &[Entry],
    results: Vec<EntryResult>,
    fault: &InjectedFault,
    throttled: ErrorText,
    accepted: impl Fn(&str, u64) -> Value,
) -> EntryAnswers {
    let mut answer = EntryAnswers::default();
    let failed = |id: &str, code: &str, sender_fault: bool, message: &str| json!({"Id": id, "Code": code, "SenderFault": sender_fault, "Message": message});
    for (entry, result) in entries.iter().zip(results) {
        let id = entry.json["Id"].as_str().unwrap_or_default();
        let failure = match result {
            EntryResult::Accepted(number) => {
                answer.successful.push(accepted(id, number));
                continue;
            }
            EntryResult::Omitted { .. } => continue,
            EntryResult::Throttled => failed(id, throttled.0, true, throttled.1),
            EntryResult::Failed { code, sender_fault } => failed(id, &code, sender_fault, "Simulated failure"),
            EntryResult::Refused(refusal) => failed(id, refusal.short_code(), true, refusal.message()),
        };
        answer.failed.push(failure);
    }
    match fault {
        InjectedFault::Repeated(_) => answer.failed.extend_from_within(..),
        InjectedFault::Unknown(count) => {
            for number in 0..*count {
                let id = format!("never-sent-{number}");
                answer.successful.push(accepted(&id, 0));
                answer
                    .failed
                    .push(failed(&id, "InternalError", false, "Simulated failure"));
            }
        }
        _ => {}
    }
    answer
}

/// What the caller learns about an entry from an answer by ids.
pub(crate) fn acknowledged_by_id(result: &EntryResult) -> Acknowledgement {
    result.acknowledgement()
}

/// What the caller learns about an entry from an answer by places: nothing if the answer is shorter or longer than the call.
pub(crate) fn acknowledged_by_place(fault: &InjectedFault) -> impl Fn(&EntryResult) -> Acknowledgement {
    let has_other_length = match fault {
        InjectedFault::Omitted { entries, .. } | InjectedFault::Repeated(entries) | InjectedFault::Unknown(entries) => {
            *entries > 0
        }
        _ => false,
    };
    move |result| match result.acknowledgement() {
        known if has_other_length => known.without_answer(),
        known => known,
    }
}
