//! What holds of a fleet in the end.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::clock::{IS_EXACT, Skew};
use super::faults::Service;
use super::fleet::{Ended, Fleet};
use super::ledger::Ledger;
use super::load::{Entry, Work};
use super::rare;

impl Fleet {
    /// Checks it, and returns what the fleet came to.
    pub(crate) fn checked(&self) -> Result<Ended, String> {
        let shared = self.shared();
        let mut ledger = shared.ledger();
        if let Some(violation) = ledger.violations.first() {
            return Err(violation.clone());
        }
        if let Some(worker) = shared.workers.panicked() {
            return Err(format!("worker {worker} has panicked"));
        }
        if let Some(why) = shared.activity.given_up().first() {
            return Err(format!("a shard was given up: {why}"));
        }
        let applied = ledger.applied().to_vec();
        let letters: BTreeSet<u32> = ledger.dead_letters().into_iter().collect();
        if letters != self.plan.load.refused {
            return Err(format!("the dead letters are {letters:?}"));
        }
        let mut stored: BTreeSet<u32> = applied.iter().copied().collect();
        stored.extend(&letters);
        let out_of_order = self.check_entries(&stored, &applied, &ledger.messages())?;
        let handed_out: Vec<usize> = (0..self.shards.len())
            .map(|shard| shared.activity.holders(shard).len())
            .collect();
        let sent_again = self.check_sent_again(&ledger, &handed_out, &applied)?;
        if ledger.dead_letters().len() > letters.len() {
            shared.rare.reach(rare::LETTER_TWICE);
        }
        if self.plan.skew != Skew::None {
            shared.rare.reach(rare::SKEWED);
        }
        shared.rare.say(&shared.workers.said());
        let after_faults = self.delivered.saturating_sub(*shared.healed.lock().unwrap());
        let bound = self.plan.bound();
        if IS_EXACT && after_faults > bound {
            return Err(format!(
                "it ends {after_faults:.0?} after its faults, and {bound:.0?} are enough for what is left"
            ));
        }
        let faults = shared.faults.lock().unwrap();
        Ok(Ended {
            requests: Service::ALL.map(|service| (service, faults.made(service))).into(),
            time: shared.clock.now(),
            after_faults: (after_faults, bound),
            shards: self.shards.len(),
            handed_out: handed_out.iter().sum(),
            overlapping: shared.overlapping.lock().unwrap().len(),
            sent_again,
            out_of_order,
            reached: shared.rare.reached(),
        })
    }

    /// An entry is sent again if its shard is handed out again, at most once each time, or if its call had no answer. Returns how many
    /// were.
    fn check_sent_again(&self, ledger: &Ledger, handed_out: &[usize], applied: &[u32]) -> Result<usize, String> {
        let mut times: HashMap<u32, usize> = HashMap::new();
        for number in applied {
            *times.entry(*number).or_default() += 1;
        }
        // A call in flight when the clock jumps has taken too long.
        let jumps = if self.plan.skew.jumps() { 2 } else { 0 };
        let in_doubt = jumps + *self.shared().in_doubt.lock().unwrap();
        let mut unanswered = 0;
        for (shard, handed_out) in handed_out.iter().enumerate() {
            for number in ledger.numbers(shard) {
                let times = times.get(&number).copied().unwrap_or_default();
                unanswered += times.saturating_sub(*handed_out);
                if times > handed_out + in_doubt {
                    return Err(format!(
                        "{number} was sent {times} times, and its shard handed out {handed_out}"
                    ));
                }
            }
        }
        if unanswered > 25 * in_doubt {
            return Err(format!(
                "{unanswered} entries were sent again for no reason, and at most {} may be",
                25 * in_doubt
            ));
        }
        Ok(applied.len() - times.len())
    }

    /// Every entry is stored, and each key and group has its order, unless two workers had the shard at the same time.
    /// Returns the shards without it.
    fn check_entries(&self, stored: &BTreeSet<u32>, applied: &[u32], messages: &[u32]) -> Result<usize, String> {
        let all: BTreeMap<u32, u32> = self.plan.load.entries().map(|entry| (entry.number, entry.id)).collect();
        if let Some(invented) = stored.iter().find(|number| !all.contains_key(number)) {
            return Err(format!("{invented} was not among the entries"));
        }
        let stand: HashMap<u32, u32> = applied.iter().map(|number| (all[number], *number)).collect();
        if let Some(lost) = all.keys().find(|number| !stored.contains(number)) {
            return Err(format!("{lost} is nowhere"));
        }
        let overlapping = self.shared().overlapping.lock().unwrap();
        let mut out_of_order = 0;
        for (shard, planned) in self.shards.iter().enumerate() {
            let Some(entries) = self.plan.load.shard(planned) else {
                continue;
            };
            let checked = match self.plan.work {
                Work::Load => self.check_newest(&entries, &stand),
                Work::SendInGroups => check_groups(&entries, messages),
                _ => Ok(()),
            };
            match checked {
                Err(_) if overlapping.contains(&shard) => out_of_order += 1,
                checked => checked?,
            }
        }
        Ok(out_of_order)
    }

    /// The newest entry of each key stands, unless the key is in another shard as well.
    fn check_newest(&self, entries: &[Entry], stand: &HashMap<u32, u32>) -> Result<(), String> {
        let own: BTreeSet<u32> = entries.iter().map(|entry| entry.number).collect();
        let elsewhere = self.plan.load.entries().filter(|entry| !own.contains(&entry.number));
        let elsewhere: BTreeSet<u32> = elsewhere.map(|entry| entry.id).collect();
        let delivered = entries
            .iter()
            .filter(|entry| !self.plan.load.refused.contains(&entry.number) && !elsewhere.contains(&entry.id));
        let newest: HashMap<u32, u32> = delivered.map(|entry| (entry.id, entry.number)).collect();
        match newest.iter().find(|(id, newest)| stand.get(id) != Some(newest)) {
            Some((id, newest)) => Err(format!(
                "{:?} stands in the place of {newest}, which came later",
                stand.get(id)
            )),
            None => Ok(()),
        }
    }
}

/// The messages of each group are in the order of their lines, and none came twice.
fn check_groups(entries: &[Entry], messages: &[u32]) -> Result<(), String> {
    let groups: HashMap<u32, u32> = entries.iter().map(|entry| (entry.number, entry.id)).collect();
    let mut last: HashMap<u32, u32> = HashMap::new();
    for (number, group) in messages.iter().filter_map(|number| Some((number, groups.get(number)?))) {
        if let Some(before) = last.insert(*group, *number).filter(|before| before >= number) {
            return Err(format!("{number} came after {before} of the same group"));
        }
    }
    Ok(())
}
