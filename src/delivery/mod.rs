//! A delivery to any target, of its entries or of values that are converted into them.

#[cfg(feature = "dynamodb-serde")]
mod items;
#[cfg(feature = "sqs")]
mod messages;
#[cfg(feature = "dynamodb")]
mod reads;
#[cfg(any(feature = "dynamodb", feature = "kinesis", feature = "s3", feature = "sqs"))]
mod services;
#[cfg(feature = "spool")]
mod spooled;

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures::{Stream, StreamExt};

use crate::contract::BatchTarget;
use crate::disposition::Disposition;
use crate::engine::{self, Delivered, Source, feed};
use crate::handlers::{HandlerResult, Handlers};
use crate::interleaved::Interleaved;
use crate::options::DeliveryOptions;
use crate::producer::Producer;
use crate::report::{DeliveryError, Report, Undelivered};
use crate::run::{Contents, Run, Values};

#[cfg(feature = "dynamodb-serde")]
pub use self::items::exact_number;
#[cfg(feature = "dynamodb")]
pub use self::reads::GetError;
#[cfg(feature = "dynamodb")]
pub use self::services::deliver_batch_to_dynamo;
#[cfg(feature = "sqs")]
pub use self::services::deliver_batch_to_sqs;

/// Delivers entries to one target, as often as needed.
///
/// It is cheap to clone. Clones share the target and the pace.
///
/// ```no_run
/// # use aws_batch_delivery::{Delivery, DeliveryOptions};
/// # async fn example(client: aws_sdk_dynamodb::Client, batch: Vec<aws_sdk_dynamodb::types::WriteRequest>)
/// # -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let orders = Delivery::to_dynamo(client, "orders").options(DeliveryOptions::default().retries(5));
/// let report = orders.deliver(batch).await?;
/// println!("{report}");
/// # Ok(())
/// # }
/// ```
///
/// # Values of your own types
/// `Delivery<T>` takes the entries of its target, the shapes of the SDK. [`map_entries`](Self::map_entries),
/// [`try_map_entries`](Self::try_map_entries), and with the features for serde `put_items`, `delete_keys` and `json` make a
/// `Delivery<T, Values<V>>` of it, which takes values of the type `V` and has the same functions. A value that was not
/// delivered is handed back as the value, with its position in the input. A value that cannot be converted is handed back
/// alone, as [`Unconvertible`](crate::InvalidEntry::Unconvertible); the others are delivered.
#[must_use]
pub struct Delivery<T: BatchTarget, C: Contents<T> = ()> {
    run: Run<T, C>,
}

impl<T: BatchTarget, C: Contents<T>> Clone for Delivery<T, C> {
    fn clone(&self) -> Self {
        Self { run: self.run.clone() }
    }
}

impl<T: BatchTarget + fmt::Debug, C: Contents<T>> fmt::Debug for Delivery<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("target", &self.run.target)
            .field("options", &self.run.options)
            .finish_non_exhaustive()
    }
}

impl<T: BatchTarget> Delivery<T> {
    /// Delivers to any target, with the default options.
    pub fn new(target: T) -> Self {
        Self::of(Arc::new(target), (), DeliveryOptions::default())
    }

