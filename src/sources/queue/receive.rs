//! What is received, and how.

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::MessageSystemAttributeName;

use super::messages::{ReceiveBounds, ReceivedMessages};
use crate::debug::debug_fields;
use crate::options::DeliveryOptions;
use crate::services::sqs::{MAX_VISIBILITY_TIMEOUT, ReceiveRequest};

/// The longest wait of a receive. From the API reference of `ReceiveMessage`.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// After a kill, messages in flight come again after this time. Renewals are due at half of it, so a call of one has 30 s.
const VISIBILITY: Duration = Duration::from_secs(60);

/// As many messages as a delivery sends in a second at 1,000 calls of ten a second, at most 1 GB of memory if all of them are as large
/// as they may be.
const WINDOW: usize = 1_000;

/// Receives the messages of an SQS queue, and deletes each after it was settled.
///
/// ```no_run
/// # use aws_batch_delivery::sources::Receive;
/// # use futures::StreamExt;
/// # async fn handle(_: &str) -> bool { true }
/// # async fn example(client: aws_sdk_sqs::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let mut messages = Receive::new(client, "https://sqs.eu-central-1.amazonaws.com/123456789012/orders").messages();
/// while let Some(received) = messages.next().await {
///     let received = received?;
///     if handle(received.message.body().unwrap_or_default()).await {
///         received.ticket.settle();
///     } else {
///         // Each receive counts for the redrive policy of the queue, so the delay grows: 2 s, 4 s, 8 s, ...
///         let delay = std::time::Duration::from_secs(1 << received.receive_count().min(9));
///         received.ticket.release_after(delay);
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// As the input of a delivery the ticket travels with the entry:
/// `Delivery::try_map_entries(|received: &Received| …)`, `on_delivered(|_, received, _| received.ticket.settle())` and
/// `on_undelivered(|undelivered| …)`, which releases or sets aside what is handed back. Without the last one, the delivery keeps it and its
/// ticket until it ends.
///
/// # What it promises
/// - **No message is lost.** A message is deleted only after its ticket was [settled](super::Ticket::settle). Whatever ends before
///   that, a task, the process, a connection, leaves it in the queue.
/// - **A message is kept hidden** from its receipt to its deletion, even while it waits in memory and while its deletion is throttled:
///   its visibility timeout is renewed at half of its time, in calls of ten. SQS hides a message for twelve hours at most. Then
///   it is visible again, its ticket is no longer [current](super::Ticket::is_current), and settling it may come too late: it is counted
///   as expired, and others may have received it as well.
/// - **Messages come at least once.** After a kill those come again whose deletion was not accepted, at most the [window](Self::window),
///   as soon as their [visibility timeout](Self::visibility_timeout) is over.
/// - **A receive is used up only when a message reaches a handler**, as far as SQS allows it. A queue whose redrive policy has a `maxReceiveCount` moves a
///   message to its dead letters when it was received that often, even if no handler has seen it. So few messages are received in advance:
///   those that are settled in two seconds at the present rate. While messages have used up more than half of their receives, and always if
///   `maxReceiveCount` is 1, only as many are received as are asked for. The queue is asked for the policy with `GetQueueAttributes` at the start and once an
///   hour; without the permission it counts as one that has none, except that a FIFO group waits for a message that has become a dead letter.
///   A kill, and a stop in the middle of a call, uses up a receive of each message in flight.
/// - **A released message is visible at once**, or after [a delay](super::Ticket::release_after). When the stream is dropped, the messages that it has received and not handed out are
///   released, and those of calls in flight as soon as they arrive.
/// - **The order of a FIFO group is kept.** A message is handed out when the one before it in its group was settled. When that is
///   released, the later ones wait, hidden, until it comes again; if it was its last receive, they continue; and if another receiver has
///   got it, they are released one visibility timeout after it became visible. Therefore a group has one message in progress at a
///   time: many groups are as fast as a standard queue, and a single group as fast as the round trip of its consumer.
///
/// # Default
/// - long polling: a call waits up to 20 s for messages, and receives up to ten. The timeouts of the client are that much longer for it
/// - one call at a time as long as the queue is empty, and up to [`concurrency`](DeliveryOptions::concurrency), 16, as long as it is not
/// - a visibility timeout of 60 s, renewed
/// - at most 1,000 messages are held
/// - all message attributes, and the system attributes `MessageGroupId`, `MessageDeduplicationId`, `SentTimestamp`,
///   `ApproximateReceiveCount` and `AWSTraceHeader`
/// - it never ends
#[derive(Clone)]
#[must_use]
pub struct Receive {
    client: Client,
    request: ReceiveRequest,
    options: DeliveryOptions,
    bounds: ReceiveBounds,
}

impl Receive {
    /// From the queue with this URL. It is treated as a FIFO queue if the URL ends in `.fifo`.
    pub fn new(client: Client, queue_url: impl Into<String>) -> Self {
        Self {
            client,
            request: ReceiveRequest {
                queue_url: queue_url.into(),
                attributes: vec!["All".to_owned()],
                system_attributes: vec![
                    MessageSystemAttributeName::MessageGroupId,
                    MessageSystemAttributeName::MessageDeduplicationId,
                    MessageSystemAttributeName::SentTimestamp,
                    MessageSystemAttributeName::ApproximateReceiveCount,
                    MessageSystemAttributeName::AwsTraceHeader,
                ],
                visibility: VISIBILITY,
                wait: LONGEST_WAIT,
            },
            options: DeliveryOptions::default(),
            bounds: ReceiveBounds {
                window: WINDOW,
                most: u64::MAX,
                idle: None,
            },
        }
    }

