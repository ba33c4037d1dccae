//! How a topic is made.

use crate::bucket::Capacity;

/// Bytes of a call, and of a message, at most, unless the topic takes more: 256 KiB.
const LARGEST_MESSAGE: usize = 262_144;

/// How a topic of SNS is made.
///
/// # Default
/// - capacity: unlimited
/// - largest message, and largest call: 262,144 bytes
/// - content-based deduplication: off
/// - messages are kept
#[derive(Debug, Clone)]
pub struct TopicOptions {
    pub(super) capacity: Capacity,
    pub(super) largest_message: usize,
    pub(super) deduplicates_by_content: bool,
    pub(super) is_forgetful: bool,
}

impl Default for TopicOptions {
    fn default() -> Self {
        Self {
            capacity: Capacity::unlimited(),
            largest_message: LARGEST_MESSAGE,
            deduplicates_by_content: false,
            is_forgetful: false,
        }
    }
}

impl TopicOptions {
    /// Messages a second.
    #[must_use]
    pub fn capacity(mut self, messages: impl Into<Capacity>) -> Self {
        self.capacity = messages.into();
        self
    }

    /// Bytes of one message at most, and of all messages of a call.
    #[must_use]
    pub fn maximum_message_size(mut self, bytes: usize) -> Self {
        self.largest_message = bytes;
        self
    }

    /// A FIFO topic makes the deduplication id from the message where there is none.
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
