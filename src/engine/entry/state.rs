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
