//! Shared by streams, delivery streams, topics and buses: each accepts batches of entries, as far as it has capacity for them,
//! and keeps them.

mod answer;
mod handles;
mod shard;

use std::borrow::{Borrow, Cow};
use std::sync::{Mutex, MutexGuard};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::time::Instant;

pub(crate) use self::answer::{by_id, by_place};
pub(crate) use self::handles::handles;
pub(crate) use self::shard::Shard;
use self::shard::charge;
use crate::admission::AdmissionControl;
use crate::bucket::Capacity;
use crate::dedup::Dedup;
use crate::fault::InjectedFault;
use crate::gate::{Gate, Passage, Strike};
use crate::journal::{Acknowledgement, Action, CallMark, Heard};
use crate::lock;
use crate::predicate::Predicate;
use crate::statistics::Statistics;
use crate::wire::Refusal;

/// An entry of a call, checked.
pub(crate) struct Arrival {
    pub(crate) entry: Value,
    /// The key whose entries are in order; empty if there is none.
    pub(crate) key: String,
    /// The shard whose capacity it consumes.
    pub(crate) shard: usize,
    pub(crate) bytes: usize,
    /// The deduplication id: only the first entry with it is kept within five minutes.
    pub(crate) deduplication_id: Option<String>,
    /// Why this entry alone fails.
    pub(crate) failure: Option<Refusal>,
}

impl Arrival {
    /// An entry without an order, of the only shard.
    pub(crate) fn new(entry: Value, bytes: usize) -> Self {
        Self {
            entry,
            key: String::new(),
            shard: 0,
            bytes,
            deduplication_id: None,
            failure: None,
        }
    }
}

/// The result of an entry.
pub(crate) enum Fate {
    /// It is kept with this number.
    Taken(u64),
    Throttled,
    Failed {
        code: Cow<'static, str>,
        sender_fault: bool,
    },
    /// It alone fails.
    Refused(Refusal),
    Omitted {
        applied: bool,
    },
}

impl Fate {
    fn acknowledgement(&self) -> Acknowledgement {
        match self {
            Self::Taken(_) => Acknowledgement::Accepted,
            Self::Throttled | Self::Failed { .. } | Self::Refused(_) => Acknowledgement::Rejected,
            Self::Omitted { applied } => Acknowledgement::Ambiguous { applied: *applied },
        }
    }
}

/// A call that has arrived, and its fault.
pub(crate) struct Call {
    pub(crate) mark: CallMark,
    pub(crate) strike: Strike,
}

/// The form in which an entry is kept.
pub(crate) trait Kept {
    fn of(arrival: &Arrival, number: u64, at: Instant) -> Self;
}

pub(crate) struct Intake<K> {
    state: Mutex<State<K>>,
    /// Entries that always fail.
    pub(crate) poison: Predicate,
    /// Entries that are throttled, whatever the capacity.
    pub(crate) hot: Predicate,
    is_forgetful: bool,
}

pub(crate) struct State<K> {
    pub(crate) gate: Gate,
    pub(crate) shards: Vec<Shard>,
    pub(crate) kept: Vec<K>,
    taken: u64,
    dedup: Dedup,
}

