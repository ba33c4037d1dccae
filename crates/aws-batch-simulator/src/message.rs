//! What the messages of queues and topics have in common: names, attributes and deduplication.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// Characters of an entry's id at most.
pub(crate) const LONGEST_ID: usize = 80;
/// Characters of a group's or a deduplication id at most.
pub(crate) const LONGEST_NAME: usize = 128;
/// A message with a deduplication id that was accepted within this time is not accepted again.
const WINDOW: Duration = Duration::from_secs(5 * 60);

/// Whether this is the name of a FIFO queue or topic.
pub(crate) fn is_fifo(name: &str) -> bool {
    // A suffix of the name, always in lower case; not a file extension.
    name.strip_suffix(".fifo").is_some()
}

/// Whether an entry may have this id.
pub(crate) fn is_id(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_allowed)
}

/// Whether this may be a group's or a deduplication id.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The size of the attributes of a message: the name, type and value of each.
pub(crate) fn size_of_attributes(attributes: &Value) -> usize {
    let attributes = attributes.as_object().into_iter().flatten();
    let size = |(name, attribute): (&String, &Value)| {
        let text = |member: &str| attribute[member].as_str().map_or(0, str::len);
        name.len() + text("DataType") + text("StringValue") + bytes_of(&attribute["BinaryValue"]).len()
    };
    attributes.map(size).sum()
}

/// The bytes of a Base64 text.
pub(crate) fn bytes_of(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default()
}

/// The deduplication id of a queue or topic with content-based deduplication.
pub(crate) fn id_of_content(content: &str) -> String {
    hex(&Sha256::digest(content.as_bytes()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// The deduplication ids that a FIFO queue or topic remembers.
#[derive(Debug, Default)]
pub(crate) struct Deduplication {
    seen: HashMap<Arc<str>, u64>,
    order: VecDeque<(Instant, Arc<str>)>,
}

impl Deduplication {
    /// The number of the message that was accepted under this id, if it is still remembered.
    pub(crate) fn find(&mut self, id: &str, now: Instant) -> Option<u64> {
        while self
            .order
            .front()
            .is_some_and(|(at, _)| now.duration_since(*at) >= WINDOW)
            && let Some((_, id)) = self.order.pop_front()
        {
            self.seen.remove(&id);
        }
        self.seen.get(id).copied()
    }

    pub(crate) fn remember(&mut self, id: &str, message: u64, now: Instant) {
        let id: Arc<str> = id.into();
        self.seen.insert(Arc::clone(&id), message);
        self.order.push_back((now, id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_content_is_its_digest() {
        assert!(id_of_content("hello").starts_with("2cf24dba5fb0a30e"));
    }

    #[test]
    fn an_id_is_remembered_for_five_minutes() {
        let start = Instant::now();
        let mut deduplication = Deduplication::default();
        deduplication.remember("a", 1, start);
        assert_eq!(deduplication.find("a", start + Duration::from_secs(299)), Some(1));
        assert_eq!(deduplication.find("b", start), None);
        assert_eq!(deduplication.find("a", start + Duration::from_secs(5 * 60)), None);
    }
}
