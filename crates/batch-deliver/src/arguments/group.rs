//! The group of messages of FIFO queues and topics.

/// The most characters of a group. From the API reference of `SendMessage`.
const LONGEST: usize = 128;

pub(super) const HELP: &str = "The group of messages that have none, for FIFO queues and topics";

/// A group, as SQS and SNS accept it.
pub(super) fn group(text: &str) -> Result<String, String> {
    if (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "a group has 1 to {LONGEST} letters, digits and punctuation characters of ASCII"
        ))
    }
}