impl<K: Kept> Intake<K> {
    pub(crate) fn new(shards: Vec<Shard>, is_forgetful: bool, seed: u64) -> Self {
        // The shards have the capacity; the gate has the faults, the counts and the journal.
        let control = AdmissionControl::new(Capacity::unlimited(), Instant::now(), seed);
        Self {
            state: Mutex::new(State {
                gate: Gate::new(control, seed),
                shards,
                kept: Vec::new(),
                taken: 0,
                dedup: Dedup::default(),
            }),
            poison: Predicate::default(),
            hot: Predicate::default(),
            is_forgetful,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State<K>> {
        lock(&self.state)
    }

    /// Counts a call and returns its fault.
    pub(crate) fn call(&self, heard: &Heard) -> Call {
        let strike = self.state().gate.strike();
        self.marked(strike, heard)
    }

    /// Counts a call whose fault was drawn by another bus, to which it goes as well.
    pub(crate) fn also_called(&self, strike: Strike, heard: &Heard) -> Call {
        self.state().gate.statistics.calls += 1;
        self.marked(strike, heard)
    }

    fn marked(&self, strike: Strike, heard: &Heard) -> Call {
        let mark = CallMark {
            call: self.state().gate.statistics.calls,
            at: Instant::now(),
            heard: heard.clone(),
        };
        Call { mark, strike }
    }

    /// Counts a call that breaks a rule of the service.
    pub(crate) fn refused(&self) {
        self.state().gate.statistics.refused_calls += 1;
    }

    /// Keeps the entries for which there is capacity, unless a fault prevents it. An error is a fault that replaces the answer.
    ///
    /// `tells` returns what the caller learns from the answer about an entry.
    pub(crate) fn admit<A: Borrow<Arrival>>(
        &self,
        call: &Call,
        arrivals: &[A],
        tells: impl Fn(&Fate) -> Acknowledgement,
    ) -> Result<Vec<Fate>, InjectedFault> {
        let fault = &call.strike.fault;
        match fault.replaces_answer() {
            None => return Ok(self.apply(call, arrivals, tells)),
            Some(true) => {
                self.apply(call, arrivals, |fate| Acknowledgement::Ambiguous {
                    applied: fate.acknowledgement().is_applied(),
                });
            }
            Some(false) => self.skip(call, arrivals),
        }
        let statistics = &mut self.state().gate.statistics;
        if fault.is_throttle() {
            statistics.throttled_calls += 1;
        } else {
            statistics.failed_calls += 1;
        }
        Err(fault.clone())
    }

    /// Counts a call of which nothing was accepted for lack of capacity.
    pub(crate) fn throttled(&self) {
        self.state().gate.statistics.throttled_calls += 1;
    }

    fn apply<A: Borrow<Arrival>>(
        &self,
        call: &Call,
        arrivals: &[A],
        tells: impl Fn(&Fate) -> Acknowledgement,
    ) -> Vec<Fate> {
        let arrivals = arrivals.iter().map(|arrival| -> &Arrival { arrival.borrow() });
        let good: Vec<&Arrival> = arrivals.clone().filter(|arrival| arrival.failure.is_none()).collect();
        // Outside of the lock, because the user's predicate may use this handle.
        let hot: Vec<bool> = good.iter().map(|arrival| self.hot.holds(&arrival.entry)).collect();
        let mut state = self.state();
        let State { gate, shards, .. } = &mut *state;
        let passages = gate.sift_by(&call.strike, good.len(), |order, passages| {
            charge(shards, &good, &hot, call.mark.at, order, passages);
        });
        let mut passages = passages.into_iter();
        let fate = |arrival: &Arrival| {
            let passage = arrival.failure.is_none().then(|| passages.next()).flatten();
            let fate = state.take(arrival, passage, &call.mark, self.is_forgetful);
            state.note(&call.mark, arrival, tells(&fate));
            fate
        };
        arrivals.map(fate).collect()
    }

    /// Records entries of which none is kept in the journal.
    fn skip<A: Borrow<Arrival>>(&self, call: &Call, arrivals: &[A]) {
        let fault = &call.strike.fault;
        let acknowledgement = if fault.is_clear_refusal() {
            Acknowledgement::Rejected
        } else {
            Acknowledgement::Ambiguous { applied: false }
        };
        let mut state = self.state();
        let Statistics {
            entries,
            throttled,
            failed,
            ..
        } = &mut state.gate.statistics;
        *entries += arrivals.len() as u64;
        *(if fault.is_throttle() { throttled } else { failed }) += arrivals.len() as u64;
        for arrival in arrivals {
            state.note(&call.mark, arrival.borrow(), acknowledgement);
        }
    }
}

impl<K: Kept> State<K> {
    /// An entry that always fails has no passage, because it does not reach the gate.
    fn take(&mut self, arrival: &Arrival, passage: Option<Passage>, mark: &CallMark, is_forgetful: bool) -> Fate {
        match passage {
            Some(Passage::Passed) => Fate::Taken(self.keep(arrival, mark.at, is_forgetful)),
            Some(Passage::Omitted { applied }) => {
                if applied {
                    self.keep(arrival, mark.at, is_forgetful);
                }
                Fate::Omitted { applied }
            }
            Some(Passage::Throttled(_)) => Fate::Throttled,
            Some(Passage::Failed { code, sender_fault }) => Fate::Failed { code, sender_fault },
            None => {
                self.gate.statistics.entries += 1;
                self.gate.statistics.failed += 1;
                let refusal = arrival.failure.clone();
                Fate::Refused(refusal.unwrap_or_else(|| Refusal::new("InternalFailure", "")))
            }
        }
    }

    fn keep(&mut self, arrival: &Arrival, now: Instant, is_forgetful: bool) -> u64 {
        if let Some(id) = &arrival.deduplication_id {
            if let Some(number) = self.dedup.find(id, now) {
                return number;
            }
            self.dedup.remember(id, self.taken + 1, now);
        }
        self.taken += 1;
        if !is_forgetful {
            self.kept.push(K::of(arrival, self.taken, now));
        }
        self.taken
    }

    fn note(&mut self, mark: &CallMark, arrival: &Arrival, acknowledgement: Acknowledgement) {
        let journal = &mut self.gate.journal;
        journal.write(mark, Action::Send, &arrival.key, &arrival.entry, acknowledgement);
    }
}

/// What the caller learns about an entry from an answer by ids.
pub(crate) fn acknowledged_by_id(fate: &Fate) -> Acknowledgement {
    fate.acknowledgement()
}

/// What the caller learns about an entry from an answer by places: nothing if the answer is shorter or longer than the call.
pub(crate) fn acknowledged_by_place(fault: &InjectedFault) -> impl Fn(&Fate) -> Acknowledgement {
    let has_other_length = match fault {
        InjectedFault::Omitted { entries, .. } | InjectedFault::Repeated(entries) | InjectedFault::Unknown(entries) => {
            *entries > 0
        }
        _ => false,
    };
    move |fate| match fate.acknowledgement() {
        known if has_other_length => Acknowledgement::Ambiguous {
            applied: known.is_applied(),
        },
        known => known,
    }
}

/// The bytes of a record.
pub(crate) fn data(record: &Value) -> Result<Vec<u8>, Refusal> {
    let data = record["Data"].as_str().and_then(|text| STANDARD.decode(text).ok());
    data.ok_or_else(|| Refusal::serialization("Data is not Base64"))
}
