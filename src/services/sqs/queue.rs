//! Messages to one queue.

use std::borrow::Cow;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

#[cfg(feature = "s3-offload")]
use super::message_size;
#[cfg(feature = "s3-offload")]
use super::offload::{self, Offload};
use super::plain::PlainQueue;
use super::short_name;
use crate::contract::{Answer, BatchTarget, Fault, Identity, Lane, Limits, hash_of};
use crate::invalid::InvalidEntry;
#[cfg(feature = "s3-offload")]
use crate::report::Undelivered;
use crate::services::debug::debug_by_name;

/// Messages in a call. From the API reference of `SendMessageBatch`.
pub const MAX_MESSAGES: usize = 10;

/// Bytes of the messages of a call together, as [`message_size`](super::message_size) counts them: 1 MiB. From the API
/// reference of `SendMessageBatch`; it was 256 KiB until August 2025.
pub const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// Bytes of one message, as [`message_size`](super::message_size) counts them: 1 MiB. From the API reference of
/// `SendMessage`; a queue may have a lower `MaximumMessageSize`.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// An SQS queue to send to.
///
/// It is treated as a FIFO queue if its URL ends in `.fifo`: AWS requires this suffix for FIFO queues and forbids it for
/// others.
///
/// Messages of one group of a FIFO queue arrive in the order of the input. Only one call at a time carries messages of a
/// group, and when one of them fails, those after it wait. A call carries several messages of a group only if there are too
/// few groups to fill it, and only while SQS accepts whole calls. After SQS has failed a single message, each call carries one
/// message of a group for a while. Only the calls in flight at that moment may have had a message that failed and a later one
/// that was accepted; [`strict_order`](Self::strict_order) rules that out too. With it, a group that is throttled far
/// more often than the others gets a pace of its own and does not slow the others down.
///
/// The ids of the entries are the caller's: they may repeat, be empty or too long, because each call uses ids of its own.
///
/// The SDK's retries are off for these calls, because the delivery retries; the rest of the client's configuration applies,
/// such as its endpoint, credentials and timeouts. In a call without retries the SDK waits 6.2 s for a credentials
/// provider; for a slower one, set the `load_timeout` of the client's identity cache.
///
/// A call sends copies of its messages, because a message that fails is sent again.
#[derive(Clone)]
#[must_use]
pub struct SqsQueue {
    queue: PlainQueue,
    strict_order: bool,
    #[cfg(feature = "s3-offload")]
    offload: Option<Offload>,
}

impl SqsQueue {
    /// The queue with this URL.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_MESSAGES`], 10 |
    /// | bytes of a call | [`MAX_BATCH_BYTES`], 1,048,576 |
    /// | bytes of a message | [`MAX_MESSAGE_BYTES`], 1,048,576 |
    pub fn new(client: Client, queue_url: impl Into<String>) -> Self {
        let limits = Limits::new(MAX_MESSAGES, MAX_BATCH_BYTES).with_entry_bytes(MAX_MESSAGE_BYTES);
        Self {
            queue: PlainQueue::new(client, queue_url.into(), limits),
            strict_order: false,
            #[cfg(feature = "s3-offload")]
            offload: None,
        }
    }

    /// Whether the FIFO queue derives deduplication ids from the bodies, so that it is not asked.
    ///
    /// If it does not, a message without an id gets one and keeps it, even when it is handed back. A message that the delivery
    /// or the caller sends again within the five minutes for which SQS remembers an id is therefore in the queue once.
    /// `GetQueueAttributes` asks the queue, for all clones and before the first message, until it answers; what that takes
    /// counts against [`give_up_after`](crate::DeliveryOptions::give_up_after). If the call is not permitted, messages are sent
    /// as they are: a queue that requires ids then refuses every call with a message that has none, and the delivery stops
    /// when the first 1,000 messages were all refused.
    pub fn content_based_deduplication(mut self, by_content: bool) -> Self {
        self.queue.described.set_by_content(by_content);
        self
    }

