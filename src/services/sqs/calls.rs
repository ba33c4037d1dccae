//! The calls of the service.

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::operation::change_message_visibility_batch::ChangeMessageVisibilityBatchOutput;
use aws_sdk_sqs::operation::delete_message_batch::DeleteMessageBatchOutput;
use aws_sdk_sqs::operation::get_queue_attributes::GetQueueAttributesOutput;
use aws_sdk_sqs::operation::receive_message::ReceiveMessageOutput;
use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchOutput;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, QueueAttributeName,
    SendMessageBatchRequestEntry,
};
use aws_smithy_types::timeout::TimeoutConfig;

use super::receive::ReceiveRequest;
use super::short_name;
use crate::aws::classify;
use crate::aws::renewal::Changes;
use crate::aws::request::{messaging_span, request_span, send, single_attempt};
use crate::aws::whole_body::WholeBody;
use crate::contract::Answer;

macro_rules! sqs_span {
    ($operation:literal, $type:literal, $queue_url:expr, $messages:expr) => {
        messaging_span!("SQS", "aws_sqs", $operation, $type, short_name($queue_url), $messages)
    };
}

/// The client, and the changes to its configuration for each call.
#[derive(Clone)]
pub(super) struct SqsCalls {
    client: Client,
    changes: Changes<Builder>,
}

impl SqsCalls {
    pub(super) fn new(client: Client) -> Self {
        // The answer to a receive from an empty queue has no members.
        let changes = single_attempt!(aws_sdk_sqs, client, Some(WholeBody::Json));
        Self { client, changes }
    }

    /// Sends the messages in one call.
    pub(super) async fn send(
        &self,
        queue_url: &str,
        messages: Vec<SendMessageBatchRequestEntry>,
    ) -> Result<SendMessageBatchOutput, Answer> {
        let span = sqs_span!("SendMessageBatch", "send", queue_url, messages.len());
        let call = self.client.send_message_batch().queue_url(queue_url);
        let call = call.set_entries(Some(messages));
        send!(aws_sdk_sqs, call, self.changes, span).map_err(classify)
    }

    /// Deletes the messages with these receipt handles in one call.
    pub(super) async fn delete(
        &self,
        queue_url: &str,
        entries: Vec<DeleteMessageBatchRequestEntry>,
    ) -> Result<DeleteMessageBatchOutput, Answer> {
        let span = sqs_span!("DeleteMessageBatch", "settle", queue_url, entries.len());
        let call = self.client.delete_message_batch().queue_url(queue_url);
        let call = call.set_entries(Some(entries));
        send!(aws_sdk_sqs, call, self.changes, span).map_err(classify)
    }

    /// Changes the visibility timeouts of the messages with these receipt handles in one call.
    pub(super) async fn change_visibility(
        &self,
        queue_url: &str,
        entries: Vec<ChangeMessageVisibilityBatchRequestEntry>,
    ) -> Result<ChangeMessageVisibilityBatchOutput, Answer> {
        let span = sqs_span!("ChangeMessageVisibilityBatch", "settle", queue_url, entries.len());
        let call = self.client.change_message_visibility_batch().queue_url(queue_url);
        let call = call.set_entries(Some(entries));
        send!(aws_sdk_sqs, call, self.changes, span).map_err(classify)
    }

    /// Receives up to this many messages in one call.
    ///
    /// The time for which the service waits is not among that which the client has for a call.
    pub(super) async fn receive(&self, request: &ReceiveRequest, most: i32) -> Result<ReceiveMessageOutput, Answer> {
        let span = sqs_span!("ReceiveMessage", "receive", &request.queue_url, most);
        let call = self
            .client
            .receive_message()
            .queue_url(&request.queue_url)
            .max_number_of_messages(most)
            .wait_time_seconds(request.wait_seconds())
            .visibility_timeout(request.visibility_seconds())
            .set_message_attribute_names(Some(request.attributes.clone()))
            .set_message_system_attribute_names(Some(request.system_attributes.clone()));
        let mut changes = Builder::from(self.changes.clone());
        if let Some(timeouts) = self.client.config().timeout_config() {
            changes = changes.timeout_config(longer(timeouts, request.wait));
        }
        send!(aws_sdk_sqs, call, changes, span).map_err(classify)
    }

    /// Asks for these attributes of the queue.
    pub(super) async fn attributes(
        &self,
        queue_url: &str,
        names: Vec<QueueAttributeName>,
    ) -> Result<GetQueueAttributesOutput, Answer> {
        let span = request_span!(
            "SQS",
            "GetQueueAttributes",
            messaging.system = "aws_sqs",
            messaging.operation.name = "GetQueueAttributes",
            messaging.destination.name = short_name(queue_url),
        );
        let call = self.client.get_queue_attributes().queue_url(queue_url);
        let call = call.set_attribute_names(Some(names));
        send!(aws_sdk_sqs, call, self.changes, span).map_err(classify)
    }
}

/// The same timeouts for a call that the service answers only after up to `wait` when it has nothing to return.
fn longer(timeouts: &TimeoutConfig, wait: Duration) -> TimeoutConfig {
    let mut longer = timeouts.to_builder();
    if let Some(timeout) = timeouts.read_timeout() {
        longer = longer.read_timeout(timeout.saturating_add(wait));
    }
    if let Some(timeout) = timeouts.operation_timeout() {
        longer = longer.operation_timeout(timeout.saturating_add(wait));
    }
    if let Some(timeout) = timeouts.operation_attempt_timeout() {
        longer = longer.operation_attempt_timeout(timeout.saturating_add(wait));
    }
    longer.build()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{client, message};
    use super::*;
    use crate::aws::recording::Recorder;

    const QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/1/orders";

    #[tokio::test]
    async fn a_call_is_tried_once() {
        let recorder = Recorder::answering(403, r#"{"__type":"com.amazonaws.sqs#RequestThrottled"}"#);
        let calls = SqsCalls::new(client(&recorder));
        for made in 1..=3 {
            let messages = vec![message("a").build().unwrap()];
            assert!(calls.send(QUEUE, messages).await.is_err());
            assert_eq!(recorder.requests(), made);
        }
    }
}
