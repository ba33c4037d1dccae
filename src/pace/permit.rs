//! A call that waits, the permit for it to leave, and a call that has left.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::admission::Waiter;
use super::contract::Outcome;
use super::details::KeyOutcome;
use super::gate::Gate;
use super::meter::scaled;

/// The place of a call in the queue.
pub(crate) struct QueuedUp {
    gate: Arc<Gate>,
    number: u64,
    timer: Pin<Box<Sleep>>,
}

impl QueuedUp {
    /// A place at the end of the queue.
    pub(crate) fn at(gate: &Arc<Gate>) -> Self {
        Self {
            number: gate.number(),
            gate: Arc::clone(gate),
            timer: Box::pin(sleep_until(Instant::now())),
        }
    }

    /// Ready when the strategy lets a call leave. `waiter` may differ from one poll to the next.
    pub(crate) fn poll_permit(&mut self, context: &mut Context<'_>, waiter: &Waiter) -> Poll<Permit> {
        loop {
            match self.gate.admit(self.number, waiter, context.waker()) {
                Ok(entries) => return Poll::Ready(Permit::new(&self.gate, entries)),
                Err(due) => {
                    self.timer.as_mut().reset(due);
                    ready!(self.timer.as_mut().poll(context));
                }
            }
        }
    }
}

impl Drop for QueuedUp {
    fn drop(&mut self) {
        self.gate.leave(self.number);
    }
}

/// The strategy's permit for a call to leave. Until the call has left or the permit is dropped, the strategy is not asked
/// again. So a permit must not be held across an `await`.
pub(crate) struct Permit {
    gate: Arc<Gate>,
    entries: usize,
}

impl Permit {
    /// A permit without waiting, if no call is in the queue and the strategy gives one.
    pub(crate) fn at_once(gate: &Arc<Gate>, waiter: &Waiter) -> Option<Self> {
        gate.admit_at_once(waiter).map(|entries| Self::new(gate, entries))
    }

    fn new(gate: &Arc<Gate>, entries: usize) -> Self {
        let gate = Arc::clone(gate);
        Self { gate, entries }
    }

    /// How many entries the call may carry at most.
    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// The call leaves with entries of this cost.
    pub(crate) fn depart(self, cost: usize) -> Departure {
        let now = Instant::now();
        let charge = self.gate.strategy.charge();
        let entries = scaled(cost, charge);
        self.gate.strategy.depart(now, entries);
        Departure {
            gate: Arc::clone(&self.gate),
            sent_at: now,
            charge,
            entries,
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.return_permit();
    }
}

/// A call that has left. The strategy observes its end in any case, also when the call is dropped.
pub(crate) struct Departure {
    gate: Arc<Gate>,
    sent_at: Instant,
    /// The ratio at which the strategy was charged at the departure: units for one estimated unit.
    charge: f64,
    /// Units that the strategy was charged at the departure and that no outcome has accounted for.
    entries: usize,
}

impl Departure {
    pub(crate) fn sent_at(&self) -> Instant {
        self.sent_at
    }

    pub(crate) fn counts_units(&self) -> bool {
        self.gate.strategy.counts_units()
    }

    /// Whether the result of the call is counted for each key.
    pub(crate) fn counts_keys(&self, has_rejections: bool) -> bool {
        has_rejections || !self.gate.strategy.is_idle()
    }

    /// The service has said that it should not be called for this long.
    pub(crate) fn hold(&self, wait: Duration) {
        self.gate.hold(self.sent_at, Instant::now() + wait);
    }

    /// The call has ended and consumed these units of capacity, if the service reports them.
    pub(crate) fn answered(mut self, outcome: &Outcome, keys: &mut [KeyOutcome], units: Option<f64>) {
        let sent = std::mem::take(&mut self.entries);
        let outcome = if keys.is_empty() {
            *outcome
        } else {
            self.gate.strategy.observe_keys(outcome, keys)
        };
        match self.gate.strategy.meter() {
            Some(meter) => self.gate.observe(&meter.read(&outcome, self.charge, sent, units)),
            None => self.gate.observe(&outcome),
        }
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
