//! The options of a queue.

use std::time::Duration;

use crate::capacity::Capacity;
use crate::handles::{capacity_option, counts_only_option, deduplication_option};

/// Bytes of a message at most, unless the queue has a lower limit.
const LARGEST_MESSAGE: usize = 1_048_576;
/// How long a received message is hidden from others.
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(30);

/// The options of a queue.
///
/// # Default
/// - capacity: unlimited
/// - largest message: 1,048,576 bytes
/// - visibility timeout: 30 seconds
/// - delay: none
/// - content-based deduplication: off
/// - no dead-letter queue
/// - messages are kept
#[derive(Debug, Clone)]
#[must_use]
pub struct QueueOptions {
    pub(super) capacity: Capacity,
    pub(super) largest_message: usize,
    pub(super) visibility_timeout: Duration,
    pub(super) delay: Duration,
    pub(super) deduplicates_by_content: bool,
    pub(super) counts_only: bool,
    pub(super) dead_letter_queue: Option<String>,
    pub(super) maximum_receives: Option<u32>,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            capacity: Capacity::unlimited(),
            largest_message: LARGEST_MESSAGE,
            visibility_timeout: VISIBILITY_TIMEOUT,
            delay: Duration::ZERO,
            deduplicates_by_content: false,
            counts_only: false,
            dead_letter_queue: None,
            maximum_receives: None,
        }
    }
}

impl QueueOptions {
    capacity_option!("messages");
    counts_only_option!("messages");
    deduplication_option!("queue", "body");

    /// `MaximumMessageSize`: bytes of one message at most.
    pub fn maximum_message_size(mut self, bytes: usize) -> Self {
        self.largest_message = bytes;
        self
    }

    /// The name of its dead-letter queue, which `ListDeadLetterSourceQueues` returns. Without
    /// [`maximum_receives`](Self::maximum_receives), no message is moved to it.
    pub fn dead_letter_queue(mut self, name: impl Into<String>) -> Self {
        self.dead_letter_queue = Some(name.into());
        self
    }

    /// `maxReceiveCount`: a message that was received this many times and is to be received again is moved to the
    /// [dead-letter queue](Self::dead_letter_queue) instead, if there is one by that name.
    pub fn maximum_receives(mut self, receives: u32) -> Self {
        self.maximum_receives = Some(receives);
        self
    }

    /// How long a received message is hidden from others.
    pub fn visibility_timeout(mut self, timeout: Duration) -> Self {
        self.visibility_timeout = timeout;
        self
    }

    /// `DelaySeconds` of messages that have none of their own.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}
