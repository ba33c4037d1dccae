//! A topic.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use crate::capacity::Capacity;
use crate::handles::{capacity_option, counts_only_option, debug_fields, deduplication_option, intake_handle};
use crate::intake::{Entry, Intake, KeptEntry, Shard};
use crate::message::is_fifo;
use crate::registry::{ACCOUNT, REGION, Registry};
use crate::wire::Refusal;

/// Bytes of a call, and of a message, at most, unless the topic accepts more: 256 KiB.
const LARGEST_MESSAGE: usize = 262_144;

/// The options of a topic of SNS.
///
/// # Default
/// - capacity: unlimited
/// - largest message, and largest call: 262,144 bytes
/// - content-based deduplication: off
/// - messages are kept
#[derive(Debug, Clone)]
#[must_use]
pub struct TopicOptions {
    capacity: Capacity,
    pub(super) largest_message: usize,
    pub(super) deduplicates_by_content: bool,
    counts_only: bool,
}

impl Default for TopicOptions {
    fn default() -> Self {
        Self {
            capacity: Capacity::unlimited(),
            largest_message: LARGEST_MESSAGE,
            deduplicates_by_content: false,
            counts_only: false,
        }
    }
}

impl TopicOptions {
    capacity_option!("messages");
    counts_only_option!("messages");
    deduplication_option!("topic", "message");

    /// Bytes of one message at most, and of all messages of a call.
    pub fn maximum_message_size(mut self, bytes: usize) -> Self {
        self.largest_message = bytes;
        self
    }
}

/// A message that a topic has accepted.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Notification {
    /// The number of the message, in the order of acceptance.
    pub sequence: u64,
    /// When the topic accepted it.
    pub published_at: Instant,
    /// The message.
    pub message: String,
    /// The subject.
    pub subject: Option<String>,
    /// The attributes as the JSON of the request, by name.
    pub attributes: Option<Value>,
    /// The message group.
    pub group: Option<String>,
    /// The deduplication id, which the topic may have derived from the content.
    pub deduplication_id: Option<String>,
}

debug_fields!(Notification, sequence, published_at);

impl KeptEntry for Notification {
    fn of(entry: &Entry, number: u64, at: Instant) -> Self {
        let text = |member: &str| entry.json[member].as_str().map(str::to_owned);
        let attributes = &entry.json["MessageAttributes"];
        Self {
            sequence: number,
            published_at: at,
            message: text("Message").unwrap_or_default(),
            subject: text("Subject"),
            attributes: attributes.is_object().then(|| attributes.clone()),
            group: text("MessageGroupId"),
            deduplication_id: entry.deduplication_id.clone(),
        }
    }
}

/// An SNS topic of the simulator, which keeps its messages. Clones are handles to the same topic.
#[derive(Clone)]
pub struct Topic {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    options: TopicOptions,
    intake: Intake<Notification>,
}

intake_handle!(Topic, "messages", "are published");

impl Topic {
    /// The ARN.
    pub fn arn(&self) -> String {
        format!("arn:aws:sns:{REGION}:{ACCOUNT}:{}", self.inner.name)
    }

    /// Changes the capacity, in messages per second. The level of the bucket stays, up to the new burst.
    pub fn set_capacity(&self, messages: impl Into<Capacity>) {
        self.inner.intake.set_capacity(messages.into());
    }

    /// Messages for which the predicate is true fail with `InvalidParameter`.
    ///
    /// The message is the JSON of the request: `topic.poison(|message| message["Message"] == "7")`.
    pub fn poison(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.inner.intake.poison.set(predicate);
    }

    /// All messages, in the order of acceptance.
    pub fn messages(&self) -> Vec<Notification> {
        self.inner.intake.state().kept.clone()
    }
}

impl Topic {
    pub(crate) fn new(name: &str, options: TopicOptions, seed: u64) -> Self {
        let shard = Shard::new(options.capacity, Capacity::unlimited());
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                intake: Intake::new(vec![shard], options.counts_only, seed),
                options,
            }),
        }
    }

    pub(super) fn is_fifo(&self) -> bool {
        is_fifo(&self.inner.name)
    }

    pub(super) fn options(&self) -> &TopicOptions {
        &self.inner.options
    }

    pub(super) fn intake(&self) -> &Intake<Notification> {
        &self.inner.intake
    }
}

/// The topics of a simulator.
pub(crate) type Topics = Registry<Topic>;

impl Topics {
    /// The topic that a request names by its ARN.
    pub(super) fn of_request(&self, body: &Value) -> Result<Topic, Refusal> {
        let arn = body["TopicArn"].as_str().unwrap_or_default();
        let elements: Vec<&str> = arn.split(':').collect();
        let [_, _, _, region, _, name, ..] = elements.as_slice() else {
            return Err(Refusal::new(
                "InvalidParameter",
                format!(
                    "Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not {}",
                    elements.len()
                ),
            ));
        };
        if *region != REGION {
            return Err(Refusal::new("InvalidParameter", "Invalid parameter: TopicArn"));
        }
        self.find(name)
            .ok_or_else(|| Refusal::new("NotFound", "Topic does not exist").status(404))
    }
}
