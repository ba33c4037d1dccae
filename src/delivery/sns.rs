//! Messages to SNS.

use super::Delivery;
use crate::options::DeliveryOptions;
use crate::report::{DeliveryError, Report};
use crate::targets::sns::SnsTopic;

impl Delivery<SnsTopic> {
    /// Delivers messages to an SNS topic, given by its ARN.
    pub fn to_sns(client: aws_sdk_sns::Client, topic_arn: impl Into<String>) -> Self {
        Self::new(SnsTopic::new(client, topic_arn))
    }

    /// Whether the FIFO topic derives deduplication ids from the messages, so that it need not be asked. See
    /// [`SnsTopic::content_based_deduplication`].
    #[must_use]
    pub fn content_based_deduplication(self, by_content: bool) -> Self {
        self.with_target(|topic| topic.content_based_deduplication(by_content))
    }

    /// At most one message of a group of a FIFO topic in a call. See [`SnsTopic::strict_order`].
    #[must_use]
    pub fn strict_order(self) -> Self {
        self.with_target(SnsTopic::strict_order)
    }
}

/// Delivers any number of messages to an SNS topic.
///
/// They are split by the limits of `PublishBatch`, count and bytes; those that fail temporarily are sent again, together
/// with fresh ones, at the pace of the strategy in the options. The ids of the entries need not be distinct. Messages of
/// one group of a FIFO topic arrive in the given order, with the limits described at [`SnsTopic`].
///
/// # Errors
/// When any was not delivered. The error carries all of them, each with its cause.
pub async fn deliver_batch_to_sns<I>(
    client: &aws_sdk_sns::Client,
    topic_arn: impl Into<String>,
    messages: I,
    options: &DeliveryOptions,
) -> Result<Report, DeliveryError<aws_sdk_sns::types::PublishBatchRequestEntry>>
where
    I: IntoIterator<Item = aws_sdk_sns::types::PublishBatchRequestEntry>,
{
    Delivery::to_sns(client.clone(), topic_arn)
        .options(options.clone())
        .deliver(messages)
        .await
}
