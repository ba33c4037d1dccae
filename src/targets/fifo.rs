//! What FIFO queues and FIFO topics share: the suffix of their names, and the ids of their messages.

use crate::invalid::InvalidEntry;

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
        return Err(InvalidEntry::Malformed {
            part: "message deduplication id",
            rule: "absent unless the queue or topic is FIFO",
        });
    }
    check_id("message deduplication id", deduplication)
}

fn check_id(part: &'static str, id: &str) -> Result<(), InvalidEntry> {
    // The graphic characters of ASCII are letters, digits and punctuation.
    if (1..=MAX_ID_LENGTH).contains(&id.len()) && id.bytes().all(|letter| letter.is_ascii_graphic()) {
        return Ok(());
    }
    Err(InvalidEntry::Malformed {
        part,
        rule: "1 to 128 letters, digits and punctuation characters of ASCII",
    })
}
