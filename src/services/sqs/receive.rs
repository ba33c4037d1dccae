//! A receive: what it asks for, and what becomes of its messages.

use std::time::Duration;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};

/// What every receive asks for.
#[derive(Clone)]
pub(crate) struct ReceiveRequest {
    pub(crate) queue_url: String,
    pub(crate) attributes: Vec<String>,
    pub(crate) system_attributes: Vec<MessageSystemAttributeName>,
    /// How long a received message is hidden from others, in whole seconds.
    pub(crate) visibility: Duration,
    /// How long a call waits for a message, in whole seconds.
    pub(crate) wait: Duration,
}

impl ReceiveRequest {
    pub(super) fn visibility_seconds(&self) -> i32 {
        i32::try_from(self.visibility.as_secs()).unwrap_or(i32::MAX)
    }

    pub(super) fn wait_seconds(&self) -> i32 {
        i32::try_from(self.wait.as_secs()).unwrap_or(i32::MAX)
    }
}

/// One receive: what becomes of its messages is up to its caller.
pub(crate) trait Receiver: Send + Sync + 'static {
    /// The messages of the call at most.
    fn most(&self) -> i32;

    /// Whether its messages are still wanted.
    fn is_wanted(&self) -> bool;

    /// The call is made now. It may have waited for its turn.
    fn leaves(&self);

    /// The call was answered with these messages.
    fn has_received(&self, messages: Vec<Message>);

    /// The call has no answer, although the service may have hidden messages for it.
    fn is_in_doubt(&self);
}
