//! The space that is left in a chunk.

use super::chunk::Chunk;
use super::state::EntryState;
use crate::targets::Limits;

/// The space that is left in a chunk.
pub(crate) struct Space {
    entries: usize,
    bytes: usize,
    cost: usize,
    /// The first entry is packed whatever it costs.
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
        let is_paid = self.is_first || state.cost <= self.cost;
        if self.entries == 0 || state.bytes > self.bytes || !is_paid {
            return false;
        }
        self.entries -= 1;
        self.bytes -= state.bytes;
        self.cost = self.cost.saturating_sub(state.cost);
        self.is_first = false;
        true
    }

    /// Takes the space for as many of the first entries as fit. Returns their number.
    pub(crate) fn take_all<E>(&mut self, states: &[EntryState<E>]) -> usize {
        states.iter().take_while(|state| self.take(state)).count()
    }
}
