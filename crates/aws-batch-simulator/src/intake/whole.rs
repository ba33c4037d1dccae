//! Shared by log streams and namespaces of metrics: each accepts a call as a whole or not at all, as far as it has capacity for the
//! call, and keeps its entries.

use std::sync::{Mutex, MutexGuard};

use serde_json::Value;
use tokio::time::Instant;

use crate::admission::AdmissionControl;
use crate::calls::{Call, Verdict};
use crate::capacity::Capacity;
use crate::fault::{InjectedFault, Predicate};
use crate::gate::Gate;
use crate::journal::{Acknowledgement, Action, AnswerReceipt};
use crate::registry::lock;
use crate::wire::{OperationOutcome, Refusal};

/// How a call ends that does not break a rule of the service.
pub(crate) enum Admission {
    Accepted,
    Throttled,
    /// Entries of it fail by a fault, and all others with them.
    Failed {
        is_sender_at_fault: bool,
        code: String,
    },
    /// A fault replaces the answer.
    Fault(InjectedFault),
}

impl Admission {
    /// The result of the call, with the answer of an accepted one, and with the errors of the service by which it is throttled or fails.
    pub(crate) fn outcome(
        self,
        answer: impl FnOnce() -> Value,
        throttled: Refusal,
        failed: Refusal,
    ) -> OperationOutcome {
        match self {
            Self::Accepted => OperationOutcome::Success(answer()),
            Self::Throttled => OperationOutcome::Refused(throttled),
            Self::Failed {
                is_sender_at_fault: true,
                code,
            } => OperationOutcome::Refused(Refusal::new(code, "Simulated failure")),
            Self::Failed { .. } => OperationOutcome::Refused(failed),
            Self::Fault(fault) => OperationOutcome::Fault(fault),
        }
    }
}

pub(crate) struct WholeIntake<K> {
    state: Mutex<WholeState<K>>,
    /// Entries for which a call is refused.
    pub(crate) poison: Predicate,
    counts_only: bool,
}

pub(crate) struct WholeState<K> {
    pub(crate) gate: Gate,
    pub(crate) kept: Vec<K>,
}

impl<K> WholeIntake<K> {
    /// The capacity is in calls per second.
    pub(crate) fn new(capacity: Capacity, counts_only: bool, seed: u64) -> Self {
        let control = AdmissionControl::new(capacity, Instant::now(), seed);
        Self {
            state: Mutex::new(WholeState {
                gate: Gate::new(control, seed),
                kept: Vec::new(),
            }),
            poison: Predicate::default(),
            counts_only,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, WholeState<K>> {
        lock(&self.state)
    }

    /// Counts a call and returns its fault.
    pub(crate) fn call(&self, answered: &AnswerReceipt) -> Call {
        self.state().gate.whole_call(answered)
    }

    /// Counts a call that breaks a rule of the service.
    pub(crate) fn refused(&self, refusal: Refusal) -> Refusal {
        self.state().gate.statistics.refused_calls += 1;
        refusal
    }

    /// Keeps the entries if there is capacity for the call and no fault prevents it. `kept` is the form in which each is kept; those
    /// without one are rejected alone.
    pub(crate) fn admit(&self, call: &Call, entries: &[Value], kept: Vec<Option<K>>) -> Admission {
        let mut state = self.state();
        let replaced = call.fault.replaces_answer();
        if replaced == Some(false) {
            for entry in entries {
                state.record(call, entry, call.fault.acknowledgement_of_skipped());
            }
            state.gate.count_failed_call(&call.fault, entries.len());
            return Admission::Fault(call.fault.clone());
        }
        let (admission, verdict) = state.decide(call, entries.len());
        let verdicts: Vec<Verdict> = kept
            .iter()
            .map(|kept| match kept {
                None if verdict.is_applied() => Verdict::internal_error(),
                _ => verdict.clone(),
            })
            .collect();
        state.gate.count_entries(&verdicts);
        for (entry, verdict) in entries.iter().zip(&verdicts) {
            let known = verdict.acknowledgement();
            let told = if replaced.is_some() {
                known.without_answer()
            } else {
                known
            };
            state.record(call, entry, told);
        }
        if verdict.is_applied() && !self.counts_only {
            state.kept.extend(kept.into_iter().flatten());
        }
        if replaced.is_some() {
            state.gate.count_failed_call(&call.fault, 0);
            return Admission::Fault(call.fault.clone());
        }
        match admission {
            Admission::Throttled => state.gate.statistics.throttled_calls += 1,
            Admission::Failed { .. } => state.gate.statistics.failed_calls += 1,
            Admission::Accepted | Admission::Fault(_) => {}
        }
        admission
    }
}

impl<K> WholeState<K> {
    /// Decides on the call as a whole, and charges for it if it is accepted. The verdict is that on each of its entries.
    fn decide(&mut self, call: &Call, entries: usize) -> (Admission, Verdict) {
        let faults = self.gate.draw_faults(call, entries);
        let failed = faults.iter().find_map(|verdict| match verdict {
            Verdict::Failed { code, sender_fault } => Some((code.to_string(), *sender_fault)),
            _ => None,
        });
        if let Some((code, is_sender_at_fault)) = failed {
            let admission = Admission::Failed {
                is_sender_at_fault,
                code,
            };
            return (admission, Verdict::internal_error());
        }
        match self.gate.take_call(call.info.at) {
            Some(throttle) => (Admission::Throttled, Verdict::Throttled(throttle)),
            None => (Admission::Accepted, Verdict::Accepted),
        }
    }

    fn record(&mut self, call: &Call, entry: &Value, acknowledgement: Acknowledgement) {
        let journal = &mut self.gate.journal;
        journal.write(&call.info, Action::Send, "", entry, acknowledgement);
    }
}
