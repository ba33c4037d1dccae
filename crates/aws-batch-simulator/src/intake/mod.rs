//! Shared by streams, delivery streams, topics and buses: each accepts batches of entries, as far as it has capacity for them,
//! and keeps them.

mod answer;
mod entry;
mod shard;
mod whole;

use std::borrow::Borrow;
use std::sync::{Mutex, MutexGuard};

use tokio::time::Instant;

pub(crate) use self::answer::{
    AnswersById, ErrorText, acknowledged_by_id, acknowledged_by_place, by_place, failure_of_never_sent,
};
pub(crate) use self::entry::{Entry, EntryResult, data, entries_of};
pub(crate) use self::shard::Shard;
use self::shard::charge;
pub(crate) use self::whole::WholeIntake;
use crate::admission::AdmissionControl;
use crate::calls::{Call, Verdict};
use crate::capacity::Capacity;
use crate::fault::{InjectedFault, Predicate};
use crate::gate::Gate;
use crate::journal::{Acknowledgement, Action, AnswerReceipt};
use crate::message::Deduplication;
use crate::registry::lock;
use crate::wire::{OperationOutcome, Refusal};

/// The form in which an entry is kept.
pub(crate) trait KeptEntry {
    fn of(entry: &Entry, number: u64, at: Instant) -> Self;
}

pub(crate) struct Intake<K> {
    state: Mutex<IntakeState<K>>,
    /// Entries that always fail.
    pub(crate) poison: Predicate,
    /// Entries that are throttled, whatever the capacity.
    pub(crate) throttled: Predicate,
    counts_only: bool,
}

pub(crate) struct IntakeState<K> {
    pub(crate) gate: Gate,
    pub(crate) shards: Vec<Shard>,
    pub(crate) kept: Vec<K>,
    accepted: u64,
    deduplication: Deduplication,
}