    /// The message attributes to receive, by name or prefix such as `order.*`. Default: all.
    pub fn message_attributes(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.request.attributes = names.into_iter().map(Into::into).collect();
        self
    }

    /// The system attributes to receive. Always among them are `MessageGroupId`, on which the order of a FIFO queue depends, and
    /// `ApproximateReceiveCount`, which includes the last receive.
    pub fn system_attributes(mut self, names: impl IntoIterator<Item = MessageSystemAttributeName>) -> Self {
        let needed = [
            MessageSystemAttributeName::MessageGroupId,
            MessageSystemAttributeName::ApproximateReceiveCount,
        ];
        let mut names: Vec<_> = names.into_iter().collect();
        names.retain(|name| !needed.contains(name));
        self.request.system_attributes = names.into_iter().chain(needed).collect();
        self
    }

    /// How long a call waits for messages, in whole seconds. Default: 20 s, the longest.
    ///
    /// # Panics
    /// When it is above 20 s or below 1 s: without a wait, SQS asks only some of its servers, and an empty answer says little.
    #[track_caller]
    pub fn wait(mut self, wait: Duration) -> Self {
        let seconds = Duration::from_secs(wait.as_secs());
        assert!(
            (Duration::from_secs(1)..=LONGEST_WAIT).contains(&wait),
            "the wait must be from 1 s to 20 s, but is {wait:?}"
        );
        self.request.wait = seconds;
        self
    }

    /// For how long SQS hides a message before a renewal is needed, in whole seconds: after a kill, messages in flight come again
    /// after this time. Default: 60 s.
    ///
    /// # Panics
    /// When it is below 10 s, which leaves no time for a renewal that is throttled, or above 12 hours, the limit of the service.
    #[track_caller]
    pub fn visibility_timeout(mut self, timeout: Duration) -> Self {
        assert!(
            (Duration::from_secs(10)..=MAX_VISIBILITY_TIMEOUT).contains(&timeout),
            "the visibility timeout must be from 10 s to 12 h, but is {timeout:?}"
        );
        self.request.visibility = Duration::from_secs(timeout.as_secs());
        self
    }

    /// How many messages are held at most, from their receipt to their deletion, those that are [set
    /// aside](super::Ticket::set_aside) not counted. Default: 1,000. SQS has a limit of 120,000 messages in flight for a queue.
    ///
    /// # Panics
    /// When it is 0.
    #[track_caller]
    pub fn window(mut self, messages: usize) -> Self {
        assert!(messages > 0, "the window must be at least 1 message");
        self.bounds.window = messages;
        self
    }

    /// Ends after this many messages; not more are received. Default: no limit.
    ///
    /// The last messages of a FIFO queue may wait for others of their groups: when one of those is released, or is handed out and kept
    /// for [`give_up_after`](DeliveryOptions::give_up_after) while nothing else changes, 15 minutes, they are released, and it ends.
    pub fn max(mut self, messages: u64) -> Self {
        self.bounds.most = messages;
        self
    }

    /// Ends when the queue was empty for this long while no message was in progress: nothing was received, and everything received
    /// before was deleted, released or set aside. Default: never.
    ///
    /// It does not wait for messages that other consumers have in flight, or that a killed process had. It waits for those of a call
    /// whose answer was lost, and for those that were released with a delay.
    ///
    /// It waits for a message that is handed out as long as anything changes, and for
    /// [`give_up_after`](DeliveryOptions::give_up_after) of the [options](Self::options), 15 minutes, after that; the ticket stays valid. So a
    /// delivery that keeps what it has not delivered comes to an end. After 5 minutes there is a [warning](crate::events::UNSETTLED).
    pub fn until_empty_for(mut self, time: Duration) -> Self {
        self.bounds.idle = Some(time);
        let seconds = Duration::from_secs(time.as_secs().max(1));
        self.request.wait = self.request.wait.min(seconds);
        self
    }

    /// How to receive: the pace in calls, concurrency, time limits. A [cancellation](DeliveryOptions::cancellation) ends the stream
    /// without an error; calls in flight are not cut off, because their messages would stay hidden: they are
    /// [released](super::ReceiveProgress::finished).
    pub fn options(mut self, options: DeliveryOptions) -> Self {
        self.options = options;
        self
    }

    /// The messages. Only those that are taken are received, and some in advance: within the [window](Self::window), ten for each
    /// call in flight.
    ///
    /// # Panics
    /// When there is no current tokio runtime.
    pub fn messages(self) -> ReceivedMessages {
        ReceivedMessages::new(self.client, self.request, self.options, self.bounds)
    }
}

debug_fields!(
    receive: Receive,
    bounds = receive.bounds,
    visibility_timeout = receive.request.visibility,
    wait = receive.request.wait,
    options = receive.options,
);
