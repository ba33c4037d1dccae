//! The slots for calls in flight.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use tokio::time::Instant;

use crate::time_limit::later;

/// A slot for one call in flight, while it is empty.
///
/// After a rejected call the slot stays empty as long as the leftovers of the call wait, so that fresh entries are not
/// sent to a service that has just rejected others; after throttles no longer than a second if the strategy decides when
/// calls leave. It also stays empty for the strategy's cooldown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot {
    /// When the slot may be used again; `None` for at once.
    free_at: Option<Instant>,
    /// When its last call was answered.
    pub(crate) idle_since: Option<Instant>,
}

impl Slot {
    /// The slot of a call that was answered at `answered_at`, which stays empty for `delay`.
    pub(crate) fn after_call(answered_at: Instant, delay: Duration) -> Self {
        Self {
            free_at: (!delay.is_zero()).then(|| later(answered_at, delay)),
            idle_since: Some(answered_at),
        }
    }
}

/// The empty slots.
pub(crate) struct Slots {
    idle: BinaryHeap<Reverse<Slot>>,
}

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        let unused = Slot {
            free_at: None,
            idle_since: None,
        };
        Self {
            idle: std::iter::repeat_n(Reverse(unused), count).collect(),
        }
    }

    /// Whether any slot may be used at `now`.
    pub(crate) fn has_free(&self, now: Instant) -> bool {
        let is_free = |Reverse(slot): &Reverse<Slot>| slot.free_at.is_none_or(|free_at| free_at <= now);
        self.idle.peek().is_some_and(is_free)
    }

    /// Takes the next free slot for a call.
    pub(crate) fn take(&mut self) -> Option<Slot> {
        self.idle.pop().map(|Reverse(slot)| slot)
    }

    pub(crate) fn put(&mut self, slot: Slot) {
        self.idle.push(Reverse(slot));
    }

    /// When the next slot may be used; `None` when one is free already or all are in use.
    pub(crate) fn next_free(&self) -> Option<Instant> {
        self.idle.peek()?.0.free_at
    }

    /// Makes all empty slots usable at once.
    pub(crate) fn wake_all(&mut self) {
        self.idle = std::mem::take(&mut self.idle)
            .into_iter()
            .map(|Reverse(slot)| Reverse(Slot { free_at: None, ..slot }))
            .collect();
    }
}
