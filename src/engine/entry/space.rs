//! The space that is left in a chunk.

use super::chunk::Chunk;
use super::state::EntryState;
use crate::targets::Limits;

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
    use crate::engine::entry::TrackedEntry;

    fn state(bytes: usize, cost: usize) -> EntryState<()> {
        let mut state = EntryState::new(0, bytes);
        state.cost = cost;
        state
    }

    fn chunk(states: impl IntoIterator<Item = EntryState<()>>) -> Chunk<()> {
        let mut chunk = Chunk::with_capacity(4);
        for state in states {
            chunk.push(TrackedEntry { entry: (), state });
        }
        chunk
    }

    #[test]
    fn entries_fit_up_to_each_of_the_limits_and_not_beyond() {
        let space = || Space::left_in(&chunk([state(10, 10)]), &Limits::new(4, 100), 40);
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
        let space = || Space::left_in(&chunk([]), &Limits::new(4, 100), 40);
        assert_eq!(space().take_all(&[state(1, 500), state(1, 1)]), 1);
        assert_eq!(space().take_all(&[state(1, 40), state(1, 1)]), 1);
        assert_eq!(space().take_all(&[state(1, 30), state(1, 10), state(1, 1)]), 2);
        assert_eq!(space().take_all(&[state(101, 1), state(1, 1)]), 1);
    }

    #[test]
    fn a_limit_of_no_entries_is_one_of_a_single_entry() {
        let mut space = Space::left_in(&chunk([]), &Limits::new(0, 100), 40);
        assert_eq!(space.take_all(&[state(1, 1), state(1, 1)]), 1);
    }
}
