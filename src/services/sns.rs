//! SNS: messages to one topic by `PublishBatch`.

use std::borrow::Cow;

use aws_sdk_sns::Client;
use aws_sdk_sns::config::Builder;
use aws_sdk_sns::types::{BatchResultErrorEntry, PublishBatchRequestEntry, PublishBatchResultEntry};

use super::checks::{check_characters, check_length, check_size};
use super::debug::debug_by_name;
use super::described::{Attributes, DestinationLookup, FIFO_SUFFIX, check_ids};
use crate::aws::correlate::{by_id, wire_id};
use crate::aws::renewal::Changes;
use crate::aws::request::{messaging_span, send, single_attempt};
use crate::aws::{classify, classify_entry};
use crate::contract::{
    Acknowledgement, Answer, BatchTarget, Fault, Identity, Lane, Limits, LookupError, Verdict, hash_of,
};
use crate::invalid::InvalidEntry;

/// Messages in a call. From the API reference of `PublishBatch`.
pub const MAX_MESSAGES: usize = 10;

/// Bytes of the messages of a call together, as [`message_size`] counts them, and of a single one: 256 KiB. From the API
/// reference of `PublishBatch`; the `MaximumMessageSize` of a topic may be from 1 KiB to 1 MiB.
pub const MAX_BATCH_BYTES: usize = 256 * 1024;

/// An SNS topic to publish to.
///
/// It is treated as a FIFO topic if its ARN ends in `.fifo`. Messages of one group of a FIFO topic arrive in the order of
/// the input, in the same way as with a FIFO queue of SQS: only one call at a time carries messages of a group, and when
/// one of them fails, those after it wait. [`strict_order`](Self::strict_order) also keeps messages of one group out of the
/// same call.
///
/// The ids of the entries are the caller's: they may repeat, be empty or too long, because each call uses ids of its own.
///
/// The SDK's retries are off for these calls, because the delivery retries; the rest of the client's configuration applies.
#[derive(Clone)]
#[must_use]
pub struct SnsTopic {
    client: Client,
    changes: Changes<Builder>,
    arn: String,
    is_fifo: bool,
    limits: Limits,
    strict_order: bool,
    described: DestinationLookup,
}

impl SnsTopic {
    /// The topic with this ARN.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_MESSAGES`], 10 |
    /// | bytes of a call, and of a message | [`MAX_BATCH_BYTES`], 262,144 |
    pub fn new(client: Client, topic_arn: impl Into<String>) -> Self {
        let arn = topic_arn.into();
        let is_fifo = arn.ends_with(FIFO_SUFFIX);
        Self {
            changes: single_attempt!(aws_sdk_sns, client),
            client,
            is_fifo,
            arn,
            limits: Limits::new(MAX_MESSAGES, MAX_BATCH_BYTES),
            strict_order: false,
            described: DestinationLookup::by("GetTopicAttributes", is_fifo),
        }
    }

    /// Whether the FIFO topic derives deduplication ids from the messages, so that it is not asked.
    ///
    /// If it does not, a message without an id gets one and keeps it, so a message that is sent again within the five minutes
    /// for which SNS remembers an id is published once. `GetTopicAttributes` asks the topic, for all clones and before the
    /// first message, until it answers; what that takes counts against
    /// [`give_up_after`](crate::DeliveryOptions::give_up_after). If the call is not permitted, messages are sent as they are.
    pub fn content_based_deduplication(mut self, by_content: bool) -> Self {
        self.described.set_by_content(by_content);
        self
    }

    /// At most one message of a group of a FIFO topic in a call, so that no message can pass a failed one. Has no effect on
    /// other topics.
    pub fn strict_order(mut self) -> Self {
        self.strict_order = true;
        self
    }

    /// Other limits, for endpoints with lower or higher ones. The topic is not asked for its `MaximumMessageSize` then.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self.described.set_limits();
        self
    }

    /// The topic without the first part of its ARN, which has the account id.
    fn short_name(&self) -> &str {
        self.arn.rsplit(':').next().unwrap_or_default()
    }

    fn group<'a>(&self, message: &'a PublishBatchRequestEntry) -> Option<&'a str> {
        message.message_group_id().filter(|_| self.is_fifo)
    }

    /// The region that the ARN names, if it is an ARN: `arn:aws:sns:eu-central-1:123456789012:orders`.
    fn region(&self) -> Option<&str> {
        self.arn.strip_prefix("arn:")?.split(':').nth(2)
    }

    /// The meaning of a failed call. If the ARN cannot be that of a topic of the client's region, no message is at fault.
    fn of_topic(&self, answer: Answer) -> Answer {
        let Answer::Whole(Verdict::Refused(fault)) = answer else {
            return answer;
        };
        let of_client = self.client.config().region().map(AsRef::as_ref);
        if fault.code() == INVALID_PARAMETER && self.region() != of_client {
            return Answer::Stop(fault.explained("the ARN is not that of a topic in the region of the client"));
        }
        Answer::Whole(Verdict::Refused(fault))
    }

    async fn attributes(&self) -> Result<Attributes, LookupError> {
        let call = self.client.get_topic_attributes().topic_arn(&self.arn).customize();
        let output = call
            .config_override(self.changes.clone())
            .send()
            .await
            .map_err(classify)?;
        let attributes = output.attributes();
        Ok(Attributes::read(|name| attributes?.get(name)))
    }
}

