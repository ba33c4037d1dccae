//! What the engine knows of one entry.

use tokio::time::Instant;

use super::confirmation::Confirmation;
use super::history::History;
use crate::backoff::Retry;
use crate::options::DeliveryOptions;
use crate::targets::{Fault, Lane};

/// What the engine knows of one entry. Only the target looks into the entry itself.
#[derive(Debug)]
pub(crate) struct EntryState<E> {
    /// Its position in the input, from 0.
    pub(crate) position: u64,
    /// How many bytes of a call it needs, measured once.
    pub(crate) bytes: usize,
    /// How much memory it takes while it waits.
    pub(crate) weight: usize,
    /// What it counts for with the strategy: 1, or its units of capacity.
    pub(crate) cost: usize,
    /// Its partition key, if the strategy paces single keys.
    pub(crate) key: Option<u64>,
    /// The lane whose order it keeps.
    pub(crate) lane: Option<Lane>,
    /// When it was handed over: sent to a producer, or read from any other input. `None` before it was read.
    pub(crate) arrived: Option<Instant>,
    /// Its failed attempts; `None` if there are none. Boxed because it is rare and the state is moved often.
    pub(crate) history: Option<Box<History>>,
    /// The receipt or handler that is told its fate, if there is one.
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

    /// How many attempts have failed.
    pub(crate) fn attempts(&self) -> u32 {
        self.history.as_ref().map_or(0, |history| history.attempts)
    }

    /// How often it was rejected.
    pub(crate) fn rejections(&self) -> u32 {
        self.history.as_ref().map_or(0, |history| history.rejections)
    }

    /// Whether its next attempt tells of its key: it is the first one, or others of the key wait behind it.
    pub(crate) fn stands_for_its_key(&self) -> bool {
        let history = self.history.as_ref();
        history.is_none_or(|history| history.rejections == 0 || history.is_followed)
    }

    /// Its next retry, as the strategy is told it.
    pub(crate) fn retry(&self) -> Retry {
        self.history.as_ref().map_or(Retry::FIRST, |history| history.retry)
    }

    /// Its retries count from 1 again.
    pub(crate) fn start_over(&mut self) {
        if let Some(history) = &mut self.history {
            history.retry = Retry::FIRST;
        }
    }

    /// The service rejected this entry.
    pub(crate) fn rejected(&mut self, sent_at: Instant, fault: Fault) -> &mut History {
        let history = self.failed(sent_at, fault);
        history.rejections = history.rejections.saturating_add(1);
        history
    }

    /// An attempt failed, for a reason that need not be this entry.
    pub(crate) fn failed(&mut self, sent_at: Instant, fault: Fault) -> &mut History {
        let history = self.history.get_or_insert_with(|| Box::new(History::since(sent_at)));
        history.failed(fault);
        history
    }

    /// Why the last attempt failed, if there was one.
    pub(crate) fn take_fault(&mut self) -> Option<Fault> {
        self.history.as_mut()?.fault.take()
    }

    /// Until when it may be tried; `None` without a limit, or while its time has not begun.
    pub(crate) fn expiry(&self, options: &DeliveryOptions) -> Option<Instant> {
        let begins = if options.counts_from_hand_over {
            self.arrived?
        } else {
            self.history.as_ref()?.first_sent
        };
        begins.checked_add(options.patience())
    }
}

/// An entry with its state.
#[derive(Debug)]
pub(crate) struct TrackedEntry<E> {
    pub(crate) entry: E,
    pub(crate) state: EntryState<E>,
}
