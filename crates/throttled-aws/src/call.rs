//! A call that takes capacity, from its fault to its answer.

use bytes::Bytes;
use hyper::Response;
use hyper::http::request::Parts;
use serde_json::Value;

use crate::body::{describe, full};
use crate::journal::{Figures, JournalEntry, Outcome, now};
use crate::origin::Origin;
use crate::plan::{BY_FAULT, Decision, Plan};
use crate::registry::lock;
use crate::rule::Fault;
use crate::shared::{End, Shared, fault_answer, sleep_for};

/// Makes a call as far as there is capacity, and with its fault.
pub(crate) async fn perform(shared: &Shared, origin: &Origin, parts: &Parts, mut plan: Box<dyn Plan>) -> End {
    let (fault, latency) = {
        let mut faults = lock(&shared.faults);
        (faults.next(origin, &plan.destinations()), faults.latency())
    };
    let call = Call {
        shared,
        number: lock(&shared.ledger).call(),
        has_fault: fault != Fault::None,
    };
    sleep_for(latency).await;
    let mut decisions = vec![Decision::Accepted; plan.entries().len()];
    if let Some(end) = call.begin(&fault, &*plan, &mut decisions).await {
        return end;
    }
    plan.admit(&mut decisions);
    if let Some(refusal) = plan.refusal(&decisions) {
        // What fits is not applied either.
        plan.give_back(&decisions);
        call.record_each(&*plan, |place| outcome(&decisions[place], true));
        return End::Answer(refusal.answer(plan.service(), true));
    }
    let answered = if decisions.iter().any(Decision::is_accepted) {
        let request = plan.request(&decisions).to_string();
        shared.target.call(parts, request.into()).await
    } else {
        // There is nothing to forward.
        Ok(empty(plan.service()))
    };
    let answered = match answered {
        Ok(answered) => answered,
        Err(error) => {
            call.record_each(&*plan, |place| match outcome(&decisions[place], false) {
                Outcome::Accepted => Outcome::Unknown,
                other => other,
            });
            return End::Answer(shared.failed(&origin.service, &error));
        }
    };
    let mut value = serde_json::from_slice::<Value>(answered.body())
        .ok()
        .filter(Value::is_object);
    if !answered.status().is_success() || value.is_none() {
        let takes_capacity = value.as_ref().is_some_and(|error| {
            let kind = error["__type"].as_str().unwrap_or_default();
            kind.ends_with("ConditionalCheckFailedException") || kind.ends_with("TransactionCanceledException")
        });
        if answered.status().is_client_error() && !takes_capacity {
            plan.give_back(&decisions);
        }
        call.record_each(&*plan, |place| match outcome(&decisions[place], false) {
            Outcome::Accepted if answered.status().is_client_error() => Outcome::Refused,
            Outcome::Accepted => Outcome::Unknown,
            other => other,
        });
        return End::Answer(answered.map(full));
    }
    if let Some(value) = &mut value {
        plan.complete(value, &mut decisions);
    }
    let is_lost = matches!(fault, Fault::Lost | Fault::Garbage | Fault::Error(_));
    call.record_each(&*plan, |place| match outcome(&decisions[place], false) {
        Outcome::Accepted if is_lost => Outcome::Lost,
        other => other,
    });
    let (mut parts, _) = answered.into_parts();
    let mut body: Bytes = value.unwrap_or_default().to_string().into();
    match fault {
        Fault::Lost => return End::Closed,
        Fault::Error(_) => return End::Answer(fault_answer(&fault, plan.service(), true)),
        Fault::Garbage => body.truncate(body.len() / 2),
        _ => {}
    }
    describe(&mut parts.headers, &body);
    End::Answer(Response::from_parts(parts, full(body)))
}

/// The answer to a call of which nothing was forwarded.
fn empty(service: &str) -> Response<Bytes> {
    let kind = if service == "kinesis" {
        "application/x-amz-json-1.1"
    } else {
        "application/x-amz-json-1.0"
    };
    let mut answer = Response::new(Bytes::from_static(b"{}"));
    let headers = answer.headers_mut();
    headers.insert(
        hyper::header::CONTENT_TYPE,
        hyper::header::HeaderValue::from_static(kind),
    );
    if service == "dynamodb" {
        headers.insert(crate::body::CRC, hyper::header::HeaderValue::from_static("0"));
    }
    answer
}

