//! Messages that are too large for SQS: their bodies are stored in S3, and pointers are sent to the queue.

mod attempt;
mod mark;
mod pointer;
mod store;
mod uploads;

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::{StreamExt, stream};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use self::store::Store;
use self::uploads::{Upload, Uploads};
use super::plain::PlainQueue;
use super::{check, message_size};
use crate::contract::Verdict;
use crate::debug::debug_fields;
use crate::invalid::InvalidEntry;
use crate::report::Undelivered;

pub(super) use attempt::send;
pub use pointer::PAYLOAD_SIZE_ATTRIBUTE;

/// How long one upload may take by default. It is less than the 30 s of an attempt, so that a slow upload does not fail the
/// whole call, and enough for 25 MB at 10 Mbit/s.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(20);

/// Bytes of an object key, from the user guide of S3, minus those of the UUID.
const MAX_PREFIX_BYTES: usize = 1_024 - 36;

/// Objects that are removed at once.
const REMOVALS: usize = 16;

/// An S3 bucket for the bodies of messages that are too large for the queue.
///
/// The body becomes an object in the bucket, and the message in the queue a pointer to it, in the format of the Amazon SQS
/// Extended Client Libraries. A receiver with any of these libraries gets the original message. The receiver needs the
/// permission `s3:GetObject`, the sender `s3:PutObject` and `s3:DeleteObject`.
///
/// ```no_run
/// # use aws_batch_delivery::Delivery;
/// # use aws_batch_delivery::targets::sqs::Offload;
/// # use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
/// # async fn example(
/// #     sqs: aws_sdk_sqs::Client, s3: aws_sdk_s3::Client, queue_url: &str, messages: Vec<SendMessageBatchRequestEntry>,
/// # ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let offload = Offload::to_s3(s3, "large-messages").key_prefix("orders/");
/// let orders = Delivery::to_sqs(sqs, queue_url).map_target(|queue| queue.oversize(offload));
/// orders.deliver(messages).await?;
/// # Ok(())
/// # }
/// ```
///
/// # What is sent
/// The pointer has the attribute [`PAYLOAD_SIZE_ATTRIBUTE`](crate::targets::sqs::PAYLOAD_SIZE_ATTRIBUTE) with the size of the
/// body, so a message may have at most nine attributes of its own. The size of the pointer, not that of the message, counts
/// for the limits of the call. Group, deduplication id and delay are those of the message. If a FIFO queue derives the
/// deduplication id from the body, the message gets the id that SQS would have derived from the original body.
///
/// The object contains the original body in UTF-8. S3 accepts every character, so an offloaded body may have
/// [characters that SQS does not accept](crate::targets::sqs::SqsQueue::encode_invalid_characters), and is never encoded.
///
/// # Failures
/// An object is uploaded once, before its message is sent for the first time and at the same time as the other uploads of the
/// call. An upload that fails is repeated in the same way as a rejected message is sent again. Meanwhile the other messages
/// of the call are sent, except those behind it in its message group. If S3 refuses an upload (no such bucket, no
/// permission), the message is handed back with the error of S3, and the delivery continues. The S3 client's own retries stay
/// on.
///
/// When a message is handed back and SQS certainly does not have it, its object is removed; a failure to do so is logged. The
/// object stays if the message may have been delivered, and if the delivery is dropped before its end, so give the bucket a
/// lifecycle rule. Both copies of a message that SQS delivers twice point to the same object.
///
/// # Default
/// - threshold: the limit of the queue for a message, by default 1,048,576 bytes
/// - key: a random UUID, without a prefix
/// - upload timeout: 20 s
#[derive(Clone)]
#[must_use]
pub struct Offload {
    store: Store,
    threshold: usize,
    uploads: Arc<Uploads>,
}

impl Offload {
    /// Offloads to this bucket.
    pub fn to_s3(client: aws_sdk_s3::Client, bucket: impl Into<String>) -> Self {
        Self {
            store: Store::new(client, bucket.into(), UPLOAD_TIMEOUT),
            threshold: usize::MAX,
            uploads: Arc::default(),
        }
    }

    /// Offloads messages with more bytes than this, as [`message_size`](crate::targets::sqs::message_size) counts them; 0
    /// offloads all. Default: the queue's limit for a message.
    pub fn threshold(mut self, bytes: usize) -> Self {
        self.threshold = bytes;
        self
    }

    /// A prefix for the keys of the objects, such as `orders/`. Default: none.
    ///
    /// # Panics
    /// If the prefix has more than 988 bytes (a key may have 1,024, and the UUID takes 36), contains anything but ASCII
    /// letters, digits and `/ . _ -`, starts with `.` or `/`, or contains `..`: the Extended Client Libraries accept no others.
    #[track_caller]
    pub fn key_prefix(mut self, prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        let length = prefix.len();
        assert!(
            length <= MAX_PREFIX_BYTES,
            "the key prefix must have at most {MAX_PREFIX_BYTES} bytes, but has {length}"
        );
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
        assert!(
            prefix.chars().all(allowed) && !prefix.starts_with(['.', '/']) && !prefix.contains(".."),
            "the key prefix must be made of ASCII letters, digits and `/._-`, not begin with `.` or `/`, and not contain \
             `..`, but is {prefix:?}"
        );
        self.store.prefix = prefix;
        self
    }

    /// How long one upload may take, retries of the S3 client included. Default: 20 s.
    ///
    /// Uploads are part of the attempt. Keep this below the [`attempt_timeout`](crate::DeliveryOptions::attempt_timeout):
    /// after an attempt that timed out it is not known whether its other messages have arrived.
    ///
    /// # Panics
    /// If it is zero.
    #[track_caller]
    pub fn upload_timeout(mut self, timeout: Duration) -> Self {
        assert!(!timeout.is_zero(), "the upload timeout must be longer than zero");
        self.store.patience = timeout;
        self
    }

