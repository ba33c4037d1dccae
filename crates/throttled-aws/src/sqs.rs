//! Calls to SQS that take capacity.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use aws_batch_simulator::{AdmissionControl, Capacity, Demand, Place};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::config::QueueLimits;
use crate::digest::hex;
use crate::plan::{Cause, Decision, Entry, Plan, Throttling, keep};
use crate::refusal::Refusal;
use crate::registry::lock;

/// Calls per second of each kind to a FIFO queue, from "Amazon SQS message quotas".
const FIFO: f64 = 300.0;
/// With high throughput, in the largest regions. From the same page.
const HIGH_THROUGHPUT: f64 = 70_000.0;

/// Entries of one call, and bytes of its messages without their attributes. From the same page.
const MOST_ENTRIES: usize = 10;
const LARGEST_BATCH: usize = 1_048_576;

/// A queue.
pub(crate) struct Queue {
    limits: Mutex<Limits>,
}

struct Limits {
    /// Of each [`Kind`].
    calls: [AdmissionControl; 4],
    messages: AdmissionControl,
}

/// What is limited for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Send,
    Receive,
    Delete,
    ChangeVisibility,
}

impl Queue {
    /// Whether its attributes decide on its limits.
    pub(crate) fn needs_attributes(name: &str, limits: &QueueLimits) -> bool {
        limits.calls.is_none() && is_fifo(name)
    }

    /// From its `Attributes`, if they are needed.
    pub(crate) fn described(name: &str, attributes: &Value, limits: &QueueLimits, seed: u64, now: Instant) -> Self {
        let calls = limits.calls.or_else(|| {
            let is_fast = attributes["FifoThroughputLimit"] == "perMessageGroupId";
            is_fifo(name).then_some(if is_fast { HIGH_THROUGHPUT } else { FIFO })
        });
        let control = |rate: Option<f64>, number: u64| {
            // A quota per second is no more than that, whatever was not used before.
            let capacity = rate.map_or_else(Capacity::unlimited, |rate| {
                Capacity::per_second(rate).burst(rate).starts_full()
            });
            AdmissionControl::new(capacity, now, seed ^ number)
        };
        Self {
            limits: Mutex::new(Limits {
                calls: [1, 2, 3, 4].map(|number| control(calls, number)),
                messages: control(limits.messages, 5),
            }),
        }
    }

    pub(crate) fn messages_per_second(&self) -> f64 {
        lock(&self.limits).messages.capacity(Instant::now()).0
    }
}

fn is_fifo(name: &str) -> bool {
    // A suffix of the name, always in lower case; not a file extension.
    name.strip_suffix(".fifo").is_some()
}

/// A call to a queue, with an entry for each message or receipt.
pub(crate) struct QueueCall {
    kind: Kind,
    is_batch: bool,
    body: Value,
    name: String,
    queue: Arc<Queue>,
    entries: Vec<Entry>,
}

/// Whether the operation takes capacity.
pub(crate) fn is_limited(operation: &str) -> bool {
    kind(operation).is_some()
}

fn kind(operation: &str) -> Option<Kind> {
    Some(match operation {
        "SendMessage" | "SendMessageBatch" => Kind::Send,
        "ReceiveMessage" => Kind::Receive,
        "DeleteMessage" | "DeleteMessageBatch" => Kind::Delete,
        "ChangeMessageVisibility" | "ChangeMessageVisibilityBatch" => Kind::ChangeVisibility,
        _ => return None,
    })
}

impl QueueCall {
    /// `None` if the call has another form, or more than SQS takes: the emulator will refuse it.
    pub(crate) fn new(operation: &str, body: Value, name: String, queue: Arc<Queue>) -> Option<Self> {
        let kind = kind(operation)?;
        let is_batch = operation.ends_with("Batch");
        if is_batch && is_refused_as_a_whole(body["Entries"].as_array()?) {
            return None;
        }
        let one = std::slice::from_ref(&body);
        let of_call = if is_batch {
            body["Entries"].as_array()?.as_slice()
        } else {
            one
        };
        let entries: Vec<Entry> = of_call.iter().map(|entry| entry_of(kind, entry)).collect();
        (!entries.is_empty()).then_some(Self {
            kind,
            is_batch,
            body,
            name,
            queue,
            entries,
        })
    }

    /// A FIFO queue answers a message that it has already with the number of that one.
    fn recognize(&mut self, answer: &Value) {
        let sent = if self.is_batch {
            answer["Successful"].as_array().map_or(&[][..], Vec::as_slice)
        } else {
            std::slice::from_ref(answer)
        };
        for (place, entry) in self.entries.iter_mut().enumerate() {
            let id = &self.body["Entries"][place]["Id"];
            let Some(sent) = sent.iter().find(|sent| sent["Id"] == *id) else {
                continue;
            };
            entry.known_as = sent["SequenceNumber"].as_str().map(str::to_owned);
        }
    }

    fn list(&self) -> &[Value] {
        self.body["Entries"].as_array().map_or(&[], Vec::as_slice)
    }
}

/// Whether SQS refuses a batch because of what it is as a whole. The emulator sees that only if it sees all of it.
fn is_refused_as_a_whole(entries: &[Value]) -> bool {
    let ids: HashSet<&str> = entries.iter().filter_map(|entry| entry["Id"].as_str()).collect();
    let bodies = entries.iter().filter_map(|entry| entry["MessageBody"].as_str());
    entries.len() > MOST_ENTRIES || ids.len() < entries.len() || bodies.map(str::len).sum::<usize>() > LARGEST_BATCH
}

