//! What must hold at each request of a fleet: no checkpoint and no answer says more than what is stored, and no worker sends what the
//! checkpoint with which it began has settled.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use aws_batch_simulator::{Queue, Table};
use serde_json::Value;

use super::activity::HEARTBEAT;
use super::bucket::Objects;
use super::content::{
    Position, checkpoint, exported, number, number_of_record, numbers, position, settled_runs, stale,
};
use super::load::Entry;
use super::rare;

/// Calls that a worker may still make when it has had time to read that it has lost its shard: those in flight, and those that are being
/// made. On a busy machine its threads run in any order, so it is generous.
const CALLS_AFTER_LOSS: u32 = 12;

/// How long a worker may take, in the time of a fleet, to act on an answer that it has read: until its next heartbeat, by which it shows that
/// it has given up waiting for that answer, and a tenth of a second of a busy machine.
const REACTION: Duration = Duration::from_secs(HEARTBEAT.as_secs() / 3 + 3);

/// Heartbeats in a row without an answer after which a worker must stop: their time is over.
const MISSED: usize = 3;

/// Where the entries go.
pub(crate) enum Sink {
    Table(Table),
    Queue(Queue),
    /// Objects of an export.
    Export,
}

pub(crate) struct Ledger {
    sink: Sink,
    objects: Objects,
    /// The folder of dead letters and checkpoints that are not in S3.
    folder: PathBuf,
    shards: Vec<Shard>,
    /// The applied entries, in their order, and how many records of the simulator they are from.
    applied: Vec<u32>,
    seen: usize,
    /// What a checkpoint had settled when a worker read it, by the worker: the shard, and its entries.
    resumed: HashMap<usize, (usize, BTreeSet<u32>)>,
    /// The workers that have put a checkpoint of their shard.
    putting: HashSet<usize>,
    /// What each worker has put last, and the workers whose last put was refused.
    last_put: HashMap<usize, Vec<u8>>,
    refused: HashSet<usize>,
    /// What each worker has sent of its shard, and how many entries were applied before it began it.
    sent: HashMap<usize, BTreeSet<u32>>,
    applied_before: HashMap<usize, usize>,
    /// Whether a request to the destination had a fault, so that a worker may not know what it has delivered.
    pub(crate) is_in_doubt: bool,
    /// The heartbeats of each worker since it has last had an answer, by the ids of their calls.
    unheard: HashMap<usize, HashSet<String>>,
    /// The workers that were told that they have lost their shard, whether they have read it or not.
    told: HashSet<usize>,
    /// When workers have read that, and their calls since they have had time to act on it.
    since_loss: HashMap<usize, (Duration, u32)>,
    /// The workers that have sent a heartbeat after they had read that: the answer came at the moment at which it was too late.
    doubted: HashSet<usize>,
    /// How many shards each worker has ended.
    ended: HashMap<usize, usize>,
    pub(crate) violations: Vec<String>,
}

struct Shard {
    /// The key of its checkpoint.
    checkpoint: String,
    /// Whether it is a segment of a table, which is settled up to a key.
    is_segment: bool,
    /// Its entries in their order; those of a segment as far as it was read.
    entries: Vec<Entry>,
    /// The entries that the last checkpoint has settled.
    settled: Option<BTreeSet<u32>>,
}

impl Ledger {
    pub(crate) fn new(sink: Sink, objects: Objects) -> Self {
        Self {
            sink,
            objects,
            folder: PathBuf::new(),
            shards: Vec::new(),
            applied: Vec::new(),
            seen: 0,
            resumed: HashMap::new(),
            putting: HashSet::new(),
            last_put: HashMap::new(),
            refused: HashSet::new(),
            sent: HashMap::new(),
            applied_before: HashMap::new(),
            is_in_doubt: false,
            unheard: HashMap::new(),
            told: HashSet::new(),
            since_loss: HashMap::new(),
            doubted: HashSet::new(),
            ended: HashMap::new(),
            violations: Vec::new(),
        }
    }

