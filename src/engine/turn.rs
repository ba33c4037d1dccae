//! A call that may leave, and one that has left.

use std::sync::Arc;

use tokio::time::Instant;

use super::gate::Gate;
use crate::backoff::Outcome;

/// The strategy's word that a call may leave. Nobody else is asked until it has left or the turn is dropped, so a turn is
/// never held across an `await`.
pub(crate) struct Turn {
    gate: Arc<Gate>,
    entries: usize,
}

impl Turn {
    pub(super) fn new(gate: Arc<Gate>, entries: usize) -> Self {
        Self { gate, entries }
    }

    /// With how many entries the call may leave at most.
    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// The call leaves.
    pub(crate) fn depart(self, entries: usize) -> Departure {
        let now = Instant::now();
        self.gate.depart(now, entries);
        Departure {
            gate: Arc::clone(&self.gate),
            sent_at: now,
            entries,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.gate.turn_over();
    }
}

/// A call that has left. The strategy hears of its end in any case, also when the call is dropped.
pub(crate) struct Departure {
    gate: Arc<Gate>,
    sent_at: Instant,
    /// How many entries the strategy has not heard of again.
    entries: usize,
}

impl Departure {
    pub(crate) fn sent_at(&self) -> Instant {
        self.sent_at
    }

    /// The call has ended.
    pub(crate) fn answered(mut self, outcome: &Outcome) {
        self.entries = 0;
        self.gate.observe(outcome);
    }
}

impl Drop for Departure {
    fn drop(&mut self) {
        if self.entries > 0 {
            let outcome = Outcome::new(self.sent_at.into_std(), Instant::now().into_std());
            self.gate.observe(&outcome.with_failed(self.entries));
        }
    }
}
