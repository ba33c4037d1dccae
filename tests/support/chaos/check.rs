//! Compares what the delivery reported of each entry with the records of the service, the proxy and the client.

use std::collections::{HashMap, HashSet};

use aws_batch_simulator::{Record, Value};

use super::ledger::{Contents, Fate};
use super::load::{Entry, Load, lane_on_wire};
use super::mix::{Mix, Service};
use super::proxy::Arrived;
use super::verdicts;
use super::witness::Attempt;

/// All records of a mix.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) told: Contents,
    /// By the client: each attempt, in the order of departure.
    pub(crate) attempts: Vec<Attempt>,
    /// By the proxy: attempts by number.
    pub(crate) arrived: HashMap<u64, Arrived>,
    /// By the service: each entry of each call of a batch.
    pub(crate) entered: Vec<Entered>,
    /// By the simulator: each single write and transaction.
    pub(crate) journal: Vec<Record>,
    /// What the service has at the end.
    pub(crate) stored: Vec<Value>,
    pub(crate) refused_calls: u64,
}

/// What the service did with an entry of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entered {
    /// The number of the call.
    pub(crate) call: u64,
    /// The number of the entry.
    pub(crate) number: usize,
    pub(crate) applied: bool,
}

/// The result of one attempt for one entry.
#[derive(Debug, Clone, Copy)]
struct Try {
    applied: bool,
    /// Whether the client has read the service's verdict.
    told: bool,
}

impl Try {
    fn is_accepted(self) -> bool {
        self.applied && self.told
    }
}

/// The contradictions; none if all is well.
pub(crate) fn check(mix: &Mix, load: &Load, seen: &Seen) -> Vec<String> {
    let is_clear = mix.service == Service::Table || !mix.faults.rejections_are_internal();
    let mut complaints = seen.told.complaints.clone();
    if seen.refused_calls > 0 {
        complaints.push(format!("{} calls were refused for their contents", seen.refused_calls));
    }
    if mix.service == Service::Writes {
        complaints.extend(verdicts::check(load, seen, is_clear));
        return complaints;
    }
    let calls = Calls::of(&seen.entered);
    let tries = tries(load, seen, &calls, is_clear);
    complaints.extend(check_claims(load, &seen.told, &tries));
    if mix.service == Service::Table {
        complaints.extend(check_writes(load, seen, &tries));
    } else {
        complaints.extend(check_messages(mix, load, seen, &calls));
    }
    complaints
}

/// The calls of the journal: which entries each had, and whether they were applied.
struct Calls {
    entries: HashMap<u64, HashMap<usize, bool>>,
    /// The numbers of the entries that were applied, in the order of arrival.
    applied: Vec<usize>,
}

impl Calls {
    fn of(entered: &[Entered]) -> Self {
        let mut calls = Self {
            entries: HashMap::new(),
            applied: Vec::new(),
        };
        for Entered { call, number, applied } in entered {
            calls.entries.entry(*call).or_default().insert(*number, *applied);
            if *applied {
                calls.applied.push(*number);
            }
        }
        calls
    }

    fn has_applied(&self, call: Option<u64>, number: usize) -> bool {
        let entries = call.and_then(|call| self.entries.get(&call));
        entries.and_then(|entries| entries.get(&number)) == Some(&true)
    }

    /// Whether a call accepted the later one of two entries and not the earlier one.
    fn were_parted(&self, earlier: usize, later: usize) -> bool {
        let parts = |entries: &HashMap<usize, bool>| {
            entries.get(&earlier) == Some(&false) && entries.get(&later) == Some(&true)
        };
        self.entries.values().any(parts)
    }
}

/// The results of all attempts, by the number of the entry. `is_clear`: an answer that rejects an entry means that it was not
/// applied.
fn tries(load: &Load, seen: &Seen, calls: &Calls, is_clear: bool) -> Vec<Vec<Try>> {
    let mut tries = vec![Vec::new(); load.entries.len()];
    for (number, attempt) in (0..).zip(&seen.attempts) {
        let arrived = seen.arrived.get(&number).copied().unwrap_or_default();
        for entry in &attempt.entries {
            let applied = calls.has_applied(arrived.call, *entry);
            tries[*entry].push(Try {
                applied,
                told: arrived.told && attempt.heard && (applied || is_clear),
            });
        }
    }
    tries
}

