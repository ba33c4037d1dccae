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

pub(super) use self::state::{Load, Work};

use self::state::HeldState;
use super::progress::ReceiveFigures;
use crate::moment::Moment;
use crate::report::Cause;
use crate::sources::error::SourceError;

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

    fn state(&self) -> MutexGuard<'_, HeldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes both that depend on it.
    fn change<R>(&self, act: impl FnOnce(&mut HeldState) -> R) -> R {
        let result = act(&mut self.state());
        self.work.notify_one();
        self.stream.wake();
        result
    }

    pub(super) fn figures(&self) -> ReceiveFigures {
        self.state().figures()
    }

    pub(super) async fn finished(&self) {
        self.ended.cancelled().await;
    }

    // The calls.

    pub(super) fn call_begins(&self) {
        self.state().calls += 1;
    }

    pub(super) fn call_ends(&self) {
        self.change(|state| state.calls -= 1);
    }

    /// How often the queue has seemed empty. Calls that have waited for their turn since before then are not made: one is enough to
    /// see whether it still is, and each would wait as long as the ones before it.
    pub(super) fn times_empty(&self) -> u64 {
        self.times_empty.load(Ordering::Acquire)
    }

    pub(super) fn is_open(&self) -> bool {
        !self.state().is_closed()
    }

    /// A call may have hidden messages without anybody here knowing them.
    pub(super) fn is_in_doubt(&self) {
        self.change(HeldState::is_in_doubt);
    }

    pub(super) fn has_received(&self, messages: Vec<Message>) {
        if messages.is_empty() {
            self.times_empty.fetch_add(1, Ordering::AcqRel);
        }
        self.change(|state| messages.into_iter().for_each(|message| state.hold(message)));
    }

    /// No more messages are received, and those that are held stay.
    pub(super) fn receives_no_more(&self) {
        self.change(HeldState::receives_no_more);
    }

    // The stream.

    pub(super) fn load(&self) -> Load {
        self.state().load()
    }

    /// Messages that may become ready: they wait behind others of their groups.
    pub(super) fn waiting(&self) -> usize {
        self.state().waiting()
    }

    /// The next message and its number, if one is ready.
    pub(super) fn take(&self) -> Option<(u64, Message)> {
        self.state().take()
    }

    pub(super) fn take_failure(&self) -> Option<SourceError> {
        self.state().failure.take()
    }

    /// The stream has ended: what was not handed out is released, and what was set aside.
    pub(super) fn close(&self) {
        self.change(HeldState::close);
    }

    /// No more messages are received.
    pub(super) fn fail(&self, operation: &'static str, cause: Cause) {
        self.change(|state| state.fail(operation, cause));
    }

    // The tickets.

    pub(super) fn settle(&self, number: u64) {
        self.change(|state| state.settle(number));
    }

    pub(super) fn release(&self, number: u64, delay: Duration) {
        self.change(|state| state.release(number, delay));
    }

    pub(super) fn set_aside(&self, number: u64) {
        self.change(|state| state.set_aside(number));
    }

    pub(super) fn is_current(&self, number: u64) -> bool {
        self.state().is_current(number)
    }

    // The task.

    /// Messages become dead letters after this many receives; `None` if they never do.
    pub(super) fn limit_receives(&self, max_receives: Option<u32>) {
        self.change(|state| state.limit_receives(max_receives));
    }

    /// The queue was asked how often a message is received, and may have answered.
    pub(super) fn prepare(&self) {
        self.change(|state| state.is_prepared = true);
    }

    pub(super) fn is_prepared(&self) -> bool {
        self.state().is_prepared
    }

    pub(super) fn take_work(&self) -> Work {
        let work = self.state().take_work(Instant::now());
        // Messages may have expired.
        self.stream.wake();
        work
    }

    pub(super) fn deleted(&self, number: u64, outcome: Result<(), Cause>) {
        self.change(|state| state.deleted(number, outcome));
    }

    pub(super) fn released(&self, number: u64, outcome: Result<(), Cause>) {
        self.change(|state| state.released(number, outcome));
    }

    pub(super) fn renewed(&self, number: u64, at: Moment, timeout: Duration, outcome: Result<(), Cause>) {
        self.change(|state| state.renewed(number, at, timeout, outcome));
    }
}
