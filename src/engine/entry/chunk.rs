//! The entries of one call, and the space that is left for others.

use super::{EntryState, TrackedEntry};
use crate::contract::Limits;

/// The entries of one call, and their states in the same order.
///
/// Two lists, so that a target gets a plain slice of entries.
pub(crate) struct Chunk<E> {
    pub(crate) entries: Vec<E>,
    pub(crate) states: Vec<EntryState<E>>,
    pub(crate) bytes: usize,
    /// What its entries count for with the strategy, summed up.
    pub(crate) cost: usize,
}

impl<E> Chunk<E> {
    pub(crate) fn with_capacity(entries: usize) -> Self {
        Self {
            entries: Vec::with_capacity(entries),
            states: Vec::with_capacity(entries),
            bytes: 0,
            cost: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Drops all entries and keeps the allocated memory.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.states.clear();
        (self.bytes, self.cost) = (0, 0);
    }

    #[inline]
    pub(crate) fn push(&mut self, TrackedEntry { entry, state }: TrackedEntry<E>) {
        self.bytes = self.bytes.saturating_add(state.bytes);
        self.cost = self.cost.saturating_add(state.cost);
        self.entries.push(entry);
        self.states.push(state);
    }

    /// Removes the last entry.
    pub(crate) fn pop(&mut self) -> Option<TrackedEntry<E>> {
        let (entry, state) = self.entries.pop().zip(self.states.pop())?;
        self.bytes = self.bytes.saturating_sub(state.bytes);
        self.cost = self.cost.saturating_sub(state.cost);
        Some(TrackedEntry { entry, state })
    }

    /// Moves the first `count` entries of another chunk to the end of this one. If that is the whole other chunk and this
    /// one is empty, only the lists are swapped.
    pub(crate) fn take_from(&mut self, other: &mut Self, count: usize) {
        if self.len() == 0 && count == other.len() {
            return std::mem::swap(self, other);
        }
        self.entries.extend(other.entries.drain(..count));
        for state in other.states.drain(..count) {
            self.bytes = self.bytes.saturating_add(state.bytes);
            self.cost = self.cost.saturating_add(state.cost);
            other.bytes = other.bytes.saturating_sub(state.bytes);
            other.cost = other.cost.saturating_sub(state.cost);
            self.states.push(state);
        }
    }

    /// Keeps the first `count` entries and returns the others.
    pub(crate) fn split_off(&mut self, count: usize) -> Self {
        let entries = self.entries.split_off(count);
        let states = self.states.split_off(count);
        let bytes = states.iter().map(|state| state.bytes).sum();
        let cost = states.iter().map(|state| state.cost).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        self.cost = self.cost.saturating_sub(cost);
        Self {
            entries,
            states,
            bytes,
            cost,
        }
    }

    /// Removes the entries for which `goes` is true.
    pub(crate) fn take_if(&mut self, mut goes: impl FnMut(&EntryState<E>) -> bool) -> Vec<TrackedEntry<E>> {
        let goes: Vec<bool> = self.states.iter().map(&mut goes).collect();
        if !goes.contains(&true) {
            return Vec::new();
        }
        let all = std::mem::replace(self, Self::with_capacity(self.len()));
        let mut taken = Vec::new();
        for (entry, goes) in all.into_tracked().zip(goes) {
            if goes {
                taken.push(entry);
            } else {
                self.push(entry);
            }
        }
        taken
    }

    pub(crate) fn into_tracked(self) -> impl Iterator<Item = TrackedEntry<E>> {
        self.entries
            .into_iter()
            .zip(self.states)
            .map(|(entry, state)| TrackedEntry { entry, state })
    }
}

/// The space that is left in a chunk.
pub(crate) struct Space {
    entries: usize,
    bytes: usize,
    cost: usize,
    /// The first entry is packed whatever its cost and size: alone it keeps the limits of the target.
    is_first: bool,
}

impl Space {
    /// The space that is left in the chunk, whose entries may cost at most `cost`.
    pub(crate) fn left_in<E>(chunk: &Chunk<E>, limits: &Limits, cost: usize) -> Self {
        Self {
            entries: limits.entries.max(1).saturating_sub(chunk.len()),
            bytes: limits.bytes.saturating_sub(chunk.bytes),
            cost: cost.saturating_sub(chunk.cost),
            is_first: chunk.len() == 0,
        }
    }

    /// Takes the space for an entry, if there is enough.
    pub(crate) fn take<E>(&mut self, state: &EntryState<E>) -> bool {
        let fits = self.is_first || state.cost <= self.cost && state.bytes <= self.bytes;
        if self.entries == 0 || !fits {
            return false;
        }
        self.entries -= 1;
        self.bytes = self.bytes.saturating_sub(state.bytes);
        self.cost = self.cost.saturating_sub(state.cost);
        self.is_first = false;
        true
    }

