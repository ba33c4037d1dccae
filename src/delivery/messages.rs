//! Messages from texts and from values that implement `Serialize`.

use std::sync::Arc;

use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};

use super::{Delivery, Values};
use crate::services::sqs::SqsQueue;

impl Delivery<SqsQueue> {
    /// Delivers texts, each as the body of a message: `String`, `&'static str`, `Arc<str>` …
    ///
    /// ```no_run
    /// # async fn example(client: aws_sdk_sqs::Client, queue_url: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// # use aws_batch_delivery::Delivery;
    /// let report = Delivery::to_sqs(client, queue_url).texts().deliver(["one", "two"]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The messages have no attributes and no group, unless [`group`](Delivery::group) and
    /// [`attribute`](Delivery::attribute) set them.
    pub fn texts<V: AsRef<str> + Send + Sync + 'static>(self) -> Delivery<SqsQueue, Values<V>> {
        self.try_map_entries(|text: &V| message(text.as_ref()))
    }

    /// Delivers values that implement `Serialize`, each as a message whose body is its JSON.
    ///
    /// Like [`texts`](Self::texts), converted by [`serde_json::to_string`]: the keys of a map must be texts or numbers, and
    /// NaN and infinities become `null`.
    #[cfg(feature = "sqs-serde")]
    pub fn json<V: serde::Serialize + Send + Sync + 'static>(self) -> Delivery<SqsQueue, Values<V>> {
        self.try_map_entries(|value: &V| -> Result<_, Box<dyn std::error::Error + Send + Sync>> {
            Ok(message(serde_json::to_string(value)?)?)
        })
    }
}

impl<V: Send + Sync + 'static> Delivery<SqsQueue, Values<V>> {
    /// The message group of each message. In a FIFO queue each needs a group, and messages of one group arrive in the order of the
    /// input, if the target has a [`strict_order`](SqsQueue::strict_order); without it a message may pass one that SQS has failed in
    /// their call. In a standard queue the group makes the queue fair.
    ///
    /// ```no_run
    /// # async fn example(client: aws_sdk_sqs::Client, queue_url: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// # use aws_batch_delivery::Delivery;
    /// let queue = Delivery::to_sqs(client, queue_url).map_target(|queue| queue.strict_order());
    /// let lines = queue.texts().group(|line: &String| line[..2].to_owned());
    /// # Ok(())
    /// # }
    /// ```
    pub fn group<G: Into<String>>(self, group: impl Fn(&V) -> G + Send + Sync + 'static) -> Self {
        self.and_then(move |value, message| {
            message.message_group_id = Some(group(value).into());
            Ok(())
        })
    }

    /// The deduplication id of each message of a FIFO queue. Without it the queue derives it from the body, if it is set up
    /// to, or the delivery sets a random one.
    pub fn deduplication_id<D: Into<String>>(self, id: impl Fn(&V) -> D + Send + Sync + 'static) -> Self {
        self.and_then(move |value, message| {
            message.message_deduplication_id = Some(id(value).into());
            Ok(())
        })
    }

    /// An attribute of each message, of the type `String`. It counts for the size of the message.
    pub fn attribute<A: Into<String>>(
        self,
        name: impl Into<String>,
        text: impl Fn(&V) -> A + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        self.and_then(move |value, message| {
            let attribute = MessageAttributeValue::builder().data_type("String");
            let attribute = attribute.string_value(text(value)).build()?;
            let attributes = message.message_attributes.get_or_insert_default();
            attributes.insert(name.clone(), attribute);
            Ok(())
        })
    }

    /// Changes each message after its conversion.
    fn and_then(
        mut self,
        change: impl Fn(&V, &mut SendMessageBatchRequestEntry) -> Result<(), BuildError> + Send + Sync + 'static,
    ) -> Self {
        let convert = self.run.conversion;
        self.run.conversion = Arc::new(move |value| {
            let mut message = convert(value)?;
            change(value, &mut message)?;
            Ok(message)
        });
        self
    }
}

/// The target sets its own ids for each call.
fn message(body: impl Into<String>) -> Result<SendMessageBatchRequestEntry, BuildError> {
    SendMessageBatchRequestEntry::builder()
        .id("")
        .message_body(body)
        .build()
}
