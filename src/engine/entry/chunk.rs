//! The entries of one call.

use super::state::{EntryState, TrackedEntry};

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

    pub(crate) fn into_tracked(self) -> impl Iterator<Item = TrackedEntry<E>> {
        self.entries
            .into_iter()
            .zip(self.states)
            .map(|(entry, state)| TrackedEntry { entry, state })
    }
}
