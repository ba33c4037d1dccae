//! A queue without offloading: the check of a message, and one call.

use std::borrow::Cow;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry, SendMessageBatchResultEntry};

use super::calls::SqsCalls;
use super::check;
use super::{failed, is_fifo};
use crate::aws::correlate::{by_id, wire_id};
use crate::contract::{Acknowledgement, Answer, Limits, LookupError, Verdict};
use crate::invalid::InvalidEntry;
use crate::services::described::{Attributes, DestinationLookup};

/// A queue to which each message is sent with its body.
#[derive(Clone)]
pub(super) struct PlainQueue {
    calls: SqsCalls,
    pub(super) url: String,
    pub(super) fifo: bool,
    pub(super) described: DestinationLookup,
    /// Whether bodies with characters that SQS does not accept are sent as base64.
    pub(super) encodes: bool,
    pub(super) limits: Limits,
}

impl PlainQueue {
    pub(super) fn new(client: Client, url: String, limits: Limits) -> Self {
        Self {
            calls: SqsCalls::new(client),
            fifo: is_fifo(&url),
            described: DestinationLookup::by("GetQueueAttributes", is_fifo(&url)),
            url,
            encodes: false,
            limits,
        }
    }

    /// Asks the queue what must be known before the first message.
    pub(super) async fn prepare(&self, destination: &str) {
        let ask = || self.attributes();
        self.described.ask(ask, destination, "sqs:GetQueueAttributes").await;
    }

    async fn attributes(&self) -> Result<Attributes, LookupError> {
        let mut names = vec![QueueAttributeName::MaximumMessageSize];
        // A standard queue does not know this one, and refuses the call.
        names.extend(self.fifo.then_some(QueueAttributeName::ContentBasedDeduplication));
        let output = self.calls.attributes(&self.url, names).await?;
        let attributes = output.attributes();
        Ok(Attributes::read(|name| attributes?.get(&name.into())))
    }

    /// Checks a message, and returns its size.
    pub(super) fn check(&self, entry: &SendMessageBatchRequestEntry) -> Result<usize, InvalidEntry> {
        let checked = check::check(&self.encoded(entry), self.fifo, self.message_bytes());
        if matches!(checked, Err(InvalidEntry::TooLarge { .. })) {
            self.described.seems_outdated();
        }
        checked
    }

    /// Gives a message of a FIFO queue a deduplication id if it needs one.
    pub(super) fn complete(&self, entry: &mut SendMessageBatchRequestEntry) {
        self.described.complete(&mut entry.message_deduplication_id);
    }

    /// The message that is sent, encoded if necessary.
    pub(super) fn encoded<'a>(&self, entry: &'a SendMessageBatchRequestEntry) -> Cow<'a, SendMessageBatchRequestEntry> {
        if self.encodes {
            check::encoded(entry)
        } else {
            Cow::Borrowed(entry)
        }
    }

    /// The limit for the bytes of one message. A message larger than a whole call could never be sent.
    pub(super) fn message_bytes(&self) -> usize {
        let limit = self.limits.largest_entry();
        self.described
            .largest_message()
            .map_or(limit, |largest| largest.min(limit))
    }

    /// Makes one call with these messages, each under an id of this call.
    pub(super) async fn call<'a>(
        &self,
        messages: impl Iterator<Item = Cow<'a, SendMessageBatchRequestEntry>>,
    ) -> Answer {
        let messages = messages.enumerate().map(|(place, message)| {
            let mut message = message.into_owned();
            message.id = wire_id(place);
            message
        });
        let messages: Vec<_> = messages.collect();
        if let Some(fault) = self.described.forbids_without_id()
            && messages
                .iter()
                .any(|message| message.message_deduplication_id.is_none())
        {
            return Answer::Stop(fault);
        }
        let sent = messages.len();
        let answer = match self.calls.send(&self.url, messages).await {
            Ok(output) => by_id(
                "SQS",
                sent,
                output.successful.into_iter().map(accepted),
                output.failed.iter().map(failed),
            ),
            Err(answer) => answer,
        };
        if answer.has_refusal() {
            self.described.seems_outdated();
        }
        answer
    }
}

fn accepted(entry: SendMessageBatchResultEntry) -> (String, Verdict) {
    let acknowledgement = Acknowledgement {
        message_id: Some(entry.message_id),
        sequence_number: entry.sequence_number,
    };
    (entry.id, Verdict::Acknowledged(acknowledgement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accepted_message_has_the_ids_that_the_queue_gave_it() {
        let entry = SendMessageBatchResultEntry::builder()
            .id("0")
            .message_id("5fea7756")
            .md5_of_message_body("d");
        let ordered = entry.clone().sequence_number("18885").build().unwrap();
        for (entry, expected) in [(entry.build().unwrap(), None), (ordered, Some("18885"))] {
            let (_, Verdict::Acknowledged(acknowledgement)) = accepted(entry) else {
                panic!("the message is accepted");
            };
            assert_eq!(acknowledgement.message_id.as_deref(), Some("5fea7756"));
            assert_eq!(acknowledgement.sequence_number.as_deref(), expected);
        }
    }
}
