//! How a topic is made.

use crate::bucket::Capacity;
use crate::options::{deduplicating, taking};

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
    taking!("messages");
    deduplicating!("topic", "message");

    /// Bytes of one message at most, and of all messages of a call.
    #[must_use]
    pub fn maximum_message_size(mut self, bytes: usize) -> Self {
        self.largest_message = bytes;
        self
    }
}
