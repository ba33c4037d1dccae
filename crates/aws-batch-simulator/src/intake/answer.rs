//! The entries of answers.

use serde_json::{Value, json};

use super::entry::{Entry, EntryResult};
use crate::fault::InjectedFault;
use crate::journal::Acknowledgement;
use crate::wire::Refusal;

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

/// The answers to the entries of a call by their ids.
#[derive(Default)]
pub(crate) struct AnswersById {
    pub(crate) successful: Vec<Value>,
    pub(crate) failed: Vec<Value>,
}

impl AnswersById {
    /// Adds an entry. `accepted` returns the answer to one that was accepted with this number.
    pub(crate) fn add(
        &mut self,
        id: &str,
        result: EntryResult,
        throttled: ErrorText,
        accepted: impl FnOnce(u64) -> Value,
    ) {
        let failure = match result {
            EntryResult::Accepted(number) => return self.successful.push(accepted(number)),
            EntryResult::Omitted { .. } => return,
            EntryResult::Throttled => failure(id, throttled.0, true, throttled.1),
            EntryResult::Failed { code, sender_fault } => failure(id, &code, sender_fault, "Simulated failure"),
            EntryResult::Refused(refusal) => return self.refuse(id, &refusal),
        };
        self.failed.push(failure);
    }

    /// Adds an entry that fails by itself.
    pub(crate) fn refuse(&mut self, id: &str, refusal: &Refusal) {
        let failure = failure(id, refusal.short_code(), true, refusal.message());
        self.failed.push(failure);
    }

    /// Adds what the answer has too much by a fault. `never_sent` returns both answers to an entry that is not in the call.
    pub(crate) fn add_of_fault(&mut self, fault: &InjectedFault, never_sent: impl Fn(&str) -> [Value; 2]) {
        match fault {
            InjectedFault::Repeated(_) => self.failed.extend_from_within(..),
            InjectedFault::Unknown(count) => {
                for number in 0..*count {
                    let [success, failure] = never_sent(&format!("never-sent-{number}"));
                    self.successful.push(success);
                    self.failed.push(failure);
                }
            }
            _ => {}
        }
    }
}

fn failure(id: &str, code: &str, sender_fault: bool, message: &str) -> Value {
    json!({"Id": id, "Code": code, "SenderFault": sender_fault, "Message": message})
}

/// The error of an entry that is not in the call.
pub(crate) fn failure_of_never_sent(id: &str) -> Value {
    failure(id, "InternalError", false, "Simulated failure")
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
