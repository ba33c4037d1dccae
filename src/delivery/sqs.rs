//! Messages to SQS, and deletions and visibility changes for consumers.

use super::Delivery;
use crate::options::DeliveryOptions;
use crate::report::{DeliveryError, Report};
#[cfg(feature = "s3-offload")]
use crate::targets::sqs::Offload;
use crate::targets::sqs::{SqsDeletions, SqsQueue, SqsVisibility, VisibilityChange};

impl Delivery<SqsQueue> {
    /// Delivers messages to an SQS queue, given by its URL.
    pub fn to_sqs(client: aws_sdk_sqs::Client, queue_url: impl Into<String>) -> Self {
        Self::new(SqsQueue::new(client, queue_url))
    }

    /// Whether the FIFO queue derives deduplication ids from the bodies, so that it need not be asked. See
    /// [`SqsQueue::content_based_deduplication`].
    #[must_use]
    pub fn content_based_deduplication(self, by_content: bool) -> Self {
        self.with_target(|queue| queue.content_based_deduplication(by_content))
    }

    /// Sends a body with characters that SQS does not accept as base64. See [`SqsQueue::encode_invalid_characters`].
    #[must_use]
    pub fn encode_invalid_characters(self) -> Self {
        self.with_target(SqsQueue::encode_invalid_characters)
    }

    /// Sends messages that are too large through S3. See [`Offload`](crate::targets::sqs::Offload).
    #[cfg(feature = "s3-offload")]
    #[must_use]
    pub fn oversize(self, offload: Offload) -> Self {
        self.with_target(|queue| queue.oversize(offload))
    }

    /// At most one message of a group of a FIFO queue in a call. See [`SqsQueue::strict_order`].
    #[must_use]
    pub fn strict_order(self) -> Self {
        self.with_target(SqsQueue::strict_order)
    }
}

impl Delivery<SqsDeletions> {
    /// Deletes received messages from an SQS queue, given by its URL. The entries are receipt handles.
    pub fn deleting_from_sqs(client: aws_sdk_sqs::Client, queue_url: impl Into<String>) -> Self {
        Self::new(SqsDeletions::new(client, queue_url))
    }
}

impl Delivery<SqsVisibility> {
    /// Changes the visibility timeouts of received messages of an SQS queue, given by its URL.
    pub fn changing_visibility_in_sqs(client: aws_sdk_sqs::Client, queue_url: impl Into<String>) -> Self {
        Self::new(SqsVisibility::new(client, queue_url))
    }
}

/// Delivers any number of messages to an SQS queue.
///
/// They are split by the limits of `SendMessageBatch`, count and bytes; those that fail temporarily are sent again,
/// together with fresh ones, at the pace of the strategy in the options. The ids of the entries need not be distinct.
/// Messages of one group of a FIFO queue arrive in the given order, with the limits described at [`SqsQueue`].
///
/// # Errors
/// When any was not delivered. The error carries all of them, each with its cause.
pub async fn deliver_batch_to_sqs<I>(
    client: &aws_sdk_sqs::Client,
    queue_url: impl Into<String>,
    entries: I,
    options: &DeliveryOptions,
) -> Result<Report, DeliveryError<aws_sdk_sqs::types::SendMessageBatchRequestEntry>>
where
    I: IntoIterator<Item = aws_sdk_sqs::types::SendMessageBatchRequestEntry>,
{
    Delivery::to_sqs(client.clone(), queue_url)
        .options(options.clone())
        .deliver(entries)
        .await
}

/// Deletes any number of received messages from an SQS queue.
///
/// The entries are the receipt handles of the messages. They are split by the limits of `DeleteMessageBatch`; those that
/// fail temporarily are sent again. A handle that SQS refuses is handed back, and the others are deleted.
///
/// ```no_run
/// # use aws_batch_delivery::{DeliveryOptions, delete_batch_from_sqs};
/// # async fn example(client: aws_sdk_sqs::Client, url: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let received = client.receive_message().queue_url(url).max_number_of_messages(10).send().await?;
/// let handles = received.messages().iter().filter_map(|message| message.receipt_handle());
/// delete_batch_from_sqs(&client, url, handles, &DeliveryOptions::default()).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When any was not deleted. The error carries all of them, each with its cause.
pub async fn delete_batch_from_sqs<I>(
    client: &aws_sdk_sqs::Client,
    queue_url: impl Into<String>,
    receipt_handles: I,
    options: &DeliveryOptions,
) -> Result<Report, DeliveryError<String>>
where
    I: IntoIterator<Item: Into<String>>,
{
    Delivery::deleting_from_sqs(client.clone(), queue_url)
        .options(options.clone())
        .deliver(receipt_handles.into_iter().map(Into::into))
        .await
}

/// Changes the visibility timeouts of any number of received messages of an SQS queue.
///
/// They are split by the limits of `ChangeMessageVisibilityBatch`; those that fail temporarily are sent again. A handle
/// that SQS refuses is handed back, and the others are changed.
///
/// ```no_run
/// # use std::time::Duration;
/// # use aws_batch_delivery::targets::sqs::VisibilityChange;
/// # use aws_batch_delivery::{DeliveryOptions, change_visibility_batch_in_sqs};
/// # async fn example(client: aws_sdk_sqs::Client, url: &str, handles: Vec<String>)
/// # -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let longer = handles.into_iter().map(|handle| VisibilityChange::new(handle, Duration::from_secs(300)));
/// change_visibility_batch_in_sqs(&client, url, longer, &DeliveryOptions::default()).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When any was not changed. The error carries all of them, each with its cause.
pub async fn change_visibility_batch_in_sqs<I>(
    client: &aws_sdk_sqs::Client,
    queue_url: impl Into<String>,
    changes: I,
    options: &DeliveryOptions,
) -> Result<Report, DeliveryError<VisibilityChange>>
where
    I: IntoIterator<Item = VisibilityChange>,
{
    Delivery::changing_visibility_in_sqs(client.clone(), queue_url)
        .options(options.clone())
        .deliver(changes)
        .await
}
