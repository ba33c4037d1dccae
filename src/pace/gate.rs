//! The shared strategy, and the queue of the calls that wait for it.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

use super::admission::{Admission, Waiter};
use super::contract::{BackoffStrategy, Outcome};
use super::queue::Queue;
use super::strategy::{SHORTEST_WAIT, SharedStrategy};
use crate::sync::{Mutex, MutexGuard};

/// A strategy and the queue of the calls that wait for it, shared by all deliveries whose options are clones of each other.
///
/// Only the first call of the queue asks the strategy, so its cost does not grow with the number of workers.
pub(crate) struct Gate {
    pub(crate) strategy: SharedStrategy,
    queue: Mutex<Queue>,
    warnings: Warnings,
}

impl Gate {
    pub(crate) fn new(strategy: impl BackoffStrategy) -> Self {
        Self {
            strategy: SharedStrategy::new(strategy),
            queue: Mutex::new(Queue::new()),
            warnings: Warnings::default(),
        }
    }

    /// When the deliveries that share the strategy last logged a warning.
    pub(crate) fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    /// How many entries the call with this number in the queue may carry, if it may leave; otherwise until when it waits at
    /// most. The permit must be used or [returned](Self::return_permit) before another call asks.
    pub(super) fn admit(&self, number: u64, waiter: &Waiter, waker: &Waker) -> Result<usize, Instant> {
        let now = Instant::now();
        let mut queue = self.queue();
        let admitted = match queue.blocked_until(number, now) {
            Some(until) => Err(until),
            None => self.ask(&mut queue, now, waiter),
        };
        if let Err(due) = admitted {
            queue.wait(number, due, waker);
        }
        admitted
    }

    /// The same for a call without a place in the queue: `None` if it has to wait.
    pub(super) fn admit_at_once(&self, waiter: &Waiter) -> Option<usize> {
        let now = Instant::now();
        let mut queue = self.queue();
        let is_blocked = queue.blocked_until(u64::MAX, now).is_some();
        (!is_blocked).then(|| self.ask(&mut queue, now, waiter).ok())?
    }

    fn ask(&self, queue: &mut Queue, now: Instant, waiter: &Waiter) -> Result<usize, Instant> {
        if let Some(until) = queue.hold.until(now) {
            return Err(until);
        }
        match self.strategy.admit(now, waiter) {
            Admission::Go(entries) => {
                queue.permit_in_use = true;
                Ok(entries.max(1))
            }
            // A wait until a moment in the past would never end.
            Admission::WaitUntil(then) => Err(Instant::from(then).max(now + SHORTEST_WAIT)),
        }
    }

    /// The number of a new place at the end of the queue.
    pub(super) fn number(&self) -> u64 {
        self.queue().number()
    }

    /// Removes the place from the queue.
    pub(super) fn leave(&self, number: u64) {
        let wakers = self.queue().leave(number, Instant::now());
        wakers.into_iter().for_each(Waker::wake);
    }

    /// A permit was used or dropped.
    pub(super) fn return_permit(&self) {
        self.queue().permit_in_use = false;
        self.wake_next();
    }

    /// A call has ended.
    pub(super) fn observe(&self, outcome: &Outcome) {
        self.strategy.observe(outcome);
        if outcome.accepted > 0 {
            self.queue().hold.accepted(outcome.sent_at.into());
        }
        self.wake_next();
    }

    /// The service has said that it should not be called until then.
    pub(crate) fn hold(&self, sent_at: Instant, until: Instant) {
        self.queue().hold.extend(sent_at, until);
    }

    /// The departure of the latest call whose answer named a wait that is not over; `None` if calls may leave.
    pub(crate) fn held_since(&self, now: Instant) -> Option<Instant> {
        self.queue().hold.since(now)
    }

    /// The service is known to be back: waiting entries leave at once, and the strategy forgets what it has measured.
    pub(crate) fn reset(&self) {
        self.queue().hold.end();
        self.strategy.reset();
        self.wake_next();
    }

    fn wake_next(&self) {
        let wakers = self.queue().next_wakers(Instant::now());
        // After the lock is released, because a woken task may take it at once.
        wakers.into_iter().for_each(Waker::wake);
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When each destination was last the subject of a warning.
#[derive(Debug, Default)]
pub(crate) struct Warnings(std::sync::Mutex<HashMap<String, Instant>>);

impl Warnings {
    /// Whether no warning about the destination was logged for `quiet`. If so, a warning counts as logged now.
    pub(crate) fn may_warn(&self, destination: &str, now: Instant, quiet: Duration) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.get(destination).is_some_and(|last| now - *last < quiet) {
            return false;
        }
        last.insert(destination.to_owned(), now);
        true
    }
}
