//! Messages of a queue that cannot be received for some time, such as those that a run had received when it was killed.

use std::time::Duration;

use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::QueueAttributeName;

use super::destination::NOT_PERMITTED;
use super::queue::ExistingQueue;
use crate::connection;
use crate::outcome::Failure;

/// How many messages are not visible, and for how long others hide those that they receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HiddenMessages {
    pub(crate) messages: u64,
    /// The visibility timeout of the queue.
    pub(crate) timeout: Duration,
}

impl ExistingQueue {
    /// The messages that are not visible now, about, or why they are not known.
    pub(crate) async fn hidden(&self) -> Result<Result<HiddenMessages, String>, Failure> {
        use QueueAttributeName::{ApproximateNumberOfMessagesNotVisible, VisibilityTimeout};

        let ask = self.client.get_queue_attributes().queue_url(&self.url);
        let ask = ask
            .attribute_names(ApproximateNumberOfMessagesNotVisible)
            .attribute_names(VisibilityTimeout);
        let answer = match self.lookup_time.wait(&self.url, ask.send()).await? {
            Ok(answer) => answer,
            Err(error) if error.code().is_some_and(|code| NOT_PERMITTED.contains(&code)) => {
                return Ok(Err("sqs:GetQueueAttributes is not permitted".to_owned()));
            }
            Err(error) => return Ok(Err(connection::words(&error))),
        };
        let number = |name| answer.attributes()?.get(&name)?.parse::<u64>().ok();
        let hidden = number(ApproximateNumberOfMessagesNotVisible).map(|messages| HiddenMessages {
            messages,
            timeout: Duration::from_secs(number(VisibilityTimeout).unwrap_or_default()),
        });
        Ok(hidden.ok_or_else(|| "the service does not say".to_owned()))
    }
}
