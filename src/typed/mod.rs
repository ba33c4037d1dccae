//! Deliveries of values: each value is converted into an entry, and handed back as the original value.

#[cfg(feature = "dynamodb-serde")]
mod dynamo;
#[cfg(feature = "sqs")]
mod sqs;
mod values;

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures::{Stream, StreamExt};

use self::values::Convert;
use crate::delivery::Delivery;
use crate::engine::{Batch, Delivered, Input, Streamed};
use crate::fate::Fate;
use crate::guarded::destination;
use crate::handlers::{Handled, HandlerResult, Handlers, Handling};
use crate::interleaved::Interleaved;
use crate::options::DeliveryOptions;
use crate::producer::{Delivers, Producer};
use crate::report::{DeliveryError, Report, Undelivered};
use crate::targets::BatchTarget;

/// A [`Delivery`] of values that are converted into entries as they are read: orders for a table, events for a queue.
///
/// A value that was not delivered is handed back as the value, with its position in the input. A value that cannot be
/// converted is handed back alone, as [`Unconvertible`](crate::InvalidEntry::Unconvertible); the others are delivered.
///
/// Each value is converted once, and kept next to its entry until its fate is known. So a delivery needs memory for both:
/// for those in flight, those that wait to be sent again, and those read ahead for the next calls.
///
/// It is made by [`Delivery::entries_from`]; with the feature `dynamodb-serde` by `put_items` and `delete_keys` of a
/// delivery to a table, by `texts` of a delivery to a queue, and with `sqs-serde` by `json`.
pub struct TypedDelivery<T: BatchTarget, V> {
    parts: Parts<T, V>,
    options: DeliveryOptions,
    handlers: Handlers<V>,
}

/// What is needed to convert and send a value.
struct Parts<T: BatchTarget, V> {
    target: Arc<T>,
    convert: Arc<Convert<V, T::Entry>>,
}

impl<T: BatchTarget, V> Clone for Parts<T, V> {
    fn clone(&self) -> Self {
        Self {
            target: Arc::clone(&self.target),
            convert: Arc::clone(&self.convert),
        }
    }
}

impl<T: BatchTarget, V: Send + Sync + 'static> Delivers<V> for Parts<T, V> {
    async fn deliver(&self, input: impl Input<Entry = V> + Send, options: DeliveryOptions) -> Delivered<V> {
        values::deliver(Arc::clone(&self.target), input, &*self.convert, options).await
    }

    fn destination(&self) -> String {
        destination(&*self.target)
    }
}

impl<T: BatchTarget> Delivery<T> {
    /// Delivers values of another type, which `entry` converts into entries. Handlers that were set for entries do not
    /// apply: set them again for values.
    ///
    /// ```
    /// # use aws_batch_delivery::{Delivery, TypedDelivery, targets::sqs::SqsQueue};
    /// # use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
    /// # use aws_sdk_sqs::error::BuildError;
    /// # struct Event { account: String, text: String }
    /// # fn example(client: aws_sdk_sqs::Client, queue_url: &str) -> TypedDelivery<SqsQueue, Event> {
    /// // Messages of one account arrive in their order.
    /// Delivery::to_sqs(client, queue_url).entries_from(|event: &Event| {
    ///     SendMessageBatchRequestEntry::builder()
    ///         .id("")
    ///         .message_body(&event.text)
    ///         .message_group_id(&event.account)
    ///         .build()
    /// })
    /// # }
    /// ```
    pub fn entries_from<V, X>(
        self,
        entry: impl Fn(&V) -> Result<T::Entry, X> + Send + Sync + 'static,
    ) -> TypedDelivery<T, V>
    where
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        TypedDelivery {
            parts: Parts {
                target: self.target,
                convert: Arc::new(move |value| entry(value).map_err(Into::into)),
            },
            options: self.options,
            handlers: Handlers::none(),
        }
    }
}

