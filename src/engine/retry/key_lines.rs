//! Entries that wait by partition key.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::entry::{EntryState, TrackedEntry};

/// The fractional part of the golden ratio: steps of this size visit the list evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// Entries that wait, one line for each partition key.
///
/// Entries of a hot key leave at the pace of that key. From the other lines entries are drawn in proportion to the length
/// of each line, the oldest entry of the line first. So a sorted input does not fill one partition after the other.
pub(crate) struct KeyLines<E> {
    lines: HashMap<u64, Line<E>>,
    /// The keys of the hot lines. There may be as many lines as entries, and each call looks only at these few.
    ///
    /// Nothing depends on the order of `lines`, which differs in each process.
    hot: Vec<u64>,
    /// One key for each entry in a line that is not hot.
    draws: Vec<u64>,
    drawn: f64,
    /// Since when the entries that are drawn have lingered.
    since: Option<Instant>,
    len: usize,
    bytes: usize,
}

struct Line<E> {
    /// Rejected entries, by their first attempt.
    rejected: BTreeMap<(Instant, u64), TrackedEntry<E>>,
    fresh: VecDeque<TrackedEntry<E>>,
    /// Whether the key is hot: its entries are not drawn.
    is_hot: bool,
    /// When the strategy is asked again about this key; `None` for now.
    next_at: Option<Instant>,
}

impl<E> Line<E> {
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

    fn next(&self) -> Option<&TrackedEntry<E>> {
        self.rejected.values().next().or(self.fresh.front())
    }
}

