//! Messages of a queue that cannot be received for some time, such as those that a run had received when it was killed.

use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;

use super::queue::ExistingQueue;
use crate::outcome::Failure;

/// How many messages are not visible, and for how long others hide those that they receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HiddenMessages {
    pub(crate) messages: u64,
    /// The visibility timeout of the queue.
    pub(crate) timeout: Duration,
}

impl ExistingQueue {
    /// The messages that are not visible now, about. `None` if the service does not say.
    pub(crate) async fn hidden(&self) -> Result<Option<HiddenMessages>, Failure> {
        use QueueAttributeName::{ApproximateNumberOfMessagesNotVisible, VisibilityTimeout};

        let ask = self.client.get_queue_attributes().queue_url(&self.url);
        let ask = ask
            .attribute_names(ApproximateNumberOfMessagesNotVisible)
            .attribute_names(VisibilityTimeout);
        let answer = self.lookup_time.wait(&self.url, ask.send()).await?.ok();
        let attributes = answer.and_then(|answer| answer.attributes);
        let number = |name| attributes.as_ref()?.get(&name)?.parse::<u64>().ok();
        Ok(
            number(ApproximateNumberOfMessagesNotVisible).map(|messages| HiddenMessages {
                messages,
                timeout: Duration::from_secs(number(VisibilityTimeout).unwrap_or_default()),
            }),
        )
    }
}
