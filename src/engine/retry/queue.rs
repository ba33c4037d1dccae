//! The queue of rejected entries.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::contract::Lane;
use crate::engine::entry::{EntryState, TrackedEntry};

/// Rejected entries: first they wait for their retry, then they are ready.
///
/// Both lists are sorted. The ready one is sorted by the first attempt: the entry that has been tried longest goes first,
/// and its time is used up first. Positions make the keys unique.
pub(crate) struct RetryQueue<E> {
    waiting: BTreeMap<(Instant, u64), TrackedEntry<E>>,
    ready: BTreeMap<(Option<Instant>, u64), TrackedEntry<E>>,
    bytes: usize,
}

impl<E> RetryQueue<E> {
    pub(crate) fn new() -> Self {
        Self {
            waiting: BTreeMap::new(),
            ready: BTreeMap::new(),
            bytes: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.ready.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    pub(crate) fn push(&mut self, until: Instant, entry: TrackedEntry<E>) {
        self.bytes = self.bytes.saturating_add(entry.state.weight);
        self.waiting.insert((until, entry.state.position), entry);
    }

    /// Adds an entry that was rejected before and may be sent again at once.
    pub(crate) fn push_ready(&mut self, entry: TrackedEntry<E>) {
        self.bytes = self.bytes.saturating_add(entry.state.weight);
        self.make_ready(entry);
    }

    /// Removes the entries whose delay is over, unless `hold` extends it.
    pub(crate) fn take_due(
        &mut self,
        now: Instant,
        mut hold: impl FnMut(&EntryState<E>) -> Instant,
    ) -> Vec<TrackedEntry<E>> {
        let mut due = Vec::new();
        while let Some(first) = self.waiting.first_entry() {
            if first.key().0 > now {
                break;
            }
            let entry = first.remove();
            let until = hold(&entry.state);
            if until > now {
                self.waiting.insert((until, entry.state.position), entry);
            } else {
                self.bytes = self.bytes.saturating_sub(entry.state.weight);
                due.push(entry);
            }
        }
        due
    }

    /// Makes all entries ready at once, and starts their retries from 1.
    pub(crate) fn wake_all(&mut self, mut open_lane: impl FnMut(Option<Lane>)) {
        for entry in self.waiting.values_mut().chain(self.ready.values_mut()) {
            entry.state.start_over();
        }
        for (_, entry) in std::mem::take(&mut self.waiting) {
            open_lane(entry.state.lane);
            self.make_ready(entry);
        }
    }

    fn make_ready(&mut self, entry: TrackedEntry<E>) {
        let first_sent = entry.state.history.as_ref().map(|history| history.first_sent);
        let key = (first_sent, entry.state.position);
        self.ready.insert(key, entry);
    }

    /// When the next delay is over.
    pub(crate) fn next_wake(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|((until, _), _)| *until)
    }

    /// The next ready entry.
    pub(crate) fn peek(&self) -> Option<&TrackedEntry<E>> {
        self.ready.first_key_value().map(|(_, entry)| entry)
    }

    /// The ready entries, in their order.
    pub(crate) fn iter_ready(&self) -> impl Iterator<Item = &TrackedEntry<E>> {
        self.ready.values()
    }

    pub(crate) fn pop(&mut self) -> Option<TrackedEntry<E>> {
        let (_, entry) = self.ready.pop_first()?;
        self.bytes = self.bytes.saturating_sub(entry.state.weight);
        Some(entry)
    }

    /// Removes the entries for which `goes` is true, ready or not.
    pub(crate) fn take_if(&mut self, mut goes: impl FnMut(&EntryState<E>) -> bool) -> Vec<TrackedEntry<E>> {
        let mut taken = TrackedEntry::take_from(&mut self.waiting, &mut goes);
        taken.extend(TrackedEntry::take_from(&mut self.ready, goes));
        let bytes: usize = taken.iter().map(|entry| entry.state.weight).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        taken
    }

    /// All entries, ready or not.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = TrackedEntry<E>> + use<E> {
        self.bytes = 0;
        let ready = std::mem::take(&mut self.ready);
        let waiting = std::mem::take(&mut self.waiting);
        ready.into_values().chain(waiting.into_values())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_entry_that_the_strategy_holds_waits_until_then() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        let mut waiting = RetryQueue::new();
        let state = EntryState::new(0, 1);
        waiting.push(now, TrackedEntry { entry: (), state });
        assert!(waiting.take_due(now, |_| later).is_empty());
        assert_eq!(
            (waiting.len(), waiting.bytes(), waiting.next_wake()),
            (1, 1, Some(later))
        );
        assert_eq!(waiting.take_due(later, |_| later).len(), 1);
        assert_eq!((waiting.len(), waiting.bytes(), waiting.next_wake()), (0, 0, None));
    }

    fn entry(position: u64, weight: usize) -> TrackedEntry<u64> {
        TrackedEntry {
            entry: position,
            state: EntryState::new(position, weight),
        }
    }

    fn positions(entries: impl IntoIterator<Item = TrackedEntry<u64>>) -> Vec<u64> {
        let mut positions: Vec<u64> = entries.into_iter().map(|entry| entry.entry).collect();
        positions.sort_unstable();
        positions
    }

    #[test]
    fn what_is_taken_counts_no_more_ready_or_not() {
        let later = Instant::now() + Duration::from_secs(1);
        let mut queue = RetryQueue::new();
        queue.push(later, entry(0, 1));
        queue.push(later, entry(1, 2));
        queue.push_ready(entry(2, 4));
        queue.push_ready(entry(3, 8));
        assert_eq!((queue.len(), queue.ready(), queue.bytes()), (4, 2, 15));
        let taken = queue.take_if(|state| state.position.is_multiple_of(2));
        assert_eq!(positions(taken), [0, 2]);
        assert_eq!((queue.len(), queue.ready(), queue.bytes()), (2, 1, 10));
        assert_eq!(queue.peek().map(|entry| entry.entry), Some(3));
        assert_eq!(positions(queue.iter_ready().map(|ready| entry(ready.entry, 0))), [3]);
        assert_eq!(queue.pop().map(|entry| entry.entry), Some(3));
        assert_eq!((queue.len(), queue.bytes()), (1, 2));
        assert_eq!(positions(queue.take_all()), [1]);
        assert_eq!((queue.len(), queue.bytes()), (0, 0));
    }

    #[test]
    fn a_reset_makes_all_ready_and_opens_their_lanes() {
        let later = Instant::now() + Duration::from_secs(1);
        let mut queue = RetryQueue::new();
        let mut waits = entry(0, 1);
        waits.state.lane = Some(Lane::exclusive(&7));
        queue.push(later, waits);
        queue.push_ready(entry(1, 2));
        let mut opened = Vec::new();
        queue.wake_all(|lane| opened.push(lane));
        assert_eq!(opened, [Some(Lane::exclusive(&7))]);
        assert_eq!((queue.ready(), queue.next_wake(), queue.bytes()), (2, None, 3));
    }
}