impl<E> KeyLines<E> {
    pub(crate) fn new() -> Self {
        Self {
            lines: HashMap::new(),
            hot: Vec::new(),
            draws: Vec::new(),
            drawn: 0.0,
            since: None,
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

    /// Adds an entry to the line of its key.
    pub(crate) fn push(&mut self, key: u64, is_hot: bool, entry: TrackedEntry<E>) {
        self.len += 1;
        self.bytes = self.bytes.saturating_add(entry.state.weight);
        let line = self.lines.entry(key).or_insert_with(|| Line {
            rejected: BTreeMap::new(),
            fresh: VecDeque::new(),
            is_hot,
            next_at: None,
        });
        line.push(entry);
        if line.is_hot {
            if line.len() == 1 {
                self.hot.push(key);
            }
        } else {
            self.draws.push(key);
            self.since.get_or_insert_with(Instant::now);
        }
    }

    /// Until when the entries that are drawn may linger; `None` when there are none, or when entries of a hot key may
    /// leave.
    pub(crate) fn lingers_until(&self, now: Instant, linger: Duration) -> Option<Instant> {
        let is_due = self.hot_lines().any(|line| line.is_due(now));
        self.since.filter(|_| !is_due)?.checked_add(linger)
    }

    fn hot_lines(&self) -> impl Iterator<Item = &Line<E>> {
        self.hot.iter().filter_map(|key| self.lines.get(key))
    }

    /// An entry was removed from the line of this key.
    fn taken(&mut self, key: u64, entry: &TrackedEntry<E>) {
        self.len -= 1;
        self.bytes = self.bytes.saturating_sub(entry.state.weight);
        let Some(line) = self.lines.get(&key) else { return };
        if line.len() == 0 {
            self.lines.remove(&key);
            self.hot.retain(|hot| *hot != key);
        }
    }

    /// Updates which lines are hot.
    pub(crate) fn update_hot(&mut self, is_hot: impl Fn(u64) -> bool) {
        let mut has_changed = false;
        for (key, line) in &mut self.lines {
            let hot = is_hot(*key);
            has_changed |= hot != line.is_hot;
            line.is_hot = hot;
            line.next_at = line.next_at.filter(|_| hot);
        }
        if has_changed {
            self.sort_keys();
        }
    }

    /// Lists the keys of the hot lines, and those of the entries that are drawn, in the order of their first entries.
    fn sort_keys(&mut self) {
        self.hot.clear();
        self.draws.clear();
        let mut lines: Vec<_> = self.lines.iter().collect();
        lines.sort_unstable_by_key(|(_, line)| line.next().map(|entry| entry.state.position));
        for (key, line) in lines {
            if line.is_hot {
                self.hot.push(*key);
            } else {
                self.draws.extend(std::iter::repeat_n(*key, line.len()));
            }
        }
    }

    /// How many entries are sendable, as far as is known without asking the strategy; at most `most`.
    pub(crate) fn ready(&self, now: Instant, most: usize) -> usize {
        let mut ready = self.draws.len();
        for line in self.hot_lines().filter(|line| line.is_due(now)) {
            if ready >= most {
                break;
            }
            ready += line.len();
        }
        ready.min(most)
    }

    /// When the strategy is to be asked next about a hot key.
    pub(crate) fn next_due(&self, now: Instant) -> Option<Instant> {
        let next = self.hot_lines().filter_map(|line| line.next_at);
        next.filter(|at| *at > now).min()
    }

    /// Asks the strategy about all hot keys again.
    pub(crate) fn wake_all(&mut self) {
        for key in &self.hot {
            if let Some(line) = self.lines.get_mut(key) {
                line.next_at = None;
            }
        }
    }

    /// Removes entries of hot keys that may leave, while they fit. `admit` is given a key and the cost of its entries, and returns
    /// how much of that cost may leave, or until when the key waits. `depart` is told what leaves.
    pub(crate) fn take_due(
        &mut self,
        now: Instant,
        mut admit: impl FnMut(u64, usize) -> Result<usize, Instant>,
        mut depart: impl FnMut(u64, usize),
        mut fits: impl FnMut(&TrackedEntry<E>) -> bool,
        mut take: impl FnMut(TrackedEntry<E>),
    ) {
        let is_due = |key: &u64| self.lines.get(key).is_some_and(|line| line.is_due(now));
        let due: Vec<u64> = self.hot.iter().copied().filter(is_due).collect();
        for key in due {
            let Some(line) = self.lines.get_mut(&key) else { continue };
            let wanted: usize = line
                .rejected
                .values()
                .chain(&line.fresh)
                .take(CALL)
                .map(|entry| entry.state.cost)
                .sum();
            let most = match admit(key, wanted) {
                Ok(most) => most,
                Err(until) => {
                    line.next_at = Some(until);
                    continue;
                }
            };
            let mut cost = 0;
            while let Some(line) = self.lines.get_mut(&key)
                && let Some(next) = line.next()
                && (cost == 0 || cost + next.state.cost <= most)
                && fits(next)
                && let Some(entry) = line.pop()
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
            let Some(line) = self.lines.get_mut(&key) else {
                self.draws.swap_remove(index);
                continue;
            };
            if !line.next().is_some_and(&mut fits) {
                self.since = Some(Instant::now());
                return;
            }
            self.draws.swap_remove(index);
            if let Some(entry) = line.pop() {
                self.taken(key, &entry);
                take(entry);
            }
        }
    }

    /// Removes the entries whose time is used up. `has_waited` tells whether an entry has been here for as long as one may be
    /// tried.
    ///
    /// The entry of a hot key that has been tried longest goes first whenever the key is asked. If its time is used up,
    /// nothing of the key was accepted meanwhile, and the time of those that waited behind it all the while is used up too.
    pub(crate) fn take_expired(
        &mut self,
        mut is_expired: impl FnMut(&EntryState<E>) -> bool,
        has_waited: impl Fn(&EntryState<E>) -> bool,
    ) -> Vec<TrackedEntry<E>> {
        let mut expired = Vec::new();
        for line in self.lines.values_mut() {
            let rejected = line.rejected.extract_if(.., |_, entry| is_expired(&entry.state));
            let before = expired.len();
            expired.extend(rejected.map(|(_, entry)| entry));
            let is_dead = line.is_hot && expired.len() > before;
            let goes = |entry: &TrackedEntry<E>| is_expired(&entry.state) || (is_dead && has_waited(&entry.state));
            let (gone, stay): (VecDeque<_>, _) = std::mem::take(&mut line.fresh).into_iter().partition(goes);
            line.fresh = stay;
            expired.extend(gone);
        }
        if !expired.is_empty() {
            self.len -= expired.len();
            let bytes: usize = expired.iter().map(|entry| entry.state.weight).sum();
            self.bytes = self.bytes.saturating_sub(bytes);
            self.lines.retain(|_, line| line.len() > 0);
            self.sort_keys();
            expired.sort_unstable_by_key(|entry| entry.state.position);
        }
        expired
    }

    /// All entries.
    pub(crate) fn take_all(&mut self) -> Vec<TrackedEntry<E>> {
        let lines = std::mem::replace(self, Self::new()).lines;
        let entries = lines
            .into_values()
            .flat_map(|line| line.rejected.into_values().chain(line.fresh));
        let mut entries: Vec<_> = entries.collect();
        entries.sort_unstable_by_key(|entry| entry.state.position);
        entries
    }
}

/// Entries of a hot key for which the strategy is asked at once: the largest call of any service.
const CALL: usize = 500;

impl<E> Line<E> {
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
