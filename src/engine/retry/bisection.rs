//! Refused calls, which are halved until the entries at fault are alone.

use tokio::time::Instant;

use crate::contract::Fault;
use crate::engine::entry::{Chunk, EntryState, TrackedEntry};

/// The entries of a call that was refused as a whole.
///
/// The answer does not say which of them are at fault. The chunk is halved and each half is sent by itself, until the
/// entries at fault are alone. Halves are not topped up, because an entry at fault would cause more entries to be refused.
/// They are sent one after another, so that entries keep their order, including those that were refused because one call
/// cannot carry both. An entry at fault among n costs two calls for each halving, of which there are log2(n), rounded up.
///
/// When an entry is rejected meanwhile, only entries that must not pass it wait for it: they become a bisection of their
/// own.
pub(crate) struct Bisection<E> {
    /// The chunks that are still to be sent, the last one next.
    open: Vec<Chunk<E>>,
    /// The position of an entry of the refused call, which distinguishes it from others.
    origin: u64,
}

impl<E> Bisection<E> {
    /// Of the call with the entry at this position.
    pub(crate) fn of(origin: u64) -> Self {
        Self {
            open: Vec::new(),
            origin,
        }
    }

    /// The position of an entry of the refused call.
    pub(crate) fn origin(&self) -> u64 {
        self.origin
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Entries that are still to be sent.
    pub(super) fn len(&self) -> usize {
        self.open.iter().map(Chunk::len).sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.states().map(|state| state.weight).sum()
    }

    /// The chunk was refused: its halves are sent next.
    pub(crate) fn halve(&mut self, mut chunk: Chunk<E>) {
        let second = chunk.split_off(chunk.len().div_ceil(2));
        self.push(second);
        self.push(chunk);
    }

    /// The chunk is sent next.
    pub(crate) fn push(&mut self, chunk: Chunk<E>) {
        if chunk.len() > 0 {
            self.open.push(chunk);
        }
    }

    /// The next chunk, of at most `count` entries and, unless it is one, at most `bytes`.
    pub(super) fn next(&mut self, count: usize, bytes: usize) -> Option<Chunk<E>> {
        let mut chunk = self.open.pop()?;
        let sizes = chunk.states.iter().scan(0_usize, |sum, state| {
            *sum = sum.saturating_add(state.bytes);
            Some(*sum)
        });
        let count = sizes.take_while(|sum| *sum <= bytes).count().max(1).min(count);
        if chunk.len() > count {
            self.open.push(chunk.split_off(count));
        }
        Some(chunk)
    }

    /// Removes the entries that must not leave before `first` is settled.
    pub(crate) fn take_behind(&mut self, first: &Chunk<E>) -> Self {
        let mut behind = Self::of(self.origin);
        for chunk in std::mem::take(&mut self.open) {
            let (mut held, mut free) = (Chunk::with_capacity(0), Chunk::with_capacity(chunk.len()));
            for entry in chunk.into_tracked() {
                let waits = first.states.iter().any(|state| is_behind(&entry.state, state));
                if waits { &mut held } else { &mut free }.push(entry);
            }
            self.push(free);
            behind.push(held);
        }
        behind
    }

    /// Whether any entry must not leave before this one is settled.
    pub(crate) fn has_behind(&self, first: &EntryState<E>) -> bool {
        self.states().any(|state| is_behind(state, first))
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = &EntryState<E>> {
        self.open.iter().flat_map(|chunk| &chunk.states)
    }

    /// The state of the next entry.
    fn next_state(&self) -> Option<&EntryState<E>> {
        self.open.last()?.states.first()
    }

    /// When its next entry was first refused alone.
    pub(super) fn disputed_since(&self) -> Option<Instant> {
        self.next_state()?.history.as_ref()?.disputed_since
    }

    /// Why its next entry was refused last.
    pub(super) fn fault(&self) -> Option<&Fault> {
        self.next_state()?.history.as_ref()?.fault.as_ref()
    }

    /// Whether its next entry was refused by the service itself.
    pub(super) fn is_of_service(&self) -> bool {
        self.fault().is_none_or(|fault| !fault.is_ambiguous())
    }

    /// That its next entry was refused says nothing about it.
    pub(super) fn forget_dispute(&mut self) {
        let next = self.open.last_mut().and_then(|chunk| chunk.states.first_mut());
        if let Some(history) = next.and_then(|state| state.history.as_mut()) {
            history.disputed_since = None;
        }
    }

    /// Removes the entries for which `goes` is true.
    pub(super) fn take_if(&mut self, goes: &mut impl FnMut(&EntryState<E>) -> bool) -> Vec<TrackedEntry<E>> {
        let taken = self
            .open
            .iter_mut()
            .flat_map(|chunk| chunk.take_if(&mut *goes))
            .collect();
        self.open.retain(|chunk| chunk.len() > 0);
        taken
    }

    /// The retries of its entries start from 1.
    pub(super) fn start_over(&mut self) {
        let states = self.open.iter_mut().flat_map(|chunk| &mut chunk.states);
        states.for_each(EntryState::start_over);
    }

    /// How many entries its next chunk has.
    pub(super) fn next_len(&self) -> Option<usize> {
        Some(self.open.last()?.len())
    }

    pub(crate) fn into_entries(self) -> impl Iterator<Item = TrackedEntry<E>> {
        self.open.into_iter().flat_map(Chunk::into_tracked)
    }
}

/// Whether an entry of the bisection must not leave before an earlier one is settled.
fn is_behind<E>(later: &EntryState<E>, earlier: &EntryState<E>) -> bool {
    later.lane.is_some() && later.lane == earlier.lane
}