    /// At most one message of a group of a FIFO queue in a call, so that no message can pass a failed one. Has no effect on
    /// other queues.
    ///
    /// Calls are smaller if there are fewer groups than a call has room for; a single group sends one message for each round
    /// trip.
    pub fn strict_order(mut self) -> Self {
        self.strict_order = true;
        self
    }

    /// Sends a body with characters that SQS does not accept (control characters, U+FFFE, U+FFFF) as base64. Default: the
    /// message is handed back as [invalid](crate::Cause::Invalid).
    ///
    /// An encoded message has the attribute [`ENCODING_ATTRIBUTE`](crate::targets::sqs::ENCODING_ATTRIBUTE) with the value
    /// [`ENCODING`](crate::targets::sqs::ENCODING), by which its reader recognizes it. All other messages are sent as they
    /// are. Attributes are not encoded.
    pub fn encode_invalid_characters(mut self) -> Self {
        self.queue.encodes = true;
        self
    }

    /// Offloads the bodies of messages that are too large to S3. Default: such messages are handed back as
    /// [invalid](crate::Cause::Invalid).
    #[cfg(feature = "s3-offload")]
    pub fn oversize(mut self, offload: Offload) -> Self {
        self.offload = Some(offload);
        self
    }

    /// Other limits, for endpoints with lower or higher ones. The queue is not asked for its `MaximumMessageSize` then.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.queue.limits = limits;
        self.queue.described.set_limits();
        self
    }
}

impl BatchTarget for SqsQueue {
    type Entry = SendMessageBatchRequestEntry;

    fn name(&self) -> Cow<'_, str> {
        format!("sqs/{}", short_name(&self.queue.url)).into()
    }

    fn limits(&self) -> Limits {
        self.queue.limits.with_entry_bytes(self.queue.message_bytes())
    }

    async fn prepare(&self) {
        self.queue.prepare(&self.name()).await;
    }

    fn preparation_fault(&self) -> Option<Fault> {
        self.queue.described.missing()
    }

    fn check(&self, entry: &SendMessageBatchRequestEntry) -> Result<usize, InvalidEntry> {
        #[cfg(feature = "s3-offload")]
        if let Some(checked) = self
            .offload
            .as_ref()
            .and_then(|offload| offload.check(&self.queue, entry))
        {
            return checked;
        }
        self.queue.check(entry)
    }

    fn identify(&self, entry: &mut SendMessageBatchRequestEntry, identity: &Identity) {
        self.queue
            .described
            .identify(&mut entry.message_deduplication_id, identity);
    }

    fn complete(&self, entry: &mut SendMessageBatchRequestEntry) {
        self.queue.complete(entry);
        #[cfg(feature = "s3-offload")]
        if let Some(offload) = &self.offload {
            offload.complete(&self.queue, entry);
        }
    }

    #[cfg(feature = "s3-offload")]
    fn restore(&self, entry: &mut SendMessageBatchRequestEntry) {
        if self.offload.is_some() {
            Offload::restore(entry);
        }
    }

    /// The body of an offloaded message stays in the entry, in case it is handed back.
    #[cfg(feature = "s3-offload")]
    fn weight(&self, entry: &SendMessageBatchRequestEntry, bytes: usize) -> usize {
        message_size(entry).max(bytes)
    }

    fn lane(&self, entry: &SendMessageBatchRequestEntry) -> Option<Lane> {
        let group = entry.message_group_id().filter(|_| self.queue.fifo)?;
        Some(if self.strict_order {
            Lane::exclusive(group)
        } else {
            Lane::ordered(group)
        })
    }

    /// SQS distributes the messages of a FIFO queue over its partitions by a hash of the group.
    fn partition_key(&self, entry: &SendMessageBatchRequestEntry) -> Option<u64> {
        let group = entry.message_group_id().filter(|_| self.queue.fifo)?;
        Some(hash_of(&(&self.queue.url, group)))
    }

    async fn send(&self, chunk: &[SendMessageBatchRequestEntry]) -> Answer {
        #[cfg(feature = "s3-offload")]
        if let Some(offload) = &self.offload {
            return offload::send(offload, &self.queue, chunk).await;
        }
        let messages = chunk.iter().map(|entry| self.queue.encoded(entry));
        self.queue.call(messages).await
    }

    #[cfg(feature = "s3-offload")]
    async fn clean_up(&self, undelivered: &mut [Undelivered<SendMessageBatchRequestEntry>]) {
        if let Some(offload) = &self.offload {
            offload.clean_up(undelivered).await;
        }
    }
}

