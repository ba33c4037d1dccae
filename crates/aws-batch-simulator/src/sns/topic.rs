//! A topic.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use super::options::TopicOptions;
use crate::bucket::Capacity;
use crate::intake::{Arrival, Intake, Kept, Shard, handles};
use crate::{ACCOUNT, REGION};

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

impl fmt::Debug for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notification")
            .field("sequence", &self.sequence)
            .field("published_at", &self.published_at)
            .finish_non_exhaustive()
    }
}

impl Kept for Notification {
    fn of(arrival: &Arrival, number: u64, at: Instant) -> Self {
        let text = |member: &str| arrival.entry[member].as_str().map(str::to_owned);
        let attributes = &arrival.entry["MessageAttributes"];
        Self {
            sequence: number,
            published_at: at,
            message: text("Message").unwrap_or_default(),
            subject: text("Subject"),
            attributes: attributes.is_object().then(|| attributes.clone()),
            group: text("MessageGroupId"),
            deduplication_id: arrival.deduplication_id.clone(),
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

handles!(Topic, "messages", "are published");

impl Topic {
    /// The ARN.
    pub fn arn(&self) -> String {
        format!("arn:aws:sns:{REGION}:{ACCOUNT}:{}", self.inner.name)
    }

    /// Changes the capacity, in messages per second. The level of the bucket stays, up to the new burst.
    pub fn set_capacity(&self, messages: impl Into<Capacity>) {
        let messages = messages.into();
        for shard in &mut self.inner.intake.state().shards {
            shard.set_capacity(messages);
        }
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
                intake: Intake::new(vec![shard], options.is_forgetful, seed),
                options,
            }),
        }
    }

    pub(super) fn is_fifo(&self) -> bool {
        // A suffix of the name, always in lower case; not a file extension.
        self.inner.name.strip_suffix(".fifo").is_some()
    }

    pub(super) fn options(&self) -> &TopicOptions {
        &self.inner.options
    }

    pub(super) fn intake(&self) -> &Intake<Notification> {
        &self.inner.intake
    }
}
