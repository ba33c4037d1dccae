//! Messages from texts and from values that implement `Serialize`.

use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use super::{Delivery, Values};
use crate::targets::sqs::SqsQueue;

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
    /// The messages have no attributes and no group. For attributes, and for FIFO queues, use
    /// [`try_map_entries`](Self::try_map_entries).
    #[must_use]
    pub fn texts<V: AsRef<str> + Send + Sync + 'static>(self) -> Delivery<SqsQueue, Values<V>> {
        self.try_map_entries(|text: &V| message(text.as_ref()))
    }

    /// Delivers values that implement `Serialize`, each as a message whose body is its JSON.
    ///
    /// As [`texts`](Self::texts), converted by [`serde_json::to_string`]: the keys of a map must be texts or numbers, and
    /// NaN and infinities become `null`.
    #[cfg(feature = "sqs-serde")]
    #[must_use]
    pub fn json<V: serde::Serialize + Send + Sync + 'static>(self) -> Delivery<SqsQueue, Values<V>> {
        self.try_map_entries(|value: &V| -> Result<_, Box<dyn std::error::Error + Send + Sync>> {
            Ok(message(serde_json::to_string(value)?)?)
        })
    }
}

/// The target sets its own ids for each call.
fn message(body: impl Into<String>) -> Result<SendMessageBatchRequestEntry, BuildError> {
    SendMessageBatchRequestEntry::builder()
        .id("")
        .message_body(body)
        .build()
}
