//! Digests of messages, which SQS returns so that senders can check them.

use md5::{Digest, Md5};
use serde_json::{Map, Value};

use crate::message::{bytes_of, hex};

/// The encoding of a value, which is part of the digest.
const STRING: u8 = 1;
const BINARY: u8 = 2;

pub(super) fn of_body(body: &str) -> String {
    hex(&Md5::digest(body.as_bytes()))
}

/// Sorted by name: the length and bytes of the name, of the type and of the value, and the encoding before the value.
pub(super) fn of_attributes(attributes: &Map<String, Value>) -> String {
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

fn add(digest: &mut Md5, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    digest.update(length.to_be_bytes());
    digest.update(bytes);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bodies_have_the_digest_of_the_standard() {
        assert_eq!(of_body("hello"), "5d41402abc4b2a76b9719d911017c592");
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
