//! Entries that wait by partition key.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::entry::{EntryState, TrackedEntry};

/// The fractional part of the golden ratio: steps of this size visit the list evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// Entries that wait, one queue for each partition key.
///
/// Entries of a hot key leave at the pace of that key. From the other queues entries are drawn in proportion to the length
/// of each queue, the oldest entry of the queue first. So a sorted input does not fill one partition after another.
pub(crate) struct KeyQueues<E> {
    queues: HashMap<u64, KeyQueue<E>>,
    /// The keys of the hot queues. There may be as many queues as entries, and each call looks only at these few.
    ///
    /// Nothing depends on the order of `queues`, which differs in each process.
    hot: Vec<u64>,
    /// One key for each entry in a queue that is not hot.
    draws: Vec<u64>,
    drawn: f64,
    /// Since when the entries that are drawn have lingered.
    since: Option<Instant>,
    /// No entry that is drawn has an earlier position in the input.
    first: u64,
    len: usize,
    bytes: usize,
}

struct KeyQueue<E> {
    /// Rejected entries, by their first attempt.
    rejected: BTreeMap<(Instant, u64), TrackedEntry<E>>,
    fresh: VecDeque<TrackedEntry<E>>,
    /// Whether the key is hot: its entries are not drawn.
    is_hot: bool,
    /// When the strategy is asked again about this key; `None` for now.
    next_at: Option<Instant>,
}

impl<E> KeyQueue<E> {
    fn len(&self) -> usize {
        self.rejected.len() + self.fresh.len()
    }

    fn pop(&mut self) -> Option<TrackedEntry<E>> {
        match self.rejected.pop_first() {
            Some((_, entry)) => Some(entry),
            None => self.fresh.pop_front(),
        }
    }

    fn push(&mut self, entry: TrackedEntry<E>) {
        let position = entry.state.position;
        if let Some(history) = &entry.state.history {
            self.rejected.insert((history.first_sent, position), entry);
        } else {
            // An entry that was held in a lane may arrive after later ones.
            let place = self.fresh.partition_point(|before| before.state.position < position);
            self.fresh.insert(place, entry);
        }
    }

    /// Positions in the input, the first one among them.
    fn positions(&self) -> impl Iterator<Item = u64> {
        let rejected = self.rejected.keys().map(|(_, position)| *position);
        rejected.chain(self.fresh.front().map(|entry| entry.state.position))
    }

    fn next(&self) -> Option<&TrackedEntry<E>> {
        self.rejected.values().next().or(self.fresh.front())
    }
}