    pub(crate) fn with_folder(self, folder: PathBuf) -> Self {
        Self { folder, ..self }
    }

    /// The shards, each with its planned form and its entries. Those of a segment are known when it is read.
    pub(crate) fn begin<'a>(&mut self, shards: impl Iterator<Item = (&'a Value, Option<Vec<Entry>>)>) {
        let begun = shards.map(|(planned, entries)| Shard {
            checkpoint: format!("checkpoints/{}", checkpoint(planned)),
            is_segment: entries.is_none(),
            entries: entries.unwrap_or_default(),
            settled: None,
        });
        self.shards = begun.collect();
    }

    /// A checkpoint of another load stands in the place of the first shard's.
    pub(crate) fn leave_a_stale_checkpoint(&self) {
        let key = self.shards[0].checkpoint.clone();
        self.objects.lock().unwrap().insert(key, stale());
    }

    /// The numbers of the entries of a shard.
    pub(crate) fn numbers(&self, shard: usize) -> impl Iterator<Item = u32> {
        self.shards[shard].entries.iter().map(|entry| entry.number)
    }

    /// The shard whose checkpoint has this key.
    pub(crate) fn shard_of(&self, key: &str) -> Option<usize> {
        self.shards.iter().position(|shard| shard.checkpoint == key)
    }

    /// A worker puts this checkpoint.
    pub(crate) fn puts_checkpoint(&mut self, worker: usize, shard: usize, content: &[u8]) {
        self.putting.insert(worker);
        self.last_put.insert(worker, content.to_vec());
        let Some(settled) = self.settled(shard, content) else {
            return;
        };
        let missing: Vec<u32> = settled.difference(&self.stored()).copied().collect();
        if !missing.is_empty() {
            self.violate(
                worker,
                shard,
                &format!("its checkpoint has settled {missing:?}, which is nowhere"),
            );
        }
    }

    /// The checkpoint of the shard is this one.
    pub(crate) fn has_checkpoint(&mut self, worker: usize, shard: usize, content: &[u8]) {
        let Some(settled) = self.settled(shard, content) else {
            return;
        };
        if self.shards[shard]
            .settled
            .as_ref()
            .is_some_and(|before| !settled.is_superset(before))
        {
            self.violate(worker, shard, "it has replaced a checkpoint by an older one");
        }
        self.shards[shard].settled = Some(settled);
    }

    /// Whether the checkpoint of the shard is that of another load.
    pub(crate) fn is_stale(&self, shard: usize) -> bool {
        let objects = self.objects.lock().unwrap();
        let checkpoint = objects.get(&self.shards[shard].checkpoint);
        checkpoint.is_some_and(|checkpoint| *checkpoint == stale())
    }

    /// The last put of a checkpoint of a worker was refused.
    pub(crate) fn refuses_checkpoint(&mut self, worker: usize) {
        self.refused.insert(worker);
    }

    /// A worker reads this checkpoint. Returns the rare state in which it does.
    pub(crate) fn reads_checkpoint(&mut self, worker: usize, shard: usize, content: &[u8]) -> Option<&'static str> {
        // After a put that was refused, it looks whose checkpoint stands.
        if self.putting.contains(&worker) {
            let is_own = self.last_put.get(&worker).is_some_and(|put| put == content);
            let looks = self.refused.remove(&worker);
            return looks.then_some(if is_own { rare::OWN_PUT } else { rare::TAKEN_OVER });
        }
        let settled = self.settled(shard, content)?;
        let is_whole = settled.len() == self.shards[shard].entries.len();
        let state = match settled.is_empty() {
            true => None,
            false if is_whole => Some(rare::RESUMED_AT_THE_END),
            false => Some(rare::RESUMED),
        };
        self.resumed.insert(worker, (shard, settled));
        state
    }

    /// The checkpoint of the shard is removed, although it is for all that have the shard, however late.
    pub(crate) fn removes_checkpoint(&mut self, worker: usize, shard: usize) {
        self.violate(worker, shard, "its checkpoint is removed");
    }

    /// A worker sends a heartbeat, by a call with this id.
    pub(crate) fn beats(&mut self, worker: usize, call: &str) {
        // Once: a worker that does not act on what it reads goes on with its heartbeats, too.
        if self.since_loss.contains_key(&worker) && self.doubted.insert(worker) {
            self.since_loss.remove(&worker);
        }
        let unheard = self.unheard.entry(worker).or_default();
        unheard.insert(call.to_owned());
        if unheard.len() > MISSED {
            self.violations.push(format!(
                "worker {worker} goes on, though its heartbeats have had no answer"
            ));
        }
    }

    /// A worker has an answer of the activity.
    pub(crate) fn hears(&mut self, worker: usize) {
        self.unheard.remove(&worker);
    }

    /// A worker sends these entries.
    pub(crate) fn sends(&mut self, worker: usize, numbers: &BTreeSet<u32>, now: Duration) {
        if numbers.is_empty() {
            return;
        }
        self.sent.entry(worker).or_default().extend(numbers);
        let again = self.resumed.get(&worker).and_then(|(shard, settled)| {
            let again = settled.intersection(numbers).next()?;
            Some((*shard, *again))
        });
        if let Some((shard, number)) = again {
            self.violate(
                worker,
                shard,
                &format!("it sends {number}, which its checkpoint has settled"),
            );
        }
        if let Some((since, calls)) = self.since_loss.get_mut(&worker)
            && now >= *since + REACTION
        {
            *calls += 1;
            if *calls == CALLS_AFTER_LOSS {
                self.violations.push(format!(
                    "worker {worker} goes on after it was told that it has lost its shard"
                ));
            }
        }
    }

    pub(crate) fn begins_shard(&mut self, worker: usize) {
        self.sent.remove(&worker);
        self.resumed.remove(&worker);
        self.putting.remove(&worker);
        let before = self.applied().len();
        self.applied_before.insert(worker, before);
    }

    /// A worker says that it had to stop. What it has delivered is in the checkpoint then, if it knows of it. In a segment, that is so up
    /// to the first entry that is left.
    pub(crate) fn says_interrupted(&mut self, worker: usize, shard: usize) {
        let is_told = self.told.contains(&worker);
        let Some(settled) = &self.shards[shard].settled else {
            return;
        };
        if self.is_in_doubt || is_told || self.shards[shard].is_segment {
            return;
        }
        let settled = settled.clone();
        let sent = self.sent.get(&worker).cloned().unwrap_or_default();
        // An earlier worker may have delivered entries that its checkpoint does not have.
        let before = self.applied_before.get(&worker).copied().unwrap_or_default();
        let forgotten: Vec<u32> = self
            .applied()
            .iter()
            .skip(before)
            .filter(|number| sent.contains(number) && !settled.contains(number))
            .copied()
            .collect();
        if !forgotten.is_empty() {
            self.violate(
                worker,
                shard,
                &format!("it stops, but {forgotten:?} is not in its checkpoint"),
            );
        }
    }

    /// A worker is told that it has lost the shard.
    pub(crate) fn loses_shard(&mut self, worker: usize) {
        self.told.insert(worker);
    }

    /// A worker has read that it has lost the shard that it had when it had ended so many.
    pub(crate) fn knows_loss(&mut self, worker: usize, ended: usize, now: Duration) {
        if self.ended(worker) == ended {
            self.since_loss.entry(worker).or_insert((now, 0));
        }
    }

    pub(crate) fn ends_shard(&mut self, worker: usize) {
        self.told.remove(&worker);
        self.since_loss.remove(&worker);
        self.doubted.remove(&worker);
        *self.ended.entry(worker).or_default() += 1;
    }

    /// How many shards the worker has ended.
    pub(crate) fn ended(&self, worker: usize) -> usize {
        self.ended.get(&worker).copied().unwrap_or_default()
    }

    /// A scan has returned these entries of a segment, in this order. Each page was reached by those before it.
    pub(crate) fn scanned(&mut self, segment: usize, numbers: &[u32]) {
        let Some(shard) = self.shards.get_mut(segment) else {
            return;
        };
        let known: HashSet<u32> = shard.entries.iter().map(|entry| entry.number).collect();
        let new = numbers.iter().filter(|number| !known.contains(number));
        shard.entries.extend(new.map(|number| Entry {
            number: *number,
            id: *number,
        }));
    }

    /// A worker says that the shard is delivered.
    pub(crate) fn says_delivered(&mut self, worker: usize, shard: usize) {
        let all: BTreeSet<u32> = self.shards[shard].entries.iter().map(|entry| entry.number).collect();
        let missing: Vec<u32> = all.difference(&self.stored()).copied().collect();
        if !missing.is_empty() {
            self.violate(worker, shard, &format!("it is answered, but {missing:?} is nowhere"));
        }
    }

    fn violate(&mut self, worker: usize, shard: usize, words: &str) {
        self.violations.push(format!("worker {worker}, shard {shard}: {words}"));
    }

    /// The entries that a checkpoint of this load has settled.
    fn settled(&self, shard: usize, content: &[u8]) -> Option<BTreeSet<u32>> {
        if content == stale() {
            return None;
        }
        let Shard {
            entries, is_segment, ..
        } = &self.shards[shard];
        let numbers = |runs: Vec<(usize, usize)>| -> BTreeSet<u32> {
            let records = runs.into_iter().flat_map(|(first, last)| first..=last);
            let settled = records.filter_map(|record| entries.get(record));
            settled.map(|entry| entry.number).collect()
        };
        if !is_segment {
            return settled_runs(content).map(numbers);
        }
        let until = match position(content)? {
            Position::Start => 0,
            Position::End => entries.len(),
            // An entry that was not read cannot be settled, and is not stored either.
            Position::After(id) => match entries.iter().position(|entry| entry.id == id) {
                Some(index) => index + 1,
                None => return Some([id].into()),
            },
        };
        Some(entries[..until].iter().map(|entry| entry.number).collect())
    }

    /// The entries that are delivered, or dead letters.
    fn stored(&mut self) -> BTreeSet<u32> {
        let mut stored: BTreeSet<u32> = self.applied().iter().copied().collect();
        stored.extend(self.dead_letters());
        stored
    }

    /// The numbers of all applied entries, in their order, as often as they were applied.
    pub(crate) fn applied(&mut self) -> &[u32] {
        let records = match &self.sink {
            Sink::Table(table) => table.journal(),
            Sink::Queue(queue) => queue.journal(),
            Sink::Export => {
                self.applied = exported(&self.objects.lock().unwrap());
                return &self.applied;
            }
        };
        let new = records[self.seen..]
            .iter()
            .filter(|record| record.acknowledgement().is_applied());
        self.applied.extend(new.filter_map(number_of_record));
        self.seen = records.len();
        &self.applied
    }

    /// The numbers of the messages that the queue has, in the order of acceptance. A FIFO queue has dropped what was repeated.
    pub(crate) fn messages(&self) -> Vec<u32> {
        let Sink::Queue(queue) = &self.sink else {
            return Vec::new();
        };
        let messages = queue.messages().into_iter();
        messages
            .filter_map(|message| number(&serde_json::from_str(&message.body).ok()?))
            .collect()
    }

    /// The numbers of the entries among the dead letters.
    pub(crate) fn dead_letters(&self) -> Vec<u32> {
        let objects = self.objects.lock().unwrap();
        let letters = objects
            .iter()
            .filter(|(key, _)| key.starts_with("letters/") && !key.contains("/causes/"));
        let mut found: Vec<u32> = letters.flat_map(|(_, content)| numbers(content)).collect();
        let files = fs::read_dir(self.folder.join("letters")).into_iter().flatten();
        let files = files.map(|file| file.unwrap().path());
        // The files of causes have no entries.
        found.extend(files.flat_map(|path| numbers(&fs::read(path).unwrap_or_default())));
        found
    }
}
