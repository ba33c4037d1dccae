//! A queue without detours: what it takes, and one call to it.

use std::borrow::Cow;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use super::calls::Calls;
use super::correlate::{self, wire_id};
use super::deduplication::Deduplication;
use super::{check, encoding};
use crate::invalid::InvalidEntry;
use crate::targets::{Answer, Limits, classify};

/// The end of every FIFO queue's name and of no other's. From the API reference of `CreateQueue`.
const FIFO_SUFFIX: &str = ".fifo";

/// A queue that takes each message itself.
#[derive(Clone)]
pub(super) struct PlainQueue {
    calls: Calls,
    pub(super) url: String,
    pub(super) fifo: bool,
    pub(super) deduplication: Deduplication,
    /// Bodies with characters that SQS does not take go as base64.
    pub(super) encodes: bool,
    pub(super) limits: Limits,
}

impl PlainQueue {
    pub(super) fn new(client: Client, url: String, limits: Limits) -> Self {
        Self {
            calls: Calls::new(client),
            fifo: url.ends_with(FIFO_SUFFIX),
            url,
            deduplication: Deduplication::new(),
            encodes: false,
            limits,
        }
    }

    /// Asks the queue for what has to be known before the first message.
    pub(super) async fn prepare(&self, destination: &str) {
        if self.fifo {
            self.deduplication.ask(&self.calls, &self.url, destination).await;
        }
    }

    /// Checks a message, and measures it.
    pub(super) fn check(&self, entry: &SendMessageBatchRequestEntry) -> Result<usize, InvalidEntry> {
        check::check(&self.encoded(entry), self.fifo, self.message_bytes())
    }

    /// Gives a message of a FIFO queue the id that it needs.
    pub(super) fn complete(&self, entry: &mut SendMessageBatchRequestEntry) {
        if self.fifo {
            self.deduplication.complete(entry);
        }
    }

    /// The message as it goes out by itself.
    pub(super) fn encoded<'a>(&self, entry: &'a SendMessageBatchRequestEntry) -> Cow<'a, SendMessageBatchRequestEntry> {
        if self.encodes {
            encoding::encoded(entry)
        } else {
            Cow::Borrowed(entry)
        }
    }

    /// Bytes of one message. One that is larger than a whole call could never leave.
    pub(super) fn message_bytes(&self) -> usize {
        self.limits.entry_bytes.min(self.limits.bytes)
    }

    /// Makes one call with the messages as they are, each under its id of this call.
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
        let sent = messages.len();
        match self.calls.send(&self.url, messages).await {
            Ok(output) => Answer::Each(correlate::verdicts(sent, output.successful, &output.failed)),
            Err(error) => classify(error),
        }
    }
}