impl<K: KeptEntry> Intake<K> {
    pub(crate) fn new(shards: Vec<Shard>, counts_only: bool, seed: u64) -> Self {
        // The shards have the capacity; the gate has the faults, the counts and the journal.
        let control = AdmissionControl::new(Capacity::unlimited(), Instant::now(), seed);
        Self {
            state: Mutex::new(IntakeState {
                gate: Gate::new(control, seed),
                shards,
                kept: Vec::new(),
                accepted: 0,
                deduplication: Deduplication::default(),
            }),
            poison: Predicate::default(),
            throttled: Predicate::default(),
            counts_only,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, IntakeState<K>> {
        lock(&self.state)
    }

    /// Changes the capacity of all shards.
    pub(crate) fn set_capacity(&self, capacity: Capacity) {
        for shard in &mut self.state().shards {
            shard.set_capacity(capacity);
        }
    }

    /// Counts a call and returns its fault.
    pub(crate) fn call(&self, answered: &AnswerReceipt) -> Call {
        self.state().gate.call(answered)
    }

    /// Answers a call whose entries are checked: `answer` gets the entries and their results, unless a fault replaces the
    /// answer.
    ///
    /// `acknowledgement` returns what the caller learns from the answer about an entry.
    pub(crate) fn answer(
        &self,
        call: &Call,
        entries: Result<Vec<Entry>, Refusal>,
        acknowledgement: impl Fn(&EntryResult) -> Acknowledgement,
        answer: impl FnOnce(&[Entry], Vec<EntryResult>) -> OperationOutcome,
    ) -> OperationOutcome {
        let entries = match entries {
            Ok(entries) => entries,
            Err(refusal) => {
                self.count_refused_call();
                return refusal.into();
            }
        };
        match self.admit(call, &entries, acknowledgement) {
            Ok(results) => answer(&entries, results),
            Err(fault) => OperationOutcome::Fault(fault),
        }
    }

    /// Counts a call that breaks a rule of the service.
    pub(crate) fn count_refused_call(&self) {
        self.state().gate.statistics.refused_calls += 1;
    }

    /// Counts a call of which nothing was accepted for lack of capacity.
    pub(crate) fn count_throttled_call(&self) {
        self.state().gate.statistics.throttled_calls += 1;
    }

    /// Keeps the entries for which there is capacity, unless a fault prevents it. An error is a fault that replaces the answer.
    pub(crate) fn admit<E: Borrow<Entry>>(
        &self,
        call: &Call,
        entries: &[E],
        acknowledgement: impl Fn(&EntryResult) -> Acknowledgement,
    ) -> Result<Vec<EntryResult>, InjectedFault> {
        let skipped = match call.fault.replaces_answer() {
            None => return Ok(self.apply(call, entries, acknowledgement)),
            Some(true) => {
                self.apply(call, entries, |result| result.acknowledgement().without_answer());
                0
            }
            Some(false) => {
                self.skip(call, entries);
                entries.len()
            }
        };
        self.state().gate.count_failed_call(&call.fault, skipped);
        Err(call.fault.clone())
    }

    fn apply<E: Borrow<Entry>>(
        &self,
        call: &Call,
        entries: &[E],
        acknowledgement: impl Fn(&EntryResult) -> Acknowledgement,
    ) -> Vec<EntryResult> {
        let entries = entries.iter().map(|entry| -> &Entry { entry.borrow() });
        let good: Vec<&Entry> = entries.clone().filter(|entry| entry.failure.is_none()).collect();
        // Outside of the lock, because the user's predicate may use this handle.
        let throttled: Vec<bool> = good.iter().map(|entry| self.throttled.holds(&entry.json)).collect();
        let mut state = self.state();
        let IntakeState { gate, shards, .. } = &mut *state;
        let verdicts = gate.decide_by(call, good.len(), |order, verdicts| {
            charge(shards, &good, &throttled, call.info.at, order, verdicts);
        });
        let mut verdicts = verdicts.into_iter();
        let result = |entry: &Entry| {
            let verdict = match &entry.failure {
                None => verdicts.next(),
                Some(_) => None,
            };
            let result = state.accept(entry, verdict, call.info.at, self.counts_only);
            state.record(call, entry, acknowledgement(&result));
            result
        };
        entries.map(result).collect()
    }

    /// Records entries of which none is kept in the journal.
    fn skip<E: Borrow<Entry>>(&self, call: &Call, entries: &[E]) {
        let mut state = self.state();
        for entry in entries {
            state.record(call, entry.borrow(), call.fault.acknowledgement_of_skipped());
        }
    }
}

impl<K: KeptEntry> IntakeState<K> {
    /// An entry that always fails has no verdict, because it does not reach the gate.
    fn accept(&mut self, entry: &Entry, verdict: Option<Verdict>, now: Instant, counts_only: bool) -> EntryResult {
        let Some(verdict) = verdict else {
            self.gate.count_refused_entries(1);
            let refusal = entry.failure.clone();
            return EntryResult::Refused(refusal.unwrap_or_else(|| Refusal::new("InternalFailure", "")));
        };
        let number = if verdict.is_applied() {
            self.keep(entry, now, counts_only)
        } else {
            0
        };
        EntryResult::of(verdict, number)
    }

    fn keep(&mut self, entry: &Entry, now: Instant, counts_only: bool) -> u64 {
        if let Some(id) = &entry.deduplication_id {
            if let Some(number) = self.deduplication.find(id, now) {
                return number;
            }
            self.deduplication.remember(id, self.accepted + 1, now);
        }
        self.accepted += 1;
        if !counts_only {
            self.kept.push(K::of(entry, self.accepted, now));
        }
        self.accepted
    }

    fn record(&mut self, call: &Call, entry: &Entry, acknowledgement: Acknowledgement) {
        let journal = &mut self.gate.journal;
        journal.write(&call.info, Action::Send, &entry.key, &entry.json, acknowledgement);
    }
}