    /// Takes the space for as many of the first entries as fit. Returns their number.
    pub(crate) fn take_all<E>(&mut self, states: &[EntryState<E>]) -> usize {
        states.iter().take_while(|state| self.take(state)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(position: u64, bytes: usize, cost: usize) -> TrackedEntry<u64> {
        let mut state = EntryState::new(position, bytes);
        state.cost = cost;
        TrackedEntry { entry: position, state }
    }

    fn chunk(entries: impl IntoIterator<Item = u64>) -> Chunk<u64> {
        let mut chunk = Chunk::with_capacity(8);
        for position in entries {
            let number = usize::try_from(position).unwrap();
            chunk.push(entry(position, 10 + number, 100 + number));
        }
        chunk
    }

    /// Checks that the sums are those of the entries, and returns these.
    fn entries(chunk: &Chunk<u64>) -> Vec<u64> {
        assert_eq!(chunk.bytes, chunk.states.iter().map(|state| state.bytes).sum::<usize>());
        assert_eq!(chunk.cost, chunk.states.iter().map(|state| state.cost).sum::<usize>());
        assert!(
            chunk
                .states
                .iter()
                .map(|state| state.position)
                .eq(chunk.entries.iter().copied())
        );
        assert_eq!(chunk.len(), chunk.entries.len());
        chunk.entries.clone()
    }

    #[test]
    fn the_sums_of_a_chunk_are_those_of_its_entries_whatever_is_moved() {
        let mut one = chunk(0..5);
        let rest = one.split_off(2);
        assert_eq!((entries(&one), entries(&rest)), (vec![0, 1], vec![2, 3, 4]));
        let mut other = rest;
        one.take_from(&mut other, 1);
        assert_eq!((entries(&one), entries(&other)), (vec![0, 1, 2], vec![3, 4]));
        // All of it, but not into an empty one.
        one.take_from(&mut other, 2);
        assert_eq!((entries(&one), entries(&other)), (vec![0, 1, 2, 3, 4], vec![]));
        other.take_from(&mut one, 2);
        assert_eq!((entries(&other), entries(&one)), (vec![0, 1], vec![2, 3, 4]));
        assert_eq!(one.pop().map(|entry| entry.entry), Some(4));
        assert_eq!(entries(&one), [2, 3]);
        let mut empty = chunk([]);
        empty.take_from(&mut one, 2);
        assert_eq!((entries(&empty), entries(&one)), (vec![2, 3], vec![]));
        let tracked: Vec<_> = empty.into_tracked().map(|entry| entry.state.position).collect();
        assert_eq!(tracked, [2, 3]);
        other.clear();
        assert_eq!((entries(&other), other.pop().is_none()), (vec![], true));
    }

    #[test]
    fn a_whole_chunk_is_swapped_into_an_empty_one_with_its_memory() {
        let (mut empty, mut full) = (chunk([]), chunk(0..8));
        let memory = full.entries.as_ptr();
        empty.take_from(&mut full, 8);
        assert_eq!(empty.entries.as_ptr(), memory);
    }

    fn state(bytes: usize, cost: usize) -> EntryState<()> {
        let mut state = EntryState::new(0, bytes);
        state.cost = cost;
        state
    }

    fn chunk_of(states: impl IntoIterator<Item = EntryState<()>>) -> Chunk<()> {
        let mut chunk = Chunk::with_capacity(4);
        for state in states {
            chunk.push(TrackedEntry { entry: (), state });
        }
        chunk
    }

    #[test]
    fn entries_fit_up_to_each_of_the_limits_and_not_beyond() {
        let space = || Space::left_in(&chunk_of([state(10, 10)]), &Limits::new(4, 100), 40);
        // The count, the bytes, the cost.
        for (bytes, cost, fit) in [
            (1, 1, 3),
            (45, 1, 2),
            (46, 1, 1),
            (90, 30, 1),
            (91, 1, 0),
            (1, 15, 2),
            (1, 31, 0),
        ] {
            let states = [0; 4].map(|_| state(bytes, cost));
            assert_eq!(space().take_all(&states), fit, "{bytes} bytes, cost {cost}");
        }
    }

    #[test]
    fn the_first_entry_fits_whatever_its_cost_and_its_size() {
        let space = || Space::left_in(&chunk_of([]), &Limits::new(4, 100), 40);
        assert_eq!(space().take_all(&[state(1, 500), state(1, 1)]), 1);
        assert_eq!(space().take_all(&[state(1, 40), state(1, 1)]), 1);
        assert_eq!(space().take_all(&[state(1, 30), state(1, 10), state(1, 1)]), 2);
        assert_eq!(space().take_all(&[state(101, 1), state(1, 1)]), 1);
    }

    #[test]
    fn a_limit_of_no_entries_is_one_of_a_single_entry() {
        let mut space = Space::left_in(&chunk_of([]), &Limits::new(0, 100), 40);
        assert_eq!(space.take_all(&[state(1, 1), state(1, 1)]), 1);
    }
}
