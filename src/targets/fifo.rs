//! What FIFO queues and FIFO topics have in common: their names, and the ids of their messages.

use crate::invalid::InvalidEntry;

/// The end of the name of every FIFO queue and topic, and of no other's. From the API references of `CreateQueue` and `CreateTopic`.
pub(super) const FIFO_SUFFIX: &str = ".fifo";

/// Characters of a group id, and of a deduplication id.
const MAX_ID_LENGTH: usize = 128;

/// Checks the ids of a message.
pub(super) fn check_ids(group: Option<&str>, deduplication: Option<&str>, fifo: bool) -> Result<(), InvalidEntry> {
    if fifo && group.is_none_or(str::is_empty) {
        return Err(InvalidEntry::Missing {
            part: "message group id",
        });
    }
    // Standard queues and topics take group ids too: they make queues fair.
    group.map_or(Ok(()), |group| check_id("message group id", group))?;

    // A FIFO queue may make the deduplication id from the body; whether it does only the queue knows.
    let Some(deduplication) = deduplication else {
        return Ok(());
    };
    if !fifo {
        // SQS answers `InvalidParameterValue`: not valid for this queue type.
        return Err(InvalidEntry::Malformed {
            part: "message deduplication id",
            rule: "absent where the queue or topic is not FIFO",
        });
    }
    check_id("message deduplication id", deduplication)
}

fn check_id(part: &'static str, id: &str) -> Result<(), InvalidEntry> {
    // The graphic characters of ASCII are the letters, the digits and the punctuation.
    if (1..=MAX_ID_LENGTH).contains(&id.len()) && id.bytes().all(|letter| letter.is_ascii_graphic()) {
        return Ok(());
    }
    Err(InvalidEntry::Malformed {
        part,
        rule: "1 to 128 letters, digits and punctuation characters of ASCII",
    })
}
