//! The groups of messages, within which FIFO queues and topics keep the order.

use std::io::{self, Read};

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use crate::format::text::TextFormat;
use crate::outcome::Failure;
use crate::source::{Flaw, Format, Record, Records};

/// How messages get their groups.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    /// The group of messages that have none.
    given: Option<String>,
    /// The FIFO destination, which needs a group for each message: "queue" or "topic".
    fifo: Option<&'static str>,
}

impl Groups {
    /// Lines of text have no groups, so that a FIFO destination would refuse all of them.
    pub(crate) fn new(given: Option<&String>, fifo: Option<&'static str>, format: TextFormat) -> Result<Self, Failure> {
        match fifo {
            Some(what) if given.is_none() && format == TextFormat::Text => Err(Failure::WrongUse(format!(
                "messages of a FIFO {what} have a group_id: give them by --format json, or one for all of them by --group-id"
            ))),
            _ => Ok(Self {
                given: given.cloned(),
                fifo,
            }),
        }
    }

    /// Gives a message its group if it has none.
    pub(crate) fn complete(&self, group: &mut Option<String>) -> Result<(), Flaw> {
        if group.is_none() {
            group.clone_from(&self.given);
        }
        match self.fifo {
            Some(what) if group.is_none() => Err(Flaw::new(format!(
                "a message of a FIFO {what} needs a group_id: give it in the line, or one for all that have none by --group-id"
            ))),
            _ => Ok(()),
        }
    }
}

/// Messages of a queue, with their groups.
pub(crate) struct GroupedMessages<F> {
    pub(crate) messages: F,
    pub(crate) groups: Groups,
}

impl<F: Format<SendMessageBatchRequestEntry>> Format<SendMessageBatchRequestEntry> for GroupedMessages<F> {
    fn open(
        &self,
        input: Box<dyn Read + Send>,
        name: &str,
    ) -> io::Result<Box<dyn Records<SendMessageBatchRequestEntry>>> {
        Ok(Box::new(GroupedRecords {
            messages: self.messages.open(input, name)?,
            groups: self.groups.clone(),
        }))
    }

    fn open_part(
        &self,
        part: Box<dyn Read + Send>,
        name: &str,
    ) -> io::Result<Box<dyn Records<SendMessageBatchRequestEntry>>> {
        Ok(Box::new(GroupedRecords {
            messages: self.messages.open_part(part, name)?,
            groups: self.groups.clone(),
        }))
    }

    fn can_be_cut(&self, start: &[u8], name: &str) -> bool {
        self.messages.can_be_cut(start, name)
    }
}

struct GroupedRecords {
    messages: Box<dyn Records<SendMessageBatchRequestEntry>>,
    groups: Groups,
}

impl Records<SendMessageBatchRequestEntry> for GroupedRecords {
    fn next(&mut self, is_wanted: bool) -> io::Result<Option<Record<SendMessageBatchRequestEntry>>> {
        let Some(mut reading) = self.messages.next(is_wanted)? else {
            return Ok(None);
        };
        if let Some(Ok(message)) = &mut reading.entry
            && let Err(flaw) = self.groups.complete(&mut message.message_group_id)
        {
            reading.entry = Some(Err(flaw));
        }
        Ok(Some(reading))
    }

    fn is_ready(&self) -> bool {
        self.messages.is_ready()
    }
}
