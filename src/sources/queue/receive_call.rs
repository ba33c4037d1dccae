//! One receive, and what becomes of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_sdk_sqs::types::Message;
use tokio::time::Instant;

use super::held::{HeldMessages, HeldState};
use crate::services::sqs::Receiver;

/// A receive, whose messages are held as soon as they are there.
pub(super) struct ReceiveCall {
    held: Arc<HeldMessages>,
    most: usize,
    course: Arc<CallCourse>,
    /// How often the queue had seemed empty when the call was wanted.
    times_empty: u64,
}

/// What became of a call.
pub(super) struct CallCourse {
    pub(super) received: AtomicUsize,
    /// When it was made. It may have waited for its turn, and shows the state of the queue from then on.
    pub(super) left_at: Mutex<Option<Instant>>,
}

impl CallCourse {
    pub(super) fn left_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.left_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReceiveCall {
    pub(super) fn new(held: Arc<HeldMessages>, most: usize, course: Arc<CallCourse>) -> Self {
        held.state().calls += 1;
        Self {
            times_empty: held.times_empty(),
            held,
            most,
            course,
        }
    }
}

impl Receiver for ReceiveCall {
    fn most(&self) -> i32 {
        i32::try_from(self.most).unwrap_or(1)
    }

    fn is_wanted(&self) -> bool {
        !self.held.state().is_closed() && self.held.times_empty() == self.times_empty
    }

    fn leaves(&self) {
        *self.course.left_at() = Some(Instant::now());
    }

    fn has_received(&self, messages: Vec<Message>) {
        self.course.received.store(messages.len(), Ordering::Release);
        self.held.has_received(messages);
    }

    fn is_in_doubt(&self) {
        self.held.change(HeldState::is_in_doubt);
    }
}

impl Drop for ReceiveCall {
    fn drop(&mut self) {
        self.held.change(|state| state.calls -= 1);
    }
}
