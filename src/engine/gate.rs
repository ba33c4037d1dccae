//! The queue in front of the shared strategy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use tokio::sync::{Mutex, Notify, OwnedMutexGuard, watch};
use tokio::time::{Instant, timeout_at};

use crate::backoff::{Admission, BackoffStrategy, Outcome, Waiter};

/// A strategy and the queue of those who wait for it: one for all deliveries whose options are clones of each other.
///
/// Only the head of the queue asks the strategy, so that a thousand workers cost it no more than one.
pub(crate) struct Gate {
    strategy: Box<dyn BackoffStrategy>,
    /// Held by the head of the queue. Tokio's mutex is fair.
    turn: Arc<Mutex<()>>,
    observed: Notify,
    resets: watch::Sender<u64>,
}

impl Gate {
    pub(crate) fn new(strategy: impl BackoffStrategy) -> Self {
        Self {
            strategy: Box::new(strategy),
            turn: Arc::default(),
            observed: Notify::new(),
            resets: watch::Sender::new(0),
        }
    }

    pub(crate) fn strategy(&self) -> &dyn BackoffStrategy {
        &*self.strategy
    }

    /// The waiter's turn, if nobody waits and the strategy lets it go at once.
    pub(crate) fn try_admit(self: &Arc<Self>, waiter: Waiter) -> Option<Turn> {
        let held = Arc::clone(&self.turn).try_lock_owned().ok()?;
        match self.strategy.admit(Instant::now().into_std(), &waiter) {
            Admission::Go(entries) => Some(self.turn(entries, held)),
            Admission::WaitUntil(_) => None,
        }
    }

    /// Queues up, and waits until the strategy lets the waiter go. How many entries it has may change meanwhile.
    pub(crate) async fn admit(self: Arc<Self>, wanted: Arc<Wanted>) -> Turn {
        let held = Arc::clone(&self.turn).lock_owned().await;
        loop {
            // Created before the question, so that no outcome slips in between.
            let observed = self.observed.notified();
            match self.strategy.admit(Instant::now().into_std(), &wanted.load()) {
                Admission::Go(entries) => return self.turn(entries, held),
                Admission::WaitUntil(then) => {
                    // Either way the strategy is asked again.
                    let _ = timeout_at(then.into(), observed).await;
                }
            }
        }
    }

    fn turn(self: &Arc<Self>, entries: usize, held: OwnedMutexGuard<()>) -> Turn {
        Turn {
            gate: Arc::clone(self),
            entries: entries.max(1),
            _held: held,
        }
    }

    fn observe(&self, outcome: &Outcome) {
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

/// What the head of the queue would like to send. It may change while it waits.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    entries: AtomicUsize,
    more: AtomicBool,
}

impl Wanted {
    pub(crate) fn store(&self, waiter: Waiter) {
        self.entries.store(waiter.entries, Relaxed);
        self.more.store(waiter.more, Relaxed);
    }

    fn load(&self) -> Waiter {
        Waiter {
            entries: self.entries.load(Relaxed).max(1),
            more: self.more.load(Relaxed),
        }
    }
}

/// The strategy's word that a call may leave. Nobody else is asked until it has left or the turn is dropped.
pub(crate) struct Turn {
    gate: Arc<Gate>,
    entries: usize,
    _held: OwnedMutexGuard<()>,
}

impl Turn {
    /// With how many entries the call may leave at most.
    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// The call leaves.
    pub(crate) fn depart(self, entries: usize) -> Departure {
        let now = Instant::now();
        self.gate.strategy.depart(now.into_std(), entries);
        Departure {
            gate: self.gate,
            sent_at: now,
            entries,
        }
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
