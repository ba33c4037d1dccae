//! The attributes of a queue or topic, and the ids of its messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tracing::{debug, warn};

use crate::contract::{Advice, Fault, Identity, Lookup, LookupError};
use crate::events::LOOKUP;
use crate::invalid::InvalidEntry;

/// The name of the attribute that says whether ids are derived from the bodies, at a queue and at a topic.
pub(super) const BY_CONTENT: &str = "ContentBasedDeduplication";

/// The name of the attribute with the largest size of a message, at a queue and at a topic.
pub(super) const LARGEST_MESSAGE: &str = "MaximumMessageSize";

/// The attributes of a queue or topic.
#[derive(Debug)]
pub(super) struct Attributes {
    by_content: bool,
    largest_message: Option<usize>,
}

impl Attributes {
    /// Reads them from the answer of the service.
    pub(super) fn read<'a>(value: impl Fn(&str) -> Option<&'a String>) -> Self {
        let largest = value(LARGEST_MESSAGE).and_then(|bytes| bytes.parse().ok());
        Self {
            by_content: value(BY_CONTENT).is_some_and(|value| value == "true"),
            largest_message: largest.filter(|bytes| *bytes > 0),
        }
    }
}

/// What is known of a queue or topic.
///
/// If it is FIFO and does not derive deduplication ids from the bodies, each message that has no id gets one. The id is drawn
/// once for a message and kept, so that the service recognizes a message that is sent again after a lost answer, while two
/// messages with the same content remain two.
#[derive(Clone)]
pub(super) struct DestinationLookup {
    attributes: Lookup<Attributes>,
    is_fifo: bool,
    /// What the caller has set.
    by_content: Option<bool>,
    /// Whether the caller has set the limits.
    has_limits: bool,
    /// Distinguishes the messages of this target from those of any other process.
    prefix: u128,
    next: Arc<AtomicU64>,
}

impl DestinationLookup {
    /// Nothing is known yet; this operation asks.
    pub(super) fn by(operation: &'static str, is_fifo: bool) -> Self {
        Self {
            attributes: Lookup::by(operation),
            is_fifo,
            by_content: None,
            has_limits: false,
            prefix: rand::random(),
            next: Arc::default(),
        }
    }

    /// The caller says whether the service derives the ids from the bodies.
    pub(super) fn set_by_content(&mut self, by_content: bool) {
        self.by_content = Some(by_content);
    }

    /// The caller has set the limits.
    pub(super) fn set_limits(&mut self) {
        self.has_limits = true;
    }

    /// Asks the service by this call, unless everything is known. `permission` is what the call needs.
    ///
    /// A FIFO queue or topic is asked until it answers, because without an id a message may be refused. The size of a message
    /// can be done without: the service itself refuses what is too large.
    pub(super) async fn ask<F>(&self, call: impl Fn() -> F, destination: &str, permission: &'static str)
    where
        F: Future<Output = Result<Attributes, LookupError>>,
    {
        if !self.needs_ids() {
            if !self.has_limits
                && let Err(fault) = self.attributes.ask_once(call).await
            {
                debug!(target: LOOKUP, destination, code = fault.code(), "the size of a message is not known");
            }
            return;
        }
        let Err(fault) = self.attributes.ask(call).await else {
            return;
        };
        let advice = match LookupError::advice(&fault) {
            Advice::Permit => format!("allow {permission}, or set `content_based_deduplication`"),
            Advice::DoWithout => "set `content_based_deduplication`".to_owned(),
            Advice::Wait => "it is asked again later; set `content_based_deduplication` to avoid the call".to_owned(),
        };
        warn!(
            target: LOOKUP,
            destination,
            code = fault.code(),
            advice,
            "it is not known whether messages are deduplicated by content: those without an id may be refused"
        );
    }

    /// Whether the service must be asked if it derives the ids.
    fn needs_ids(&self) -> bool {
        self.is_fifo && self.by_content.is_none()
    }

    /// Why the service has not answered the lookup yet.
    pub(super) fn missing(&self) -> Option<Fault> {
        self.attributes.missing()
    }

    /// Why messages without an id must not be sent now: it is not known whether they need one, and the service is asked
    /// again.
    pub(super) fn forbids_without_id(&self) -> Option<Fault> {
        let is_unknown = self.needs_ids() && self.attributes.get().is_none() && !self.attributes.is_denied();
        self.attributes.last_fault().filter(|_| is_unknown)
    }

    /// The service has refused a message, or a message was refused for an attribute that the service has reported: that may have changed.
    pub(super) fn seems_outdated(&self) {
        self.attributes.seems_outdated();
    }

    /// The largest size of a message in bytes, if the service has reported it and the caller has set no limits.
    pub(super) fn largest_message(&self) -> Option<usize> {
        self.attributes.get().filter(|_| !self.has_limits)?.largest_message
    }

    /// Whether the service derives the ids from the bodies, if that is known.
    pub(super) fn is_by_content(&self) -> Option<bool> {
        let described = || self.attributes.get().map(|attributes| attributes.by_content);
        self.by_content.or_else(described)
    }

    /// Gives a message an id if it needs one.
    pub(super) fn complete(&self, id: &mut Option<String>) {
        if id.is_none() && self.lets_sender_give_ids() {
            let number = self.next.fetch_add(1, Relaxed);
            *id = Some(format!("{:032x}-{number}", self.prefix));
        }
    }

    /// Gives a message of a spool its id if it needs one.
    pub(super) fn identify(&self, id: &mut Option<String>, identity: &Identity) {
        if id.is_none() && self.lets_sender_give_ids() {
            *id = Some(identity.to_string());
        }
    }

    fn lets_sender_give_ids(&self) -> bool {
        self.is_fifo && self.is_by_content() == Some(false)
    }
}

/// The suffix of the name of every FIFO queue and topic, and of no other. From the API references of `CreateQueue` and
/// `CreateTopic`.
pub(super) const FIFO_SUFFIX: &str = ".fifo";

/// Characters of a group id or a deduplication id.
const MAX_ID_LENGTH: usize = 128;

/// Checks the ids of a message.
pub(super) fn check_ids(group: Option<&str>, deduplication: Option<&str>, fifo: bool) -> Result<(), InvalidEntry> {
    if fifo && group.is_none_or(str::is_empty) {
        return Err(InvalidEntry::Missing {
            part: "message group id",
        });
    }
    // Standard queues accept group ids too, for fair queues.
    group.map_or(Ok(()), |group| check_id("message group id", group))?;

    // A FIFO queue may derive the deduplication id from the body; only the queue knows whether it does.
    let Some(deduplication) = deduplication else {
        return Ok(());
    };
    if !fifo {
        // SQS answers `InvalidParameterValue`: not valid for this queue type.
        return Err(InvalidEntry::malformed(
            "message deduplication id",
            "absent unless the queue or topic is FIFO",
        ));
    }
    check_id("message deduplication id", deduplication)
}

fn check_id(part: &'static str, id: &str) -> Result<(), InvalidEntry> {
    // The graphic characters of ASCII are letters, digits and punctuation.
    if (1..=MAX_ID_LENGTH).contains(&id.len()) && id.bytes().all(|letter| letter.is_ascii_graphic()) {
        return Ok(());
    }
    Err(InvalidEntry::malformed(
        part,
        "1 to 128 letters, digits and punctuation characters of ASCII",
    ))
}
