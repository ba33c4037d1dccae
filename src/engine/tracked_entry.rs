//! What the loop knows of one entry.

use std::time::Duration;

use tokio::time::Instant;

use super::confirmation::Confirmation;
use super::history::History;
use crate::backoff::Retry;
use crate::targets::{Fault, Lane};

/// What the loop knows of one entry. The entry itself is the target's business.
#[derive(Debug)]
pub(crate) struct EntryState<E> {
    /// Its place in the input, from 0.
    pub(crate) position: u64,
    /// What it takes up of a call, measured once.
    pub(crate) bytes: usize,
    /// What it takes up of the memory while it waits.
    pub(crate) weight: usize,
    /// What it counts for with the strategy: 1, or its units of capacity.
    pub(crate) cost: usize,
    /// Its partition key, where the strategy paces single keys.
    pub(crate) key: Option<u64>,
    /// The order that it keeps.
    pub(crate) lane: Option<Lane>,
    /// When it was read; `None` before.
    pub(crate) arrived: Option<Instant>,
    /// What came of it so far; `None` as long as it was not sent in vain. Not here, since it is rare and this is moved.
    pub(crate) history: Option<Box<History>>,
    /// The receipt that waits for its fate, if there is one.
    pub(crate) confirmation: Option<Confirmation<E>>,
}

impl<E> EntryState<E> {
    pub(crate) fn new(position: u64, bytes: usize) -> Self {
        Self {
            position,
            bytes,
            weight: bytes,
            cost: 1,
            key: None,
            lane: None,
            arrived: None,
            history: None,
            confirmation: None,
        }
    }

    /// How often it was sent in vain.
    pub(crate) fn attempts(&self) -> u32 {
        self.history.as_ref().map_or(0, |history| history.attempts)
    }

    /// How often it was rejected.
    pub(crate) fn rejections(&self) -> u32 {
        self.history.as_ref().map_or(0, |history| history.rejections)
    }

    /// Its next retry, for the strategy.
    pub(crate) fn retry(&self) -> Retry {
        self.history.as_ref().map_or(Retry::FIRST, |history| history.retry)
    }

    /// Its retries start over.
    pub(crate) fn start_over(&mut self) {
        if let Some(history) = &mut self.history {
            history.retry = Retry::FIRST;
        }
    }

    /// It was rejected, on its own account.
    pub(crate) fn rejected(&mut self, sent_at: Instant, fault: Fault) {
        let history = self.failed(sent_at, fault);
        history.rejections = history.rejections.saturating_add(1);
    }

    /// It was sent and not accepted; whether on its own account is not said.
    pub(crate) fn failed(&mut self, sent_at: Instant, fault: Fault) -> &mut History {
        let history = self.history.get_or_insert_with(|| Box::new(History::since(sent_at)));
        history.failed(fault);
        history
    }

    /// Why it was not accepted last, if it was sent.
    pub(crate) fn take_fault(&mut self) -> Option<Fault> {
        self.history.as_mut()?.fault.take()
    }

    /// Until when it may be tried; `None` for ever.
    pub(crate) fn expiry(&self, give_up_after: Duration) -> Option<Instant> {
        self.history.as_ref()?.first_sent.checked_add(give_up_after)
    }
}

/// An entry with its state.
#[derive(Debug)]
pub(crate) struct TrackedEntry<E> {
    pub(crate) entry: E,
    pub(crate) state: EntryState<E>,
}

/// The entries of one call, and their states in the same order.
///
/// Two lists, so that a target is given a plain slice of entries.
pub(crate) struct Chunk<E> {
    pub(crate) entries: Vec<E>,
    pub(crate) states: Vec<EntryState<E>>,
    pub(crate) bytes: usize,
    /// What its entries count for with the strategy, together.
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

    /// Drops all entries, and keeps the room for as many.
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

    /// Takes out the last one.
    pub(crate) fn pop(&mut self) -> Option<TrackedEntry<E>> {
        let (entry, state) = self.entries.pop().zip(self.states.pop())?;
        self.bytes = self.bytes.saturating_sub(state.bytes);
        self.cost = self.cost.saturating_sub(state.cost);
        Some(TrackedEntry { entry, state })
    }

    /// Moves the first `count` of another chunk to the end of this one. If they are all that there are, nothing is moved but
    /// the lists.
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

    /// Cuts off all but the first `count`.
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