    /// Whether the body of the message goes to S3 instead of this queue.
    fn takes(&self, queue: &PlainQueue, message: &SendMessageBatchRequestEntry) -> bool {
        let limit = self.threshold.min(queue.message_bytes());
        // Encoding makes the message larger.
        message_size(message) > limit || message_size(&queue.encoded(message)) > limit
    }

    /// Checks a message that is offloaded, and returns the size of its pointer; `None` if it is not offloaded.
    pub(in crate::services::sqs) fn check(
        &self,
        queue: &PlainQueue,
        message: &SendMessageBatchRequestEntry,
    ) -> Option<Result<usize, InvalidEntry>> {
        self.takes(queue, message).then(|| {
            pointer::check_room(message)?;
            // All keys have the same length.
            let pointer = pointer::to(&self.store.bucket, &self.store.key(Uuid::nil()), message);
            check::check(&pointer, queue.fifo, queue.message_bytes()).map_err(without_the_body)
        })
    }

    /// Marks an entry with the key of its object if it is offloaded.
    pub(in crate::services::sqs) fn complete(&self, queue: &PlainQueue, entry: &mut SendMessageBatchRequestEntry) {
        let key = self.takes(queue, entry).then(Uuid::new_v4);
        if key.is_some() && queue.fifo && queue.described.is_by_content() == Some(true) {
            let body = &entry.message_body;
            entry
                .message_deduplication_id
                .get_or_insert_with(|| hexadecimal(&Sha256::digest(body)));
        }
        mark::put(&mut entry.id, key);
    }

    /// Uploads the body of an offloaded entry, unless it is in the bucket already.
    async fn upload(&self, entry: &SendMessageBatchRequestEntry) -> Result<(), Verdict> {
        let Some(key) = mark::key(&entry.id) else {
            return Ok(());
        };
        let before = self.uploads.begin(key);
        if before == Some(Upload::Done) {
            return Ok(());
        }
        let put = self.store.put(key, entry.message_body()).await;
        match &put {
            Ok(()) => self.uploads.done(key),
            // The object is not in the bucket and need not be removed, unless an earlier upload may have arrived.
            Err(Verdict::Refused(_)) if before.is_none() => _ = self.uploads.forget(key),
            Err(_) => {}
        }
        put
    }

    /// The message that is sent: a pointer if the entry is offloaded.
    fn as_sent<'a>(
        &self,
        queue: &PlainQueue,
        entry: &'a SendMessageBatchRequestEntry,
    ) -> Cow<'a, SendMessageBatchRequestEntry> {
        match mark::key(&entry.id) {
            Some(key) => Cow::Owned(pointer::to(&self.store.bucket, &self.store.key(key), entry)),
            None => queue.encoded(entry),
        }
    }

    /// Restores the id of an entry that SQS has.
    pub(in crate::services::sqs) fn restore(entry: &mut SendMessageBatchRequestEntry) {
        mark::take(&mut entry.id);
    }

    /// Restores the ids of the entries, and removes the objects of those that SQS does not have.
    pub(in crate::services::sqs) async fn clean_up(
        &self,
        undelivered: &mut [Undelivered<SendMessageBatchRequestEntry>],
    ) {
        let mut orphans = Vec::new();
        for Undelivered {
            entry,
            may_have_been_delivered,
            ..
        } in undelivered
        {
            let Some(key) = mark::take(&mut entry.id) else {
                continue;
            };
            if self.uploads.forget(key) && !*may_have_been_delivered {
                orphans.push(key);
            }
        }
        let removals = stream::iter(orphans).map(|key| self.store.remove(key));
        removals.buffer_unordered(REMOVALS).collect::<()>().await;
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The same error with another name: the message is too large even without its body.
fn without_the_body(invalid: InvalidEntry) -> InvalidEntry {
    match invalid {
        InvalidEntry::TooLarge { limit, actual, .. } => InvalidEntry::TooLarge {
            part: "message without its offloaded body",
            limit,
            actual,
        },
        other => other,
    }
}

debug_fields!(
    offload: Offload,
    bucket = offload.store.bucket,
    prefix = offload.store.prefix,
    threshold = offload.threshold,
);

#[cfg(test)]
mod tests {
    use aws_batch_simulator::{InjectedFault, QueueOptions, Simulator};

    use super::*;
    use crate::delivery::Delivery;
    use crate::options::DeliveryOptions;
    use crate::services::sqs::testing::message;

    #[tokio::test(start_paused = true)]
    async fn an_upload_is_forgotten_when_the_fate_of_its_message_is_known() {
        let simulator = Simulator::new(1);
        let queue = simulator.queue("orders", QueueOptions::default());
        simulator.bucket("large");
        let offload = Offload::to_s3(simulator.s3_client(), "large").threshold(0);
        let uploads = Arc::clone(&offload.uploads);
        let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url())
            .map_target(|queue| queue.oversize(offload))
            .options(DeliveryOptions::default().retries(0));
        queue.script([
            InjectedFault::failed(3, "InvalidMessageContents", true),
            InjectedFault::Dropped { applied: true },
            InjectedFault::Throttle,
        ]);
        let entries = (0..100).map(|_| message("body").build().unwrap());
        let error = delivery.deliver(entries).await.unwrap_err();
        assert!(error.undelivered().len() > 3 && error.report.delivered > 0, "{error}");
        assert_eq!(uploads.len(), 0);
    }

    #[test]
    fn debug_shows_no_credentials() {
        let offload = Offload::to_s3(Simulator::new(1).s3_client(), "large");
        assert!(!format!("{offload:?}").contains("Credentials"));
    }
}