    /// Delivers values of another type, which `entry` converts into entries. Handlers that were set for entries do not
    /// apply: set them again for values.
    ///
    /// ```
    /// # use aws_batch_delivery::{Delivery, Values, targets::dynamo::DynamoTable};
    /// # use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};
    /// # struct Event { id: String }
    /// # fn put(id: AttributeValue) -> WriteRequest { WriteRequest::builder().build() }
    /// # fn example(client: aws_sdk_dynamodb::Client) -> Delivery<DynamoTable, Values<Event>> {
    /// Delivery::to_dynamo(client, "events").map_entries(|event: &Event| put(AttributeValue::S(event.id.clone())))
    /// # }
    /// ```
    pub fn map_entries<V: Send + Sync + 'static>(
        self,
        entry: impl Fn(&V) -> T::Entry + Send + Sync + 'static,
    ) -> Delivery<T, Values<V>> {
        self.try_map_entries(move |value| Ok::<_, Infallible>(entry(value)))
    }

    /// Like [`map_entries`](Self::map_entries), with a conversion that may fail, as the builders of the SDK do.
    ///
    /// ```
    /// # use aws_batch_delivery::{Delivery, Values, targets::sqs::SqsQueue};
    /// # use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
    /// # struct Event { account: String, text: String }
    /// # fn example(client: aws_sdk_sqs::Client, queue_url: &str) -> Delivery<SqsQueue, Values<Event>> {
    /// // Messages of one account arrive in their order.
    /// Delivery::to_sqs(client, queue_url).try_map_entries(|event: &Event| {
    ///     SendMessageBatchRequestEntry::builder()
    ///         .id("")
    ///         .message_body(&event.text)
    ///         .message_group_id(&event.account)
    ///         .build()
    /// })
    /// # }
    /// ```
    pub fn try_map_entries<V: Send + Sync + 'static, X>(
        self,
        entry: impl Fn(&V) -> Result<T::Entry, X> + Send + Sync + 'static,
    ) -> Delivery<T, Values<V>>
    where
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        Delivery::<T, Values<V>>::of(
            self.run.target,
            Arc::new(move |value| entry(value).map_err(Into::into)),
            self.run.options,
        )
    }
}

impl<T: BatchTarget, C: Contents<T>> Delivery<T, C> {
    fn of(target: Arc<T>, conversion: C::Conversion, options: DeliveryOptions) -> Self {
        Self {
            run: Run {
                target,
                conversion,
                options,
                handlers: Handlers::none(),
            },
        }
    }

    /// Changes the settings of the target.
    ///
    /// ```
    /// # use aws_batch_delivery::{Delivery, targets::dynamo::DynamoTable};
    /// # fn example(client: aws_sdk_dynamodb::Client) -> Delivery<DynamoTable> {
    /// // The table is not asked for its key.
    /// Delivery::to_dynamo(client, "orders").map_target(|table| table.key("id"))
    /// # }
    /// ```
    pub fn map_target(mut self, change: impl FnOnce(T) -> T) -> Self
    where
        T: Clone,
    {
        self.run.target = Arc::new(change(Arc::unwrap_or_clone(self.run.target)));
        self
    }

    /// How to deliver.
    pub fn options(mut self, options: DeliveryOptions) -> Self {
        self.run.options = options;
        self
    }

    /// Calls `handler` with the position of each delivered entry, the entry, and what the service returned for it, such as
    /// the [ids](crate::targets::Acknowledgement) of a message; also for each entry that was
    /// [superseded](Disposition::Superseded), and for each whose [condition](Disposition::ConditionFailed) does not hold. The position counts the entries of the input from 0.
    ///
    /// Use it to collect message ids, or to inform the origin of an entry that it was delivered. How far a load has
    /// progressed is in [`Snapshot::settled_until`](crate::Snapshot::settled_until). It is called once for each entry, as
    /// soon as the answer is there and before the strategy learns about the call. Several tasks may call it at the same
    /// time, and it must not block. A handler that panics is not called again by this delivery, and [a
    /// warning](crate::events::HANDLER) is logged.
    ///
    /// ```no_run
    /// # use std::sync::{Arc, atomic::{AtomicU64, Ordering::Relaxed}};
    /// # use aws_batch_delivery::{Delivery, targets::sqs::SqsQueue};
    /// # fn example(orders: Delivery<SqsQueue>) {
    /// let orders = orders.on_delivered(|_position, message, disposition| println!("{}: {disposition:?}", message.id()));
    /// # }
    /// ```
    pub fn on_delivered(mut self, handler: impl Fn(u64, &C::Value, &Disposition) + Send + Sync + 'static) -> Self {
        self.run.handlers = self.run.handlers.on_delivered(handler);
        self
    }

