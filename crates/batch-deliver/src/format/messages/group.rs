//! The groups of messages, within which FIFO queues and topics keep the order.

use crate::format::text::TextFormat;
use crate::outcome::Failure;
use crate::source::Flaw;

/// How messages get their groups.
#[derive(Debug, Clone, Default)]
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
