//! The queue in front of the shared strategy.

use tokio::sync::{Mutex, Notify, watch};
use tokio::time::{Instant, timeout_at};

use crate::backoff::{Admission, BackoffStrategy, Outcome, Waiter};

/// A strategy and the queue of those who wait for it: one for all deliveries whose options are clones of each other.
///
/// Only the head of the queue asks the strategy, so that a thousand workers cost it no more than one.
pub(crate) struct Gate {
    strategy: Box<dyn BackoffStrategy>,
    /// Held by the head of the queue. Tokio's mutex is fair.
    turn: Mutex<()>,
    observed: Notify,
    resets: watch::Sender<u64>,
}

impl Gate {
    pub(crate) fn new(strategy: impl BackoffStrategy) -> Self {
        Self {
            strategy: Box::new(strategy),
            turn: Mutex::new(()),
            observed: Notify::new(),
            resets: watch::Sender::new(0),
        }
    }

    pub(crate) fn strategy(&self) -> &dyn BackoffStrategy {
        &*self.strategy
    }

    /// How many entries may leave, if nobody waits and the strategy lets them go at once.
    pub(crate) fn try_admit(&self, waiter: &Waiter) -> Option<usize> {
        let _turn = self.turn.try_lock().ok()?;
        match self.strategy.admit(Instant::now().into_std(), waiter) {
            Admission::Go(entries) => Some(entries.max(1)),
            Admission::WaitUntil(_) => None,
        }
    }

    /// Queues up, and waits until the strategy lets the waiter go.
    pub(crate) async fn admit(&self, waiter: Waiter) -> usize {
        let _turn = self.turn.lock().await;
        loop {
            // Created before the question, so that no outcome slips in between.
            let observed = self.observed.notified();
            match self.strategy.admit(Instant::now().into_std(), &waiter) {
                Admission::Go(entries) => return entries.max(1),
                Admission::WaitUntil(then) => {
                    // Either way the strategy is asked again.
                    let _ = timeout_at(then.into(), observed).await;
                }
            }
        }
    }

    pub(crate) fn observe(&self, outcome: &Outcome) {
        self.strategy.observe(outcome);
        self.observed.notify_waiters();
    }

    /// The service is known to be back: resting entries leave at once, and the strategy forgets.
    pub(crate) fn reset(&self) {
        self.strategy.reset();
        self.resets.send_modify(|count| *count = count.wrapping_add(1));
        self.observed.notify_waiters();
    }

    pub(crate) fn resets(&self) -> watch::Receiver<u64> {
        self.resets.subscribe()
    }
}