fn entry_of(kind: Kind, entry: &Value) -> Entry {
    let text = |member: &str| entry[member].as_str();
    let (action, key) = match kind {
        Kind::Send => {
            let id = text("MessageDeduplicationId").map(str::to_owned);
            (
                "send",
                id.unwrap_or_else(|| hex(text("MessageBody").unwrap_or_default().as_bytes())),
            )
        }
        Kind::Receive => ("receive", String::new()),
        Kind::Delete => ("delete", hex(text("ReceiptHandle").unwrap_or_default().as_bytes())),
        Kind::ChangeVisibility => (
            "change_visibility",
            hex(text("ReceiptHandle").unwrap_or_default().as_bytes()),
        ),
    };
    Entry {
        destination: 0,
        action,
        key,
        units: 1.0,
        known_as: None,
    }
}

impl Plan for QueueCall {
    fn service(&self) -> &'static str {
        "sqs"
    }

    fn destinations(&self) -> Vec<&str> {
        vec![&self.name]
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn admit(&mut self, decisions: &mut [Decision]) {
        let now = Instant::now();
        let demand = Demand::new(Place::default(), 1.0);
        let mut limits = lock(&self.queue.limits);
        let calls = &mut limits.calls[self.kind as usize];
        if calls.admit(now, std::slice::from_ref(&demand))[0].is_err() {
            decisions.fill(Decision::Throttled(Throttling::by(Cause::Calls)));
            return;
        }
        if self.kind != Kind::Send {
            return;
        }
        let accepted: Vec<&mut Decision> = decisions.iter_mut().filter(|decision| decision.is_accepted()).collect();
        let results = limits.messages.admit(now, &vec![demand; accepted.len()]);
        for (decision, result) in accepted.into_iter().zip(results) {
            if result.is_err() {
                *decision = Decision::Throttled(Throttling::by(Cause::Capacity));
            }
        }
    }

    fn refusal(&self, decisions: &[Decision]) -> Option<Refusal> {
        let causes = decisions.iter().map(|decision| match decision {
            Decision::Throttled(throttling) => Some(throttling.cause),
            _ => None,
        });
        // A batch of which no message is accepted is an error if the capacity is the reason.
        if causes.clone().all(|cause| cause == Some(Cause::Capacity))
            || causes.clone().any(|cause| cause == Some(Cause::Calls))
        {
            return Some(self.throttle());
        }
        if self.is_batch {
            return None;
        }
        match &decisions[0] {
            Decision::Accepted | Decision::Refused => None,
            Decision::Throttled(_) => Some(self.throttle()),
            Decision::Failed { code, sender_fault } => {
                let status = if *sender_fault { 400 } else { 500 };
                Some(Refusal::by_fault(status, code.as_deref(), self.service()))
            }
        }
    }

    fn throttle(&self) -> Refusal {
        Refusal::new("RequestThrottled", "Rate exceeded")
    }

    fn request(&self, decisions: &[Decision]) -> Value {
        let mut body = self.body.clone();
        if self.is_batch {
            body["Entries"] = Value::Array(keep(self.list(), decisions, Decision::is_accepted));
        }
        body
    }

    fn complete(&mut self, answer: &mut Value, decisions: &mut [Decision]) {
        if self.kind == Kind::Receive {
            let received = answer["Messages"].as_array().map_or(0, Vec::len);
            self.entries[0].units = u32::try_from(received).unwrap_or(u32::MAX).into();
        }
        if self.kind == Kind::Send && is_fifo(&self.name) {
            self.recognize(answer);
        }
        if !self.is_batch {
            return;
        }
        let mut failed = answer["Failed"].as_array().cloned().unwrap_or_default();
        for (entry, decision) in self.list().iter().zip(decisions.iter_mut()) {
            let id = &entry["Id"];
            let (code, sender_fault) = match decision {
                Decision::Accepted => {
                    if failed.iter().any(|failed| failed["Id"] == *id) {
                        *decision = Decision::Refused;
                    }
                    continue;
                }
                Decision::Refused => continue,
                // As AWS reports throttles.
                Decision::Throttled(_) => ("RequestThrottled".to_owned(), true),
                Decision::Failed { code, sender_fault } => (
                    code.clone().unwrap_or_else(|| "InternalError".to_owned()),
                    *sender_fault,
                ),
            };
            failed.push(json!({"Id": id, "Code": code, "SenderFault": sender_fault, "Message": "Rate exceeded"}));
        }
        if answer["Successful"].is_null() {
            answer["Successful"] = json!([]);
        }
        answer["Failed"] = Value::Array(failed);
    }

    fn give_back(&mut self, _: &[Decision]) {
        // A call counts, whatever becomes of it.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a thousand.
    fn calls_of_a_second(name: &str, attributes: &Value) -> usize {
        let queue = Queue::described(name, attributes, &QueueLimits::default(), 1, Instant::now());
        let body = json!({"QueueUrl": "q", "Entries": [{"Id": "0", "MessageBody": "x"}]});
        let mut call = QueueCall::new("SendMessageBatch", body, name.to_owned(), Arc::new(queue)).unwrap();
        let accepted = |_: &usize| {
            let mut decisions = [Decision::Accepted];
            call.admit(&mut decisions);
            decisions[0].is_accepted()
        };
        (0..1_000).filter(accepted).count()
    }

    #[tokio::test(start_paused = true)]
    async fn the_quota_of_calls_is_that_of_the_kind_of_queue() {
        assert_eq!(calls_of_a_second("orders", &Value::Null), 1_000);
        assert_eq!(calls_of_a_second("orders.fifo", &Value::Null), 300);
        let fast = json!({"FifoThroughputLimit": "perMessageGroupId"});
        assert_eq!(calls_of_a_second("orders.fifo", &fast), 1_000);
    }
}