impl<E> KeyQueues<E> {
    pub(crate) fn new() -> Self {
        Self {
            queues: HashMap::new(),
            hot: Vec::new(),
            draws: Vec::new(),
            drawn: 0.0,
            since: None,
            first: u64::MAX,
            len: 0,
            bytes: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds an entry to the queue of its key.
    pub(crate) fn push(&mut self, key: u64, is_hot: bool, entry: TrackedEntry<E>) {
        self.len += 1;
        self.bytes = self.bytes.saturating_add(entry.state.weight);
        let position = entry.state.position;
        let queue = self.queues.entry(key).or_insert_with(|| KeyQueue {
            rejected: BTreeMap::new(),
            fresh: VecDeque::new(),
            is_hot,
            next_at: None,
        });
        queue.push(entry);
        if queue.is_hot {
            if queue.len() == 1 {
                self.hot.push(key);
            }
        } else {
            self.draws.push(key);
            self.since.get_or_insert_with(Instant::now);
            self.first = self.first.min(position);
        }
    }

    /// Until when the entries that are drawn may linger; `None` when there are none, or when entries of a hot key may
    /// leave. Entries before the position `hurried` do not linger.
    pub(crate) fn lingers_until(&self, now: Instant, linger: Duration, hurried: u64) -> Option<Instant> {
        let is_due = self.hot_queues().any(|queue| queue.is_due(now));
        let is_hurried = self.first < hurried;
        self.since.filter(|_| !is_due && !is_hurried)?.checked_add(linger)
    }

    fn hot_queues(&self) -> impl Iterator<Item = &KeyQueue<E>> {
        self.hot.iter().filter_map(|key| self.queues.get(key))
    }

    /// An entry was removed from the queue of this key.
    fn taken(&mut self, key: u64, entry: &TrackedEntry<E>) {
        self.len -= 1;
        self.bytes = self.bytes.saturating_sub(entry.state.weight);
        let Some(queue) = self.queues.get(&key) else { return };
        if queue.len() == 0 {
            self.queues.remove(&key);
            self.hot.retain(|hot| *hot != key);
        }
    }

    /// Updates which queues are hot.
    pub(crate) fn update_hot(&mut self, is_hot: impl Fn(u64) -> bool) {
        let mut has_changed = false;
        for (key, queue) in &mut self.queues {
            let hot = is_hot(*key);
            has_changed |= hot != queue.is_hot;
            queue.is_hot = hot;
            queue.next_at = queue.next_at.filter(|_| hot);
        }
        if has_changed {
            self.sort_keys();
        }
    }

    /// Lists the keys of the hot queues, and those of the entries that are drawn, in the order of their first entries.
    fn sort_keys(&mut self) {
        self.hot.clear();
        self.draws.clear();
        self.first = u64::MAX;
        let mut queues: Vec<_> = self.queues.iter().collect();
        queues.sort_unstable_by_key(|(_, queue)| queue.next().map(|entry| entry.state.position));
        for (key, queue) in queues {
            if queue.is_hot {
                self.hot.push(*key);
            } else {
                self.draws.extend(std::iter::repeat_n(*key, queue.len()));
                self.first = queue.positions().fold(self.first, u64::min);
            }
        }
    }

    /// How many entries are sendable, as far as is known without asking the strategy; at most `most`.
    pub(crate) fn ready(&self, now: Instant, most: usize) -> usize {
        let mut ready = self.draws.len();
        for queue in self.hot_queues().filter(|queue| queue.is_due(now)) {
            if ready >= most {
                break;
            }
            ready += queue.len();
        }
        ready.min(most)
    }

    /// When the strategy is to be asked next about a hot key.
    pub(crate) fn next_due(&self, now: Instant) -> Option<Instant> {
        let next = self.hot_queues().filter_map(|queue| queue.next_at);
        next.filter(|at| *at > now).min()
    }

    /// Asks the strategy about all hot keys again.
    pub(crate) fn wake_all(&mut self) {
        for key in &self.hot {
            if let Some(queue) = self.queues.get_mut(key) {
                queue.next_at = None;
            }
        }
    }

    /// Removes entries of hot keys that may leave, while they fit. `admit` is given a key and the cost of its entries, and returns
    /// how much of that cost may leave, or until when the key waits. `depart` is called with what leaves.
    pub(crate) fn take_due(
        &mut self,
        now: Instant,
        mut admit: impl FnMut(u64, usize) -> Result<usize, Instant>,
        mut depart: impl FnMut(u64, usize),
        mut fits: impl FnMut(&TrackedEntry<E>) -> bool,
        mut take: impl FnMut(TrackedEntry<E>),
    ) {
        let is_due = |key: &u64| self.queues.get(key).is_some_and(|queue| queue.is_due(now));
        let due: Vec<u64> = self.hot.iter().copied().filter(is_due).collect();
        for key in due {
            let Some(queue) = self.queues.get_mut(&key) else {
                continue;
            };
            let wanted: usize = queue
                .rejected
                .values()
                .chain(&queue.fresh)
                .take(CALL)
                .map(|entry| entry.state.cost)
                .sum();
            let most = match admit(key, wanted) {
                Ok(most) => most,
                Err(until) => {
                    queue.next_at = Some(until);
                    continue;
                }
            };
            let mut cost = 0;
            while let Some(queue) = self.queues.get_mut(&key)
                && let Some(next) = queue.next()
                && (cost == 0 || cost + next.state.cost <= most)
                && fits(next)
                && let Some(entry) = queue.pop()
            {
                cost += entry.state.cost;
                self.taken(key, &entry);
                take(entry);
            }
            if cost == 0 {
                break;
            }
            depart(key, cost);
        }
    }

    /// Draws entries of the other keys, while they fit.
    pub(crate) fn take_drawn(
        &mut self,
        mut fits: impl FnMut(&TrackedEntry<E>) -> bool,
        mut take: impl FnMut(TrackedEntry<E>),
    ) {
        self.since = None;
        while !self.draws.is_empty() {
            self.drawn = (self.drawn + GOLDEN).fract();
            let index = index(self.drawn, self.draws.len());
            let key = self.draws[index];
            let Some(queue) = self.queues.get_mut(&key) else {
                self.draws.swap_remove(index);
                continue;
            };
            if !queue.next().is_some_and(&mut fits) {
                self.since = Some(Instant::now());
                return;
            }
            self.draws.swap_remove(index);
            if let Some(entry) = queue.pop() {
                self.taken(key, &entry);
                take(entry);
            }
        }
        self.first = u64::MAX;
    }

    /// Removes the entries whose time is used up. `has_waited` says whether an entry has been here for as long as one may be
    /// tried.
    ///
    /// The entry of a hot key that has been tried longest goes first whenever the key is asked. If its time is used up,
    /// no entry of the key was accepted meanwhile, and the time of those that waited behind it all the while is used up too.
    pub(crate) fn take_expired(
        &mut self,
        mut is_expired: impl FnMut(&EntryState<E>) -> bool,
        has_waited: impl Fn(&EntryState<E>) -> bool,
    ) -> Vec<TrackedEntry<E>> {
        let mut expired = Vec::new();
        for queue in self.queues.values_mut() {
            let before = expired.len();
            expired.extend(TrackedEntry::take_from(&mut queue.rejected, &mut is_expired));
            let is_dead = queue.is_hot && expired.len() > before;
            let goes = |entry: &TrackedEntry<E>| is_expired(&entry.state) || (is_dead && has_waited(&entry.state));
            let (gone, stay): (VecDeque<_>, _) = std::mem::take(&mut queue.fresh).into_iter().partition(goes);
            queue.fresh = stay;
            expired.extend(gone);
        }
        if !expired.is_empty() {
            self.len -= expired.len();
            let bytes: usize = expired.iter().map(|entry| entry.state.weight).sum();
            self.bytes = self.bytes.saturating_sub(bytes);
            self.queues.retain(|_, queue| queue.len() > 0);
            self.sort_keys();
            expired.sort_unstable_by_key(|entry| entry.state.position);
        }
        expired
    }

    /// All entries.
    pub(crate) fn take_all(&mut self) -> Vec<TrackedEntry<E>> {
        let queues = std::mem::replace(self, Self::new()).queues;
        let entries = queues
            .into_values()
            .flat_map(|queue| queue.rejected.into_values().chain(queue.fresh));
        let mut entries: Vec<_> = entries.collect();
        entries.sort_unstable_by_key(|entry| entry.state.position);
        entries
    }
}

/// Entries of a hot key for which the strategy is asked at once: the largest call of any service.
const CALL: usize = 500;

impl<E> KeyQueue<E> {
    fn is_due(&self, now: Instant) -> bool {
        self.is_hot && self.next_at.is_none_or(|at| at <= now)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a part of a length is within it"
)]
fn index(part: f64, length: usize) -> usize {
    ((part * length as f64) as usize).min(length.saturating_sub(1))
}

#[cfg(test)]
mod tests;
