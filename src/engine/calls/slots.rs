//! The calls that may be in flight at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::later::later;

/// A place for one call in flight, while there is none in it.
///
/// A slot whose call was throttled rests as long as the leftovers of the call, so that fresh entries do not hammer a service
/// that just said no; and it rests as long as the strategy says in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot {
    /// When its rest ends; `None` when it does not rest.
    free_at: Option<Instant>,
    /// When its last call was answered.
    pub(crate) idle_since: Option<Instant>,
}

impl Slot {
    /// A slot whose call was answered at `answered_at`, and that rests.
    pub(crate) fn after_call(answered_at: Instant, rest: Duration) -> Self {
        Self {
            free_at: (!rest.is_zero()).then(|| later(answered_at, rest)),
            idle_since: Some(answered_at),
        }
    }
}

/// The slots without a call.
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

    /// Whether any has rested until `now`.
    pub(crate) fn has_free(&self, now: Instant) -> bool {
        let rested = |Reverse(slot): &Reverse<Slot>| slot.free_at.is_none_or(|free_at| free_at <= now);
        self.idle.peek().is_some_and(rested)
    }

    /// Takes the slot that goes next for a call.
    pub(crate) fn take(&mut self) -> Option<Slot> {
        self.idle.pop().map(|Reverse(slot)| slot)
    }

    pub(crate) fn put(&mut self, slot: Slot) {
        self.idle.push(Reverse(slot));
    }

    /// When the next slot has rested; `None` when one is free already or all are in use.
    pub(crate) fn next_free(&self) -> Option<Instant> {
        self.idle.peek()?.0.free_at
    }

    /// Ends all rests.
    pub(crate) fn wake_all(&mut self) {
        self.idle = std::mem::take(&mut self.idle)
            .into_iter()
            .map(|Reverse(slot)| Reverse(Slot { free_at: None, ..slot }))
            .collect();
    }
}