/// `is_error`: the whole call is answered with an error, so that nothing of it is accepted.
fn outcome(decision: &Decision, is_error: bool) -> Outcome {
    match decision {
        Decision::Accepted if is_error => Outcome::Throttled,
        Decision::Accepted => Outcome::Accepted,
        Decision::Throttled(_) => Outcome::Throttled,
        Decision::Failed { .. } => Outcome::Failed,
        Decision::Refused => Outcome::Refused,
    }
}

/// A call whose outcome is to be recorded.
struct Call<'a> {
    shared: &'a Shared,
    number: u64,
    has_fault: bool,
}

impl Call<'_> {
    /// What the fault does before anything is forwarded: it ends the call, or decides on some of its entries.
    async fn begin(&self, fault: &Fault, plan: &dyn Plan, decisions: &mut [Decision]) -> Option<End> {
        match fault {
            Fault::Throttle => {
                let refusal = plan.throttle();
                self.record(plan, Outcome::Throttled);
                return Some(End::Answer(refusal.answer(plan.service(), true)));
            }
            Fault::Dropped => {
                self.record(plan, Outcome::Dropped);
                return Some(End::Closed);
            }
            Fault::Hung => {
                self.record(plan, Outcome::Dropped);
                return Some(End::Hung);
            }
            Fault::Error(error) if !error.applied => {
                self.record(plan, Outcome::Failed);
                return Some(End::Answer(fault_answer(fault, plan.service(), true)));
            }
            Fault::Unprocessed(entries) => {
                let entries = (*entries).min(decisions.len());
                decisions[..entries].fill(Decision::Throttled(BY_FAULT));
            }
            Fault::Failed(failed) => {
                let entries = failed.entries.min(decisions.len());
                decisions[..entries].fill(Decision::Failed {
                    code: failed.code.clone(),
                    sender_fault: failed.sender_fault,
                });
            }
            Fault::Slow(time) => sleep_for(*time).await,
            Fault::None | Fault::Lost | Fault::Garbage | Fault::Error(_) => {}
        }
        None
    }

    fn record(&self, plan: &dyn Plan, outcome: Outcome) {
        self.record_each(plan, |_| outcome);
    }

    fn record_each(&self, plan: &dyn Plan, outcome: impl Fn(usize) -> Outcome) {
        let mut ledger = lock(&self.shared.ledger);
        let service = plan.service();
        let at = now();
        let destinations = plan.destinations();
        // Whether an entry of the destination is applied, and whether the capacity or a fault kept one from it.
        let mut applied = vec![false; destinations.len()];
        let mut kept = vec![false; destinations.len()];
        for (place, entry) in plan.entries().iter().enumerate() {
            let outcome = outcome(place);
            let name = destinations[entry.destination];
            let is_applied = matches!(outcome, Outcome::Accepted | Outcome::Lost);
            let figures = ledger.figures_of(service, name);
            figures.count(outcome);
            kept[entry.destination] |= matches!(outcome, Outcome::Throttled | Outcome::Failed | Outcome::Dropped);
            if is_applied {
                applied[entry.destination] = true;
                let units = if entry.is_read() {
                    &mut figures.read
                } else {
                    &mut figures.written
                };
                *units += entry.units;
            }
            if !entry.is_read() {
                ledger.record(JournalEntry {
                    at,
                    call: self.number,
                    service,
                    destination: name.to_owned(),
                    action: entry.action,
                    key: entry.key.clone(),
                    known_as: entry.known_as.clone(),
                    outcome,
                });
            }
        }
        for ((name, applied), kept) in destinations.into_iter().zip(applied).zip(kept) {
            let figures: &mut Figures = ledger.figures_of(service, name);
            figures.calls += 1;
            figures.faults += u64::from(self.has_fault);
            figures.throttled_calls += u64::from(kept && !applied);
        }
    }
}
