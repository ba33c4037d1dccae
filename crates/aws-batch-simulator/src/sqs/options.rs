//! How a queue is made.

use std::time::Duration;

use crate::bucket::Capacity;

/// Bytes of a message at most, unless the queue has a lower limit.
const LARGEST_MESSAGE: usize = 1_048_576;
/// How long a received message is hidden from others.
const VISIBILITY_TIMEOUT: Duration = Duration::from_secs(30);

/// How a queue is made.
///
/// # Default
/// - capacity: unlimited
/// - largest message: 1,048,576 bytes
/// - visibility timeout: 30 seconds
/// - delay: none
/// - content-based deduplication: off
/// - messages are kept
#[derive(Debug, Clone)]
pub struct QueueOptions {
    pub(super) capacity: Capacity,
    pub(super) largest_message: usize,
    pub(super) visibility_timeout: Duration,
    pub(super) delay: Duration,
    pub(super) deduplicates_by_content: bool,
    pub(super) is_forgetful: bool,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            capacity: Capacity::unlimited(),
            largest_message: LARGEST_MESSAGE,
            visibility_timeout: VISIBILITY_TIMEOUT,
            delay: Duration::ZERO,
            deduplicates_by_content: false,
            is_forgetful: false,
        }
    }
}

impl QueueOptions {
    /// Messages a second.
    #[must_use]
    pub fn capacity(mut self, capacity: impl Into<Capacity>) -> Self {
        self.capacity = capacity.into();
        self
    }

    /// `MaximumMessageSize`: bytes of one message at most.
    #[must_use]
    pub fn maximum_message_size(mut self, bytes: usize) -> Self {
        self.largest_message = bytes;
        self
    }

    /// How long a received message is hidden from others.
    #[must_use]
    pub fn visibility_timeout(mut self, timeout: Duration) -> Self {
        self.visibility_timeout = timeout;
        self
    }

    /// `DelaySeconds` of messages that bring none of their own.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// A FIFO queue makes the deduplication id from the body where there is none.
    #[must_use]
    pub fn content_based_deduplication(mut self) -> Self {
        self.deduplicates_by_content = true;
        self
    }

    /// Messages are counted and forgotten, so that any number of them takes no memory.
    #[must_use]
    pub fn forgetful(mut self) -> Self {
        self.is_forgetful = true;
        self
    }
}
