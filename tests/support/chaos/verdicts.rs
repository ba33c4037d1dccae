//! Compares what was reported of writes with conditions, of updates and of transactions with a table that applies one after another.

use std::collections::HashMap;

use aws_batch_simulator::{Acknowledgement, Action, Record};

use super::check::Seen;
use super::ledger::Fate;
use super::load::{Kind, Load, TAKES};
use super::model::{Does, Model, number_of};

/// What the journal says of each entry, and where it contradicts the model.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    model: Model,
    /// How often each entry was applied in its table, and in the other one if it is a transaction.
    pub(crate) applied: Vec<[u32; 2]>,
    /// Whether the service has found that the condition of the entry does not hold.
    failed: Vec<bool>,
    /// The number of the last entry that was applied, by worker and key.
    last: HashMap<(usize, String), usize>,
    complaints: Vec<String>,
}

impl Replay {
    pub(crate) fn of(load: &Load, journal: &[Record]) -> Self {
        let mut replay = Self {
            applied: vec![[0; 2]; load.entries.len()],
            failed: vec![false; load.entries.len()],
            ..Self::default()
        };
        for record in journal {
            replay.follow(load, record);
        }
        replay
    }

    fn follow(&mut self, load: &Load, record: &Record) {
        let entry = record.entry();
        let key = if record.action == Action::Update {
            &entry["Key"]
        } else {
            &entry
        };
        let key = key["id"]["S"].as_str().expect("a key").to_owned();
        let number = match record.action {
            Action::Put => entry["by"]["S"].as_str().and_then(number_of),
            Action::Update => load.number_of_write(&entry),
            // A deletion has nothing but its key: if it was applied, it is that of the item which stood there.
            _ => self.model.owner(&key).and_then(|owner| load.deleter_of(owner)),
        };
        let is_applied = record.acknowledgement().is_applied();
        let Some(number) = number else {
            if is_applied {
                self.complaints
                    .push(format!("a deletion of {key} was applied, and none has its condition"));
            }
            return;
        };
        let is_other = load.entries[number].keys()[1] == key;
        let does = if is_other { TAKES } else { does(load, number) };
        if is_applied {
            self.applied[number][usize::from(is_other)] += 1;
            if !self.model.apply(&key, number, does) {
                self.complaints
                    .push(format!("{number} was applied, and its condition does not hold"));
            }
            self.keep_order(load, number, key);
        } else if record.acknowledgement() == Acknowledgement::ConditionFailed && record.action != Action::Delete {
            self.failed[number] = true;
            if self.model.holds(&key, number, does) {
                self.complaints
                    .push(format!("the condition of {number} holds, and is said not to"));
            }
        }
    }

    /// The writes of a worker to one key are applied in their order; transactions have none.
    fn keep_order(&mut self, load: &Load, number: usize, key: String) {
        if let Kind::Transaction(_) = load.entries[number].kind {
            return;
        }
        let last = self.last.insert((load.worker_of(number), key), number);
        if let Some(last) = last.filter(|last| *last > number) {
            self.complaints
                .push(format!("{number} was applied after {last}, of the same worker and key"));
        }
    }
}

fn does(load: &Load, number: usize) -> Does {
    match load.entries[number].kind {
        Kind::Write(does) | Kind::Transaction(does) => does,
        Kind::Put | Kind::Delete | Kind::Message => unreachable!("the load has single writes and transactions"),
    }
}

/// Whether the entry must not be applied twice.
pub(crate) fn is_once(load: &Load, number: usize) -> bool {
    matches!(load.entries[number].kind, Kind::Transaction(_)) || does(load, number).is_once()
}

/// What the client has learned of an entry by its attempts.
#[derive(Debug, Clone, Default)]
struct Tries {
    /// Each was answered by the service, which knew what it had done.
    answered: bool,
    /// Attempts until the first one that the service accepted, and all of them.
    accepted: Option<usize>,
    all: usize,
}

fn tries(load: &Load, seen: &Seen, is_clear: bool) -> Vec<Tries> {
    let mut tries = vec![
        Tries {
            answered: true,
            ..Tries::default()
        };
        load.entries.len()
    ];
    for (place, attempt) in (0..).zip(&seen.attempts) {
        let told = seen.arrived.get(&place).is_some_and(|arrived| arrived.told) && attempt.heard;
        for number in &attempt.entries {
            let tries = &mut tries[*number];
            tries.all += 1;
            tries.answered &= told && (attempt.succeeded || is_clear);
            if attempt.succeeded && told && tries.accepted.is_none() {
                tries.accepted = Some(tries.all);
            }
        }
    }
    tries
}

/// The contradictions; none if all is well. `is_clear`: an answer that rejects an entry means that it was not applied.
pub(crate) fn check(load: &Load, seen: &Seen, is_clear: bool) -> Vec<String> {
    let replay = Replay::of(load, &seen.journal);
    let mut complaints = replay.complaints;
    if replay.model != Model::of_table(&seen.stored) {
        complaints.push("the tables are not what was applied to them".to_owned());
    }
    for (number, tries) in tries(load, seen, is_clear).iter().enumerate() {
        let [applied, other] = replay.applied[number];
        let (kind, fate) = (load.entries[number].kind, &seen.told.fates[number]);
        let mut complain = |what: &str| {
            complaints.push(format!(
                "{number}, {kind:?}, {what}: {fate:?}, applied {applied} times, {tries:?}"
            ));
        };
        if matches!(kind, Kind::Transaction(_)) && applied != other {
            complain("was applied in part");
        }
        if applied > 1 && is_once(load, number) {
            complain("was applied twice");
        }
        if tries.accepted.is_some_and(|accepted| accepted < tries.all) {
            complain("was sent again after it was accepted");
        }
        match fate {
            Fate::Kept if tries.all > 0 => complain("was sent, and not handed over"),
            Fate::Delivered | Fate::Unnamed if applied == 0 => complain("is said to be there, and is not"),
            Fate::ConditionFailed if applied > 0 => complain("is said to have failed, and was applied"),
            Fate::ConditionFailed if !replay.failed[number] && !matches!(does(load, number), Does::DeleteIf(_)) => {
                complain("is said to have failed, and its condition was never false");
            }
            Fate::HandedBack { .. } if tries.accepted.is_some() => complain("was accepted, and is handed back"),
            Fate::HandedBack {
                may_have_been_delivered: false,
                ..
            } if applied > 0 => complain("is said not to be there, and is"),
            Fate::HandedBack {
                may_have_been_delivered: true,
                ..
            } if tries.answered => complain("is in doubt, and each attempt was answered"),
            _ => {}
        }
    }
    complaints
}
