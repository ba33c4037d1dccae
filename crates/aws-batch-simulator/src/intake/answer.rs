//! The entries of answers.

use serde_json::{Value, json};

use super::{Arrival, Fate};
use crate::fault::InjectedFault;

/// Code and message of a throttled entry.
type Words = (&'static str, &'static str);

/// The answers to the entries by their places, and how many of them are failures.
///
/// `accepted` returns the answer to an entry that was accepted with this number.
pub(crate) fn by_place(
    arrivals: &[Arrival],
    fates: Vec<Fate>,
    fault: &InjectedFault,
    throttled: Words,
    accepted: impl Fn(&Arrival, u64) -> Value,
) -> (Vec<Value>, usize) {
    let mut answers = Vec::with_capacity(fates.len());
    let mut failures = 0;
    for (arrival, fate) in arrivals.iter().zip(fates) {
        let failure = match fate {
            Fate::Taken(number) => {
                answers.push(accepted(arrival, number));
                continue;
            }
            Fate::Omitted { .. } => continue,
            Fate::Throttled => failed(throttled.0, throttled.1),
            Fate::Failed { code, .. } => failed(of_json(&code), "Simulated failure"),
            Fate::Refused(refusal) => failed(refusal.short_code(), refusal.message()),
        };
        if matches!(fault, InjectedFault::Repeated(_)) {
            answers.push(failure.clone());
        }
        answers.push(failure);
        failures += 1;
    }
    if let (InjectedFault::Unknown(count), Some(arrival)) = (fault, arrivals.first()) {
        answers.extend((0..*count).map(|_| accepted(arrival, 0)));
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
pub(crate) struct ById {
    pub(crate) successful: Vec<Value>,
    pub(crate) failed: Vec<Value>,
}

/// The two lists of an answer. `accepted` returns the answer to the entry with this id that was accepted with this number.
pub(crate) fn by_id(
    arrivals: &[Arrival],
    fates: Vec<Fate>,
    fault: &InjectedFault,
    throttled: Words,
    accepted: impl Fn(&str, u64) -> Value,
) -> ById {
    let mut answer = ById::default();
    let failed = |id: &str, code: &str, sender_fault: bool, message: &str| json!({"Id": id, "Code": code, "SenderFault": sender_fault, "Message": message});
    for (arrival, fate) in arrivals.iter().zip(fates) {
        let id = arrival.entry["Id"].as_str().unwrap_or_default();
        let failure = match fate {
            Fate::Taken(number) => {
                answer.successful.push(accepted(id, number));
                continue;
            }
            Fate::Omitted { .. } => continue,
            Fate::Throttled => failed(id, throttled.0, true, throttled.1),
            Fate::Failed { code, sender_fault } => failed(id, &code, sender_fault, "Simulated failure"),
            Fate::Refused(refusal) => failed(id, refusal.short_code(), true, refusal.message()),
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