debug_by_name!(SqsQueue);

#[cfg(test)]
mod tests {
    use super::super::testing::{client, message};
    use super::*;
    use crate::aws::recording::Recorder;
    use crate::contract::{Rejection, Verdict};

    const URL: &str = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders";

    fn queue(recorder: &Recorder) -> SqsQueue {
        SqsQueue::new(client(recorder), URL)
    }

    fn entry(body: &str) -> SendMessageBatchRequestEntry {
        message(body).build().unwrap()
    }

    #[test]
    fn the_log_names_the_queue_without_its_account() {
        let recorder = Recorder::answering(200, "{}");
        for url in [
            "https://sqs.eu-central-1.amazonaws.com/123456789012/orders.fifo",
            "http://127.0.0.1:4566/queue/us-east-1/000000000000/orders.fifo/",
        ] {
            assert_eq!(SqsQueue::new(client(&recorder), url).name(), "sqs/orders.fifo");
        }
    }

    #[tokio::test]
    async fn the_callers_ids_never_reach_the_wire() {
        let recorder = Recorder::answering(
            200,
            r#"{"Successful":[{"Id":"1","MessageId":"m","MD5OfMessageBody":"d"}],
                "Failed":[{"Id":"0","Code":"RequestThrottled","SenderFault":true,"Message":"slow"}]}"#,
        );
        let chunk = [
            message("a").id("my own ").build().unwrap(),
            message("b").id("my own ").build().unwrap(),
            message("c").id("").build().unwrap(),
        ];
        let Answer::Each(verdicts) = queue(&recorder).send(&chunk).await else {
            panic!("each message has its verdict");
        };
        assert!(matches!(
            &verdicts[..],
            [
                Verdict::Rejected(Rejection::Throttled, _),
                Verdict::Acknowledged(_),
                Verdict::Rejected(Rejection::Unanswered, _)
            ]
        ));
        let body = recorder.only_request().body;
        assert!(!body.contains("my own"), "{body}");
        for id in ["0", "1", "2"] {
            assert!(body.contains(&format!(r#""Id":"{id}""#)), "{body}");
        }
    }

    #[tokio::test]
    async fn an_empty_answer_leaves_its_messages_unanswered() {
        let recorder = Recorder::answering(200, "{}");
        let answer = queue(&recorder).send(&[entry("a"), entry("b")]).await;
        let Answer::Each(verdicts) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(verdicts.len(), 2);
        for verdict in verdicts {
            assert!(matches!(verdict, Verdict::Rejected(Rejection::Unanswered, fault) if fault.is_ambiguous()));
        }
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_read_may_have_been_applied() {
        let recorder = Recorder::answering(200, "<html>");
        let answer = queue(&recorder).send(&[entry("a")]).await;
        assert!(
            matches!(&answer, Answer::Whole(Verdict::Rejected(Rejection::Transient, fault)) if fault.is_ambiguous()),
            "{answer:?}"
        );
    }

    #[tokio::test]
    async fn a_missing_queue_stops_the_delivery() {
        let recorder = Recorder::answering(
            400,
            r#"{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no such queue"}"#,
        );
        let answer = queue(&recorder).send(&[entry("a")]).await;
        assert!(
            matches!(&answer, Answer::Stop(fault) if fault.code() == "QueueDoesNotExist"),
            "{answer:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_throttled_call_is_made_once() {
        let recorder = Recorder::answering(
            400,
            r#"{"__type":"com.amazonaws.sqs#RequestThrottled","message":"slow"}"#,
        );
        let answer = queue(&recorder).send(&[entry("a")]).await;
        assert!(
            matches!(&answer, Answer::Whole(Verdict::Rejected(Rejection::Throttled, fault)) if !fault.is_ambiguous()),
            "{answer:?}"
        );
        recorder.only_request();
    }

    #[tokio::test]
    async fn the_user_agent_names_the_crate() {
        let recorder = Recorder::answering(200, "{}");
        queue(&recorder).send(&[entry("a")]).await;
        let agent = recorder.only_request().user_agent;
        let expected = concat!("lib/aws-batch-delivery/", env!("CARGO_PKG_VERSION"));
        assert!(agent.contains(expected), "{agent}");
    }

    #[test]
    fn a_queue_is_fifo_by_its_name_also_if_its_url_ends_in_a_slash() {
        let recorder = Recorder::answering(200, "{}");
        assert_eq!(queue(&recorder).check(&entry("abc")), Ok(3));
        for url in [format!("{URL}.fifo"), format!("{URL}.fifo/")] {
            let fifo = SqsQueue::new(client(&recorder), url);
            assert_eq!(
                fifo.check(&entry("abc")),
                Err(InvalidEntry::Missing {
                    part: "message group id"
                })
            );
        }
    }

    /// Raised while a message is refused for it, and lowered, which the queue says itself.
    #[tokio::test(start_paused = true)]
    async fn the_size_that_a_queue_takes_is_asked_for_again_when_a_message_is_refused() {
        const SMALL: (u16, &str) = (200, r#"{"Attributes":{"MaximumMessageSize":"1024"}}"#);
        const LARGE: (u16, &str) = (200, r#"{"Attributes":{"MaximumMessageSize":"4096"}}"#);
        const REFUSED: (u16, &str) = (400, r#"{"__type":"com.amazonaws.sqs#BatchRequestTooLong"}"#);
        let recorder = Recorder::answering_in_turn([SMALL, LARGE, REFUSED, SMALL]);
        let queue = queue(&recorder);
        let message = entry(&"x".repeat(2_000));
        queue.prepare().await;
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        assert!(queue.preparation_fault().is_none());
        assert!(queue.check(&message).is_err());
        assert!(queue.preparation_fault().is_some(), "the delivery prepares again");
        queue.prepare().await;
        assert_eq!(queue.check(&message), Ok(2_000));
        queue.send(std::slice::from_ref(&message)).await;
        assert!(queue.preparation_fault().is_none(), "a minute has not passed");
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        queue.prepare().await;
        assert!(queue.check(&message).is_err());
        assert_eq!(recorder.requests(), 4);
    }

    #[test]
    fn the_same_group_of_two_queues_has_two_partition_keys() {
        let recorder = Recorder::answering(200, "{}");
        let key = |name: &str| {
            let queue = SqsQueue::new(client(&recorder), format!("{URL}{name}.fifo"));
            let mut message = entry("a");
            message.message_group_id = Some("g".to_owned());
            queue.partition_key(&message).unwrap()
        };
        assert_eq!(key("one"), key("one"));
        assert_ne!(key("one"), key("two"));
    }

    #[test]
    fn messages_of_a_fifo_group_share_a_partition_key_and_others_have_none() {
        let recorder = Recorder::answering(200, "{}");
        let fifo = SqsQueue::new(client(&recorder), format!("{URL}.fifo"));
        let of = |body: &str, group: &str| message(body).message_group_id(group).build().unwrap();
        assert!(fifo.partition_key(&of("a", "g")).is_some());
        assert_eq!(fifo.partition_key(&of("a", "g")), fifo.partition_key(&of("b", "g")));
        assert_ne!(fifo.partition_key(&of("a", "g")), fifo.partition_key(&of("a", "h")));
        assert_eq!(fifo.partition_key(&entry("a")), None);
        assert_eq!(queue(&recorder).partition_key(&of("a", "g")), None);
    }

    #[test]
    fn a_message_has_the_limits_of_its_queue() {
        let recorder = Recorder::answering(200, "{}");
        let small =
            |bytes, entry_bytes| queue(&recorder).with_limits(Limits::new(10, bytes).with_entry_bytes(entry_bytes));
        assert_eq!(small(4, 4).check(&entry("abcd")), Ok(4));
        assert!(small(4, 3).check(&entry("abcd")).is_err());
        assert!(small(3, 4).check(&entry("abcd")).is_err());
    }
}