impl BatchTarget for SnsTopic {
    type Entry = PublishBatchRequestEntry;

    fn name(&self) -> Cow<'_, str> {
        format!("sns/{}", self.short_name()).into()
    }

    fn limits(&self) -> Limits {
        match self.described.largest_message() {
            // It limits the messages of a call together, too.
            Some(largest) => Limits::new(self.limits.entries, largest),
            None => self.limits,
        }
    }

    async fn prepare(&self) {
        let ask = || self.attributes();
        self.described.ask(ask, &self.name(), "sns:GetTopicAttributes").await;
    }

    fn preparation_fault(&self) -> Option<Fault> {
        self.described.missing()
    }

    fn check(&self, message: &PublishBatchRequestEntry) -> Result<usize, InvalidEntry> {
        if message.message().is_empty() {
            return Err(InvalidEntry::Missing { part: "message" });
        }
        let subject = message.subject();
        subject.map_or(Ok(()), check_subject)?;
        let size = message_size(message);
        let limits = BatchTarget::limits(self);
        let limit = limits.largest_entry();
        // A message is as large as its body and attributes: SNS does not say whether the subject counts, so it decides itself.
        let actual = size - subject.map_or(0, str::len);
        check_size("message", limit, actual).inspect_err(|_| self.described.seems_outdated())?;
        let (group, deduplication) = (message.message_group_id(), message.message_deduplication_id());
        check_ids(group, deduplication, self.is_fifo)?;
        Ok(size.min(limits.bytes))
    }

    fn identify(&self, message: &mut PublishBatchRequestEntry, identity: &Identity) {
        self.described.identify(&mut message.message_deduplication_id, identity);
    }

    fn complete(&self, message: &mut PublishBatchRequestEntry) {
        self.described.complete(&mut message.message_deduplication_id);
    }

    fn lane(&self, message: &PublishBatchRequestEntry) -> Option<Lane> {
        let group = self.group(message)?;
        Some(if self.strict_order {
            Lane::exclusive(group)
        } else {
            Lane::ordered(group)
        })
    }

    fn partition_key(&self, message: &PublishBatchRequestEntry) -> Option<u64> {
        self.group(message).map(hash_of)
    }

    async fn send(&self, messages: &[PublishBatchRequestEntry]) -> Answer {
        if let Some(fault) = self.described.forbids_without_id()
            && messages
                .iter()
                .any(|message| message.message_deduplication_id.is_none())
        {
            return Answer::Stop(fault);
        }
        let sent = messages.len();
        let span = messaging_span!("SNS", "aws.sns", "PublishBatch", "send", self.short_name(), sent);
        let messages = messages.iter().cloned().enumerate().map(|(place, mut message)| {
            message.id = wire_id(place);
            message
        });
        let call = self
            .client
            .publish_batch()
            .topic_arn(&self.arn)
            .set_publish_batch_request_entries(Some(messages.collect()));
        let answer = match send!(aws_sdk_sns, call, self.changes, span) {
            Ok(output) => by_id(
                "SNS",
                sent,
                output.successful.unwrap_or_default().into_iter().map(accepted),
                output.failed.iter().flatten().map(failed),
            ),
            Err(error) => self.of_topic(classify(error)),
        };
        if answer.has_refusal() {
            self.described.seems_outdated();
        }
        answer
    }
}

/// Characters of a subject. From the API reference of `Publish`: "no line breaks or control characters, and less than 100 characters
/// long"; SNS itself decides about 100.
const MAX_SUBJECT_LENGTH: usize = 100;

/// What is wrong with the subject of one message refuses the whole call.
fn check_subject(subject: &str) -> Result<(), InvalidEntry> {
    let part = "subject";
    check_length(part, subject, MAX_SUBJECT_LENGTH, "of at most 100 characters")?;
    check_characters(part, subject, |letter| !letter.is_control())
}

/// The code by which SNS refuses a message as well as an ARN that is not that of a topic in the client's region.
const INVALID_PARAMETER: &str = "InvalidParameter";

/// Bytes of a message: the UTF-8 of its body and subject, and the name, data type and value of each attribute.
pub fn message_size(message: &PublishBatchRequestEntry) -> usize {
    let attributes = message.message_attributes().into_iter().flatten();
    let attributes = attributes.map(|(name, value)| {
        let text = value.string_value().map_or(0, str::len);
        let binary = value.binary_value().map_or(0, |binary| binary.as_ref().len());
        name.len() + value.data_type().len() + text + binary
    });
    message.message().len() + message.subject().map_or(0, str::len) + attributes.sum::<usize>()
}

fn accepted(entry: PublishBatchResultEntry) -> (String, Verdict) {
    let acknowledgement = Acknowledgement {
        message_id: entry.message_id,
        sequence_number: entry.sequence_number,
    };
    (entry.id.unwrap_or_default(), Verdict::Acknowledged(acknowledgement))
}

fn failed(entry: &BatchResultErrorEntry) -> (&str, Verdict) {
    (
        entry.id(),
        classify_entry(entry.code(), entry.sender_fault(), entry.message()),
    )
}

debug_by_name!(SnsTopic);

#[cfg(test)]
mod tests;