/// Entries that are not handed back are stored; entries that are certainly undelivered are not; only rejected and doubtful ones
/// are sent again.
fn check_claims(load: &Load, told: &Contents, tries: &[Vec<Try>]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut unaccounted = Vec::new();
    for (number, (fate, tries)) in told.fates.iter().zip(tries).enumerate() {
        let accepted = tries.iter().position(|attempt| attempt.is_accepted());
        let is_applied = tries.iter().any(|attempt| attempt.applied);
        let mut complain = |what: &str| complaints.push(format!("{number} {what}: {fate:?}, {tries:?}"));
        if accepted.is_some_and(|accepted| accepted + 1 < tries.len()) {
            complain("was sent again after it was accepted");
        }
        match fate {
            Fate::Kept if !tries.is_empty() => complain("was sent, and not handed over"),
            Fate::Delivered if accepted.is_none() => complain("is said to be delivered, and was never accepted"),
            Fate::Unnamed if accepted.is_none() => unaccounted.push(number),
            Fate::ConditionFailed => complain("is said to have failed, and has no condition"),
            Fate::HandedBack { .. } if accepted.is_some() => complain("was accepted, and is handed back"),
            Fate::HandedBack {
                may_have_been_delivered: false,
                ..
            } if is_applied => complain("is said not to be there, and is"),
            Fate::HandedBack {
                may_have_been_delivered: true,
                ..
            } if tries.iter().all(|attempt| attempt.told) => complain("is in doubt, and each attempt was answered"),
            _ => {}
        }
    }
    if unaccounted.len() as u64 != told.superseded {
        let superseded = told.superseded;
        complaints.push(format!(
            "not named, not accepted: {unaccounted:?}, and {superseded} are superseded"
        ));
    }
    for number in unaccounted {
        let entry = load.entries[number];
        let is_later = |other: &Entry| other.lane == entry.lane && other.number > number;
        if !load.entries.iter().any(is_later) {
            complaints.push(format!("{number} is lost: no later write of its key is there"));
        }
    }
    complaints
}

/// Writes of a key arrive in their order, and the last one that is delivered is the one that is stored.
fn check_writes(load: &Load, seen: &Seen, tries: &[Vec<Try>]) -> Vec<String> {
    let mut complaints = Vec::new();
    let calls = Calls::of(&seen.entered);
    let mut last: HashMap<usize, usize> = HashMap::new();
    for number in calls.applied {
        let lane = load.entries[number].lane;
        if let Some(before) = last.insert(lane, number)
            && before > number
        {
            complaints.push(format!("{number} arrived after {before}, of the same key"));
        }
    }
    let stored: HashMap<usize, usize> = seen
        .stored
        .iter()
        .map(|item| (lane_on_wire(item), load.number_on_wire(item)))
        .collect();
    for (lane, numbers) in load.lanes() {
        let is_accepted = |number: &&usize| tries[**number].iter().any(|attempt| attempt.is_accepted());
        let delivered = numbers.iter().rfind(is_accepted).copied();
        let last = last.get(&lane).copied();
        let expected = last.filter(|number| load.is_put(*number));
        if stored.get(&lane).copied() != expected {
            let stored = stored.get(&lane);
            complaints.push(format!(
                "of key {lane}, {stored:?} is stored, and {last:?} arrived last"
            ));
        }
        let is_in_doubt = |number: usize| {
            matches!(
                seen.told.fates[number],
                Fate::Untold
                    | Fate::HandedBack {
                        may_have_been_delivered: true,
                        ..
                    }
            )
        };
        if last != delivered && !last.is_some_and(|last| Some(last) > delivered && is_in_doubt(last)) {
            complaints.push(format!(
                "of key {lane}, {last:?} arrived last, and {delivered:?} is the last delivered one"
            ));
        }
    }
    complaints
}

/// Messages are there, in a FIFO queue once and in the order of their group.
fn check_messages(mix: &Mix, load: &Load, seen: &Seen, calls: &Calls) -> Vec<String> {
    let mut complaints = Vec::new();
    let stored: Vec<usize> = seen.stored.iter().map(|message| load.number_on_wire(message)).collect();
    let set: HashSet<usize> = stored.iter().copied().collect();
    let applied: HashSet<usize> = calls.applied.iter().copied().collect();
    if set != applied {
        complaints.push(format!(
            "{} messages are there, and {} arrived",
            set.len(),
            applied.len()
        ));
    }
    if mix.service == Service::Queue {
        return complaints;
    }
    if set.len() != stored.len() {
        complaints.push(format!("{} messages are there twice", stored.len() - set.len()));
    }
    let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
    for number in stored {
        let group = groups.entry(load.entries[number].lane).or_default();
        for before in group.iter().filter(|before| **before > number) {
            if mix.strict_order || !calls.were_parted(number, *before) {
                complaints.push(format!("{number} arrived after {before}, of the same group"));
            }
        }
        group.push(number);
    }
    complaints
}
