//! Digests of messages: those that SQS returns so that senders can check them, and deduplication ids.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use serde_json::{Map, Value};
use sha2::Sha256;

/// The encoding of a value, which is part of the digest.
const STRING: u8 = 1;
const BINARY: u8 = 2;

pub(crate) fn of_body(body: &str) -> String {
    hex(&Md5::digest(body.as_bytes()))
}

/// The deduplication id of a queue or topic with content-based deduplication.
pub(crate) fn of_content(body: &str) -> String {
    hex(&Sha256::digest(body.as_bytes()))
}

/// Sorted by name: the length and bytes of the name, of the type and of the value, and the encoding before the value.
pub(crate) fn of_attributes(attributes: &Map<String, Value>) -> String {
    let mut sorted: Vec<_> = attributes.iter().collect();
    sorted.sort_by_key(|(name, _)| name.as_str());
    let mut digest = Md5::new();
    for (name, attribute) in sorted {
        add(&mut digest, name.as_bytes());
        add(
            &mut digest,
            attribute["DataType"].as_str().unwrap_or_default().as_bytes(),
        );
        if let Some(text) = attribute["StringValue"].as_str() {
            digest.update([STRING]);
            add(&mut digest, text.as_bytes());
        } else {
            digest.update([BINARY]);
            add(&mut digest, &bytes_of(&attribute["BinaryValue"]));
        }
    }
    hex(&digest.finalize())
}

pub(crate) fn bytes_of(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default()
}

fn add(digest: &mut Md5, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    digest.update(length.to_be_bytes());
    digest.update(bytes);
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bodies_have_the_digests_of_the_standards() {
        assert_eq!(of_body("hello"), "5d41402abc4b2a76b9719d911017c592");
        assert!(of_content("hello").starts_with("2cf24dba5fb0a30e"));
    }

    #[test]
    fn the_digest_of_attributes_covers_name_type_encoding_and_value() {
        let attributes = json!({
            "b": {"DataType": "Binary", "BinaryValue": "AQI="},
            "a": {"DataType": "String", "StringValue": "x"},
        });
        let mut expected = Md5::new();
        expected.update(b"\0\0\0\x01a\0\0\0\x06String\x01\0\0\0\x01x");
        expected.update(b"\0\0\0\x01b\0\0\0\x06Binary\x02\0\0\0\x02\x01\x02");
        assert_eq!(
            of_attributes(attributes.as_object().unwrap()),
            hex(&expected.finalize())
        );
    }
}