impl<T: BatchTarget, V: Send + Sync + 'static> TypedDelivery<T, V> {
    /// Calls `handler` for each value that was delivered. As [`Delivery::on_delivered`].
    #[must_use]
    pub fn on_delivered(mut self, handler: impl Fn(u64, &V, &Fate) + Send + Sync + 'static) -> Self {
        self.handlers = self.handlers.on_delivered(handler);
        self
    }

    /// Gives each value that is not delivered to `handler`. As [`Delivery::on_undelivered`].
    #[must_use]
    pub fn on_undelivered<F>(mut self, handler: impl Fn(&Undelivered<V>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: HandlerResult> + Send + 'static,
    {
        self.handlers = self.handlers.on_undelivered(handler);
        self
    }

    /// Delivers every value, or hands it back. As [`Delivery::deliver`].
    ///
    /// # Errors
    /// When any value was not delivered. The error carries all of them, each with its cause.
    pub async fn deliver<I>(&self, values: I) -> Result<Report, DeliveryError<V>>
    where
        I: IntoIterator<Item = V>,
    {
        let delivered = self.delivered(Batch::new(values.into_iter())).await;
        delivered.log(&self.parts.destination());
        delivered.into_result()
    }

    /// Delivers every value of several inputs, or hands it back. As [`Delivery::deliver_interleaved`].
    ///
    /// # Errors
    /// When any value was not delivered. The error carries all of them, each with its cause.
    pub async fn deliver_interleaved<N>(&self, inputs: impl IntoIterator<Item = N>) -> Result<Report, DeliveryError<V>>
    where
        N: IntoIterator<Item = V>,
    {
        self.deliver(Interleaved::new(inputs)).await
    }

    /// Delivers every value of a stream, or hands it back. As [`Delivery::deliver_stream`].
    ///
    /// # Errors
    /// As [`Delivery::deliver_stream`].
    pub async fn deliver_stream<S>(&self, stream: S) -> Result<Report, DeliveryError<V>>
    where
        S: Stream<Item = V>,
    {
        self.try_deliver_stream(stream.map(Ok::<_, Infallible>)).await
    }

    /// Delivers every value of a stream that may fail, or hands it back. As [`Delivery::try_deliver_stream`].
    ///
    /// # Errors
    /// As [`Delivery::try_deliver_stream`].
    pub async fn try_deliver_stream<S, X>(&self, stream: S) -> Result<Report, DeliveryError<V>>
    where
        S: Stream<Item = Result<V, X>>,
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut input = Streamed::new(stream);
        let delivered = self.delivered(&mut input).await;
        delivered.into_result_of_stream(&self.parts.destination(), input.error)
    }

    /// A handle for many tasks that send single values. As [`Delivery::producer`].
    ///
    /// # Panics
    /// When there is no current tokio runtime.
    pub fn producer(&self) -> Producer<V> {
        Producer::start(self.parts.clone(), &self.handlers, self.options.clone())
    }

    async fn delivered(&self, input: impl Input<Entry = V>) -> Delivered<V> {
        let progress = self.options.progress.begin();
        let options = self.options.clone().progress(progress.progress());
        let handling = Handling::of(&self.handlers, &options);
        let options = handling
            .as_ref()
            .map_or(&options, |handling| handling.options())
            .clone();
        let input = Handled::new(input, handling.clone());
        let target = Arc::clone(&self.parts.target);
        let delivered = values::deliver(target, input, &*self.parts.convert, options).await;
        delivered.with_handled(handling.as_deref())
    }
}

impl<T: BatchTarget, V> Clone for TypedDelivery<T, V> {
    fn clone(&self) -> Self {
        Self {
            parts: self.parts.clone(),
            options: self.options.clone(),
            handlers: self.handlers.clone(),
        }
    }
}

impl<T: BatchTarget + fmt::Debug, V> fmt::Debug for TypedDelivery<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedDelivery")
            .field("target", &self.parts.target)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
