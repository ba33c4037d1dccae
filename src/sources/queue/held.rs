//! The messages that are held, from the answer that brought them until the queue has deleted them or made them visible again: behind
//! one lock, and with those that wait for a change of them. `state` has what is held, what is due for it and what became of it, `groups` those of a FIFO
//! queue, `reading_ahead` how much is to be there, and `deletions` what was deleted.

mod deletions;
mod groups;
mod reading_ahead;
mod state;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_sqs::types::Message;
use futures::task::AtomicWaker;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(super) use self::state::{HeldState, Load, Work};

/// What the stream, its tickets, its calls and the task that settles share.
pub(super) struct HeldMessages {
    state: Mutex<HeldState>,
    /// Wakes the task that settles.
    pub(super) work: Notify,
    /// Wakes the stream.
    pub(super) stream: AtomicWaker,
    /// Everything is settled.
    pub(super) ended: CancellationToken,
    /// How many calls were answered without messages.
    times_empty: AtomicU64,
}

impl HeldMessages {
    pub(super) fn new(is_fifo: bool, visibility: Duration, window: usize) -> Self {
        Self {
            state: Mutex::new(HeldState::new(is_fifo, visibility, window)),
            work: Notify::new(),
            stream: AtomicWaker::new(),
            ended: CancellationToken::new(),
            times_empty: AtomicU64::new(0),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, HeldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes both that depend on it.
    pub(super) fn change<R>(&self, act: impl FnOnce(&mut HeldState) -> R) -> R {
        let result = act(&mut self.state());
        self.work.notify_one();
        self.stream.wake();
        result
    }

    /// How often the queue has seemed empty. Calls that have waited for their turn since before then are not made: one is enough to
    /// see whether it still is, and each would wait as long as the ones before it.
    pub(super) fn times_empty(&self) -> u64 {
        self.times_empty.load(Ordering::Acquire)
    }

    pub(super) fn has_received(&self, messages: Vec<Message>) {
        if messages.is_empty() {
            self.times_empty.fetch_add(1, Ordering::AcqRel);
        }
        self.change(|state| messages.into_iter().for_each(|message| state.hold(message)));
    }

    pub(super) fn take_work(&self) -> Work {
        let work = self.state().take_work(Instant::now());
        // Messages may have expired.
        self.stream.wake();
        work
    }
}