    /// Gives each entry that is not delivered to `handler` as soon as that is known, and keeps none of them: a stream whose
    /// entries all fail takes no more memory than another one.
    ///
    /// The handler borrows the entry, and returns a future that does the work: it takes what the future needs, such as a
    /// clone of the entry or a line of text. The delivery keeps the entry until the future has finished, so none is lost
    /// with a handler that hangs, fails or panics. Many futures run at once, in no order.
    ///
    /// - **A handler that cannot fail** returns `()`.
    /// - **An error** ends the delivery: calls in flight have the [`grace`](DeliveryOptions::grace) period, and everything
    ///   else is handed back, the rest of a batch included; unread entries of a stream stay in it. The error of the delivery
    ///   has the entry, those after it, and the handler's error as the source of [`stopped`](DeliveryError::stopped). A
    ///   [producer](Self::producer) is closed. To continue in spite of an error, return `()`.
    /// - **A panic** does not end the delivery. The handler is not called again, the entries that it had and later ones are
    ///   in the error of the delivery, and [a warning](crate::events::HANDLER) is logged.
    /// - **A slow handler** slows the reading down: entries with which it has not finished count for
    ///   [`read_ahead`](DeliveryOptions::read_ahead) and its bytes. The delivery waits for all of them before it ends.
    /// - **After an early end**, by a cancellation, the deadline, a stop or
    ///   [`close_within`](crate::Producer::close_within), the handler also gets the rest of the input. All of its work must
    ///   be done within three [`grace`](DeliveryOptions::grace) periods: one for the calls in flight, one for the target to
    ///   clean up, one for the handler. Futures that have not finished by then are dropped, and their entries are in the
    ///   error with those that the handler did not get; what a dropped future has stored or sent is then in both places.
    ///
    /// The delivery fails when any entry was not delivered, whatever the handler returns: its error has the figures and the
    /// causes, and the entries with which the handler has not finished. With a [producer](Self::producer), the handler gets
    /// the entries whose receipts were dropped.
    ///
    /// ```no_run
    /// # use aws_batch_delivery::{Delivery, Producer, targets::sqs::SqsQueue};
    /// # use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
    /// # fn example(orders: Delivery<SqsQueue>, dead_letters: Producer<SendMessageBatchRequestEntry>) {
    /// let orders = orders.on_undelivered(move |undelivered| {
    ///     eprintln!("{}: {}", undelivered.position, undelivered.cause);
    ///     let (dead_letters, entry) = (dead_letters.clone(), undelivered.entry.clone());
    ///     async move { dead_letters.send(*entry).await }
    /// });
    /// # }
    /// ```
    pub fn on_undelivered<F>(mut self, handler: impl Fn(&Undelivered<C::Value>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: HandlerResult> + Send + 'static,
    {
        self.run.handlers = self.run.handlers.on_undelivered(handler);
        self
    }

    /// Delivers every entry, or hands it back.
    ///
    /// Entries are taken from the iterator as they are needed. When the delivery ends early, the rest is read and handed
    /// back, so the iterator must end. The calls run as tasks of the current tokio runtime; dropping the future drops its
    /// calls.
    ///
    /// # Errors
    /// When any entry was not delivered. The error carries all of them, each with its cause.
    pub async fn deliver<I>(&self, entries: I) -> Result<Report, DeliveryError<C::Value>>
    where
        I: IntoIterator<Item = C::Value>,
    {
        let delivered = self.delivered(&mut engine::Batch(entries.into_iter())).await;
        delivered.log(&self.run.destination());
        delivered.into_result()
    }

    /// Delivers every entry of several inputs, or hands it back. The inputs are read in turn, one entry at a time.
    ///
    /// Use it for inputs that are each sorted by the key that divides the service's capacity, such as the segments of a
    /// table scan or of an export: read one after another, they would load one partition at a time. Entries of one input
    /// with the same key or group arrive in their order; entries of different inputs arrive in the order in which they are
    /// read.
    ///
    /// A [position](crate::Undelivered::position) counts the entries of all inputs in the order in which they are read: of
    /// two long inputs, the first has the positions 0, 2, 4 …, and the second 1, 3, 5 …. An input that has ended is skipped
    /// from then on. In all other respects it is like [`deliver`](Self::deliver): when the delivery ends early, the rest of
    /// all inputs is read and handed back. For streams, combine them with [`select_all`](fn@futures::stream::select_all),
    /// which waits for whichever has an entry.
    ///
    /// ```no_run
    /// # use aws_batch_delivery::{Delivery, targets::dynamo::DynamoTable};
    /// # use aws_sdk_dynamodb::types::WriteRequest;
    /// # async fn example(orders: Delivery<DynamoTable>, segments: Vec<Vec<WriteRequest>>)
    /// # -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// orders.deliver_interleaved(segments).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When any entry was not delivered. The error carries all of them, each with its cause.
    pub async fn deliver_interleaved<N>(
        &self,
        inputs: impl IntoIterator<Item = N>,
    ) -> Result<Report, DeliveryError<C::Value>>
    where
        N: IntoIterator<Item = C::Value>,
    {
        self.deliver(Interleaved::new(inputs)).await
    }

    /// Delivers every entry of a stream, or hands it back.
    ///
    /// Entries are read as they are needed, so a stream of any length takes the memory of a few calls; undelivered entries,
    /// however, are kept until the end. A call that is not full leaves when its first entry has waited for the
    /// [`linger`](DeliveryOptions::linger) time. When the delivery ends early, unread entries stay in the stream: deliver
    /// `&mut stream` to keep them. [`Report::next_position`] says where to continue; with
    /// [`Snapshot::settled_until`](crate::Snapshot::settled_until) a load continues even after its process was killed.
    ///
    /// # Errors
    /// When any entry was not delivered, or when the stream was not read to its end because of a cancellation, the deadline
    /// or a stop. The error carries all entries, each with its cause, and the
    /// [reason](DeliveryError::interruption) for which the rest was not read, even if all that were read were delivered.
    pub async fn deliver_stream<S>(&self, stream: S) -> Result<Report, DeliveryError<C::Value>>
    where
        S: Stream<Item = C::Value>,
    {
        self.try_deliver_stream(stream.map(Ok::<_, Infallible>)).await
    }

    /// Delivers every entry of a stream that may fail, or hands it back.
    ///
    /// Like [`deliver_stream`](Self::deliver_stream). The first error ends the stream; entries before it are delivered. The
    /// error may be of any type that converts into a boxed one: an error type of your own, `anyhow::Error`, or
    /// `Box<dyn Error + Send + Sync>`.
    ///
    /// # Errors
    /// The same as for [`deliver_stream`](Self::deliver_stream), and when the stream failed: then the error has a
    /// [`stream_error`](DeliveryError::stream_error) in addition to the entries.
    pub async fn try_deliver_stream<S, X>(&self, stream: S) -> Result<Report, DeliveryError<C::Value>>
    where
        S: Stream<Item = Result<C::Value, X>>,
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut input = engine::StreamSource::new(stream);
        let delivered = self.delivered(&mut input).await;
        delivered.into_result_of_stream(&self.run.destination(), input.error)
    }

    /// A handle for many tasks that send single entries. It starts a task of the current tokio runtime, which ends when the
    /// producer is [closed](Producer::close).
    ///
    /// # Panics
    /// When there is no current tokio runtime.
    pub fn producer(&self) -> Producer<C::Value> {
        Producer::start(&self.run)
    }

    /// Delivers what is read from the source, or hands it back.
    async fn delivered(&self, source: &mut impl Source<Entry = C::Value>) -> Delivered<C::Value> {
        let progress = self.run.options.progress.begin();
        let run = self.run.with(self.run.options.clone().progress(progress.progress()));
        feed(source, |input| run.once(input)).await
    }
}
